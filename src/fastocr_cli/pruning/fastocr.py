"""FastOCR (arXiv 2605.17447): focal layers read the whole page and choose; the others read the choice.

One variable, the fixation, carried across layers (Focal-Guided Pruning) and across steps (Cross-Step Fixation
Reuse), is the whole method. Nothing is evicted and nothing is trained.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.errors import ConfigError
from fastocr_cli.pruning import base, focal


@dataclass(frozen=True)
class Method(base.Method):
    """FastOCR. The paper's body is not public: each default below is a field, and ours to justify."""

    keep: float = field(default=0.05, metadata={"help": "kept ratio: share of visual tokens in the fixation"})
    floor: int = field(default=32, metadata={"help": "fewest visual tokens in the fixation"})
    warmup: int = field(default=8, metadata={"help": "decode steps of a page in which every layer reads everything"})
    focal: str = field(
        default="saved",
        metadata={"help": "focal layers: saved (profile, else online), online (from the warm-up), or numbers: 2,4"},
    )
    num_focal: int = field(default=0, metadata={"help": "how many layers online chooses; 0: max(2, layers / 7)"})
    reuse: bool = field(
        default=True, metadata={"help": "layers before the first focal one start from the last step's choice"}
    )

    def __post_init__(self) -> None:
        if not 0 < self.keep <= 1:
            raise ConfigError(f"keep is {self.keep}.", "It must be above 0 and at most 1.")
        if self.floor < 1 or self.warmup < 1:
            raise ConfigError("floor and warmup must be 1 or more.")

    def with_keep(self, keep: float) -> "Method":
        return replace(self, keep=keep)

    def begin(self, layout: base.Layout) -> "FastOCRGaze":
        return FastOCRGaze(layout, self, self.focal_layers(layout))

    def focal_layers(self, layout: base.Layout) -> frozenset[int] | None:
        """The focal layers known before reading; None: each page's warm-up chooses its own.

        Raises:
            ConfigError: a layer that the model does not have, or a word that is not known.
        """
        if self.focal == "online":
            return None
        if self.focal == "saved":
            profile = focal.load(layout.checkpoint_key)
            return frozenset(profile.focal) if profile else None
        try:
            layers = frozenset(map(int, self.focal.split(",")))
        except ValueError as error:
            raise ConfigError(f"focal={self.focal} is unknown.", "Give saved, online, or layers: focal=2,4.") from error
        if not all(0 <= layer < layout.num_layers for layer in layers):
            raise ConfigError(f"focal={self.focal}: the model has layers 0 to {layout.num_layers - 1}.")
        return layers


class FastOCRGaze(base.Gaze):
    """The fixations of a batch. A row's first `budget` places are its choice; the rest is padding (bias -inf)."""

    def __init__(self, layout: base.Layout, method: Method, known: frozenset[int] | None) -> None:
        super().__init__(layout)
        self.method, self.known = method, known
        self.num_online = min(layout.num_layers, method.num_focal or max(2, round(layout.num_layers / 7)))
        self.index = torch.zeros(0, 0, dtype=torch.long, device=layout.device)
        self.bias = torch.zeros(0, 0, device=layout.device)
        self.share = torch.zeros(0, layout.num_layers, device=layout.device)
        self.covered = torch.zeros(0, 2, device=layout.device)  # sum of coverage, number of measurements
        self._last_warm: dict[int, Tensor] = {}  # layer: choices of the rows that are about to choose their layers

    def new_row(self, num_visual: int, dense: bool) -> base.RowGaze:
        budget = num_visual if dense else max(self.method.floor, ceil(self.method.keep * num_visual))
        return base.RowGaze(num_visual, budget, self._reading(self.known or frozenset()), self.method.warmup)

    def _reading(self, focal_layers: frozenset[int]) -> frozenset[int]:
        """Without reuse nothing is known before the first focal layer, so the layers before it read everything."""
        if self.method.reuse or not focal_layers:
            return focal_layers
        return focal_layers | frozenset(range(min(focal_layers)))

    def admit(self, num_visual: int, *, dense: bool = False) -> None:
        super().admit(num_visual, dense=dense)
        self.index, self.share, self.covered = (F.pad(t, (0, 0, 0, 1)) for t in (self.index, self.share, self.covered))
        self._fit()

    def drop(self, row: int) -> None:
        super().drop(row)
        keep = list(range(len(self.rows) + 1))
        keep[row] = keep[-1]
        self.index, self.share, self.covered = (t[keep[:-1]] for t in (self.index, self.share, self.covered))
        self._fit()

    def _fit(self) -> None:
        """As many places as the largest budget needs."""
        budgets = [row.budget if row.budget < row.num_visual else 0 for row in self.rows]
        width = max(budgets, default=0)
        self.index = F.pad(self.index, (0, width - self.index.shape[1]))
        places = torch.arange(width, device=self.index.device)
        kept = places < torch.tensor(budgets, device=self.index.device)[:, None]
        self.bias = torch.zeros(kept.shape, device=kept.device).masked_fill_(~kept, float("-inf"))
        self._uniform = len(set(budgets)) <= 1

    @property
    def fixation(self) -> base.Fixation:  # type: ignore[override]
        return base.Fixation(self.index, None if self._uniform else self.bias)

    def watches(self, layer: int) -> bool:
        return any(
            row.budget < row.num_visual and (layer in row.focal or (self.known is None and row.warm))
            for row in self.rows
        )

    def see(self, layer: int, rows: Sequence[int], mass: Tensor) -> None:
        at = list(rows)
        choice, inside = self._choose(at, mass)
        if self.known is None:
            self._watch_warmup(layer, at, mass, choice)
        focal_here = [i for i, row in enumerate(at) if layer in self.rows[row].focal]
        if len(focal_here) < len(at):
            at, choice = [at[i] for i in focal_here], choice[focal_here]
            mass, inside = mass[focal_here], inside[focal_here]
        if not at:
            return
        measured = torch.stack([inside / mass.sum(-1).clamp_min(1e-9), torch.ones_like(inside)], -1)
        if len(at) == len(self.rows):
            self.index, self.covered = choice, self.covered + measured
        else:
            target = torch.tensor(at, device=choice.device)
            self.index = self.index.index_copy(0, target, choice)
            self.covered = self.covered.index_add(0, target, measured)

    def _choose(self, rows: list[int], mass: Tensor) -> tuple[Tensor, Tensor]:
        """The most attended places (rows, k), and how much attention those inside the budget hold (rows,)."""
        width = self.index.shape[1]
        top = F.pad(mass, (0, max(0, width - mass.shape[1]))).topk(width, sorted=not self._uniform)
        if self._uniform:
            return top.indices, top.values.sum(-1)
        return top.indices, top.values.masked_fill(self.bias[rows] < 0, 0).sum(-1)

    def _watch_warmup(self, layer: int, rows: list[int], mass: Tensor, choice: Tensor) -> None:
        """Online: gather each layer's share of attention to the image, and what it would choose."""
        warm = [i for i, row in enumerate(rows) if self.rows[row].warm]
        if not warm:
            return
        target = torch.tensor([rows[i] for i in warm], device=mass.device)
        self.share[target, layer] += mass[warm].sum(-1)
        candidates = self._last_warm.get(layer, self.index)
        self._last_warm[layer] = candidates.index_copy(0, target, choice[warm])

    def advance(self) -> None:
        if self.known is None:
            self._settle_focal_layers()
        super().advance()

    def _settle_focal_layers(self) -> None:
        """Rows that end their warm-up keep the layers that looked most at the image (one wait for the device)."""
        ending = [i for i, row in enumerate(self.rows) if row.num_steps + 1 == row.warmup]
        for i in (i for i in ending if self._last_warm):
            layers = self.share[i].topk(self.num_online).indices.tolist()
            self.rows[i].focal = self._reading(frozenset(layers))
            self.index = self.index.clone()
            self.index[i] = self._last_warm[max(layers)][i]
        self._last_warm.clear()

    def coverage(self, row: int) -> float | None:
        total, count = self.covered[row].tolist()
        return total / count if count else None
