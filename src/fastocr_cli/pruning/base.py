"""What a pruning method is, and what it knows while pages are being written.

`Method` is a dataclass and its own configuration. `Gaze` is its living state over one batch of rows. Neither
knows of caches, models or kernels: a method holds scores and choices, and nothing else.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


@dataclass(frozen=True)
class Layout:
    """The facts of a model that a method may need."""

    num_layers: int
    checkpoint_key: str
    """What profiles are filed under."""
    device: torch.device


class Fixation(NamedTuple):
    """The visual tokens that rows attend to now."""

    places: Tensor
    """int64 (rows, k): which of a row's visual tokens."""
    bias: Tensor | None
    """(rows, k): 0, or -inf where a row keeps fewer than k. None: every row keeps k."""


@dataclass
class RowGaze:
    """One page being written."""

    num_visual: int
    budget: int
    """Visual tokens in its fixation; `num_visual` or more reads everything."""
    focal: frozenset[int]
    """Layers that read everything for this row."""
    warmup: int
    """Steps before which every layer reads everything."""
    num_steps: int = 0
    num_read: int = 0
    """Visual tokens read so far, summed over layers and steps."""

    @property
    def warm(self) -> bool:
        return self.num_steps < self.warmup

    def reads_all(self, layer: int) -> bool:
        return self.warm or self.budget >= self.num_visual or layer in self.focal


class Gaze:
    """Where each row of a decoding batch looks. This base looks everywhere: the dense model.

    Rows are numbered 0 to len(rows) - 1; the loop admits and drops them as pages come and go. At each step the
    seam asks, layer by layer, which rows read everything, shows what those rows attended to (`see`), and lets
    the others read `fixation`.
    """

    fixation: Fixation

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.rows: list[RowGaze] = []
        self._reading_all: list[list[int]] = []
        self._num_read: list[int] = []
        self._planned = False

    def admit(self, num_visual: int, *, dense: bool = False) -> None:
        """A new page takes the next row. `dense` lets it read everything at every step."""
        self.rows.append(self.new_row(num_visual, dense))
        self._planned = False

    def new_row(self, num_visual: int, dense: bool) -> RowGaze:
        """The state that a page begins with."""
        return RowGaze(num_visual, budget=num_visual, focal=frozenset(), warmup=0)

    def drop(self, row: int) -> None:
        """A page has ended: the last row takes its place."""
        self.rows[row] = self.rows[-1]
        self.rows.pop()
        self._planned = False

    def rows_reading_all(self, layer: int) -> list[int]:
        """Rows that read every visual token in this layer at this step, ascending."""
        if not self._planned:
            self.plan()
        return self._reading_all[layer]

    def plan(self) -> None:
        """Settle who reads what; holds until a row comes, goes or ends its warm-up."""
        layers = range(self.layout.num_layers)
        self._reading_all = [[i for i, row in enumerate(self.rows) if row.reads_all(layer)] for layer in layers]
        num_full = [sum(map(row.reads_all, layers)) for row in self.rows]
        self._num_read = [
            full * row.num_visual + (len(layers) - full) * min(row.budget, row.num_visual)
            for full, row in zip(num_full, self.rows, strict=True)
        ]
        self._planned = True

    def watches(self, layer: int) -> bool:
        """Whether `see` wants the attention of this layer at this step."""
        return False

    def see(self, layer: int, rows: Sequence[int], mass: Tensor) -> None:
        """What rows attended to in a layer that read everything.

        Args:
            rows: their numbers, ascending.
            mass: float32 (len(rows), visual): attention of the new token after softmax, summed over heads; the mean of
                the new ones where there are several; 0 at padding.
        """

    def advance(self) -> None:
        """A step has passed through all layers."""
        if not self._planned:
            self.plan()
        for row, num_read in zip(self.rows, self._num_read, strict=True):
            row.num_read += num_read
            row.num_steps += 1
            if row.num_steps == row.warmup:
                self._planned = False

    def visual_kv_read(self, row: int) -> float | None:
        """Visual keys and values that a row has read over what the dense model reads; None before the first."""
        state = self.rows[row]
        dense = state.num_steps * self.layout.num_layers * state.num_visual
        return state.num_read / dense if dense else None

    def coverage(self, row: int) -> float | None:
        """Mean share of the focal layers' image attention that fell inside the fixation; None: not measured."""
        return None


@dataclass(frozen=True)
class Method(ABC):
    """A way to prune. A subclass is a frozen dataclass whose fields are its options."""

    @abstractmethod
    def begin(self, layout: Layout) -> Gaze:
        """A fresh state for one run over one model."""

    def with_keep(self, keep: float) -> "Method":
        """The same method at another kept ratio; methods without one return themselves."""
        return self
