"""Slab: the keys and values of a layer's fixation, side by side, ready to be read in one go.

The gaze moves slowly: from one step to the next most of a fixation stays. On a CPU, where a gather from a cold
cache costs as much as the attention it serves, only the newly fixated tokens are copied, into the places of those
that left. Elsewhere, or where rows keep unequal numbers, the whole fixation is gathered. Knows no method.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from fastocr_cli.pruning.base import Fixation


class Move(NamedTuple):
    """How one fixation becomes the next: which places of the slab change, and what they take."""

    places: Tensor
    """(rows, k): the new fixation in the slab's order."""
    target: Tensor
    """(changed,): rows of the flattened slab, one for every head, that change."""
    source: Tensor
    """(changed,): rows of the flattened buffer that they take."""


def move(held: Tensor, wanted: Tensor, num_heads: int, num_places: int) -> Move:
    """Rearrange `wanted` so that what is in `held` stays where it is; both (rows, k) without repeats in a row.

    `num_heads` and `num_places` are those of the visual buffer.
    """
    stays = membership(wanted, num_places).gather(1, held)
    arrives = ~membership(held, num_places).gather(1, wanted)
    source = wanted[arrives]  # row by row, as many as the places that leave
    index = held.masked_scatter(~stays, source)
    row, place = (~stays).nonzero(as_tuple=True)
    head = row * num_heads + torch.arange(num_heads)[:, None]
    return Move(index, (head * held.shape[1] + place).flatten(), (head * num_places + source).flatten())


def membership(index: Tensor, num_places: int) -> Tensor:
    """bool (rows, num_places): which tokens `index` (rows, k) names."""
    return torch.zeros(len(index), num_places, dtype=torch.bool, device=index.device).scatter_(1, index, True)


class Moves:
    """The moves of a step, shared by the layers that make the same one."""

    def __init__(self) -> None:
        self._known: list[tuple[Tensor, Tensor, Move]] = []

    def between(self, held: Tensor, wanted: Tensor, num_heads: int, num_places: int) -> Move:
        for known_held, known_wanted, known in self._known:
            if known_held is held and known_wanted is wanted:
                return known
        found = move(held, wanted, num_heads, num_places)
        self._known = [*self._known[-3:], (held, wanted, found)]  # as many as there are chains of focal layers
        return found


class Slab:
    """One layer's fixation, (rows, kv_heads, k, head_dim) keys and values."""

    def __init__(self) -> None:
        self.held: Tensor | None = None
        self.wanted: Tensor | None = None
        self.keys = self.values = torch.empty(0)

    def forget(self) -> None:
        """Rows came or went: the next read gathers everything."""
        self.held = None

    def read(self, fixation: Fixation, keys: Tensor, values: Tensor, moves: Moves) -> tuple[Tensor, Tensor]:
        """Keys and values of the fixation.

        Args:
            keys, values: the visual buffers, (rows, kv_heads, visual, head_dim); rows beyond the fixation's are idle.
            moves: shared by the layers of one model.
        """
        if fixation.bias is not None or keys.device.type != "cpu":
            return gathered(keys, fixation.places), gathered(values, fixation.places)
        if self.held is None or self.held.shape != fixation.places.shape:
            self.keys, self.values = gathered(keys, fixation.places), gathered(values, fixation.places)
            self.held = fixation.places
        elif self.wanted is not fixation.places:
            change = moves.between(self.held, fixation.places, *keys.shape[1:3])
            for slab, buffer in ((self.keys, keys), (self.values, values)):
                slab.flatten(0, 2).index_copy_(0, change.target, buffer.flatten(0, 2).index_select(0, change.source))
            self.held = change.places
        self.wanted = fixation.places
        return self.keys, self.values


def gathered(buffer: Tensor, index: Tensor) -> Tensor:
    """(rows, kv_heads, k, head_dim) of a buffer (rows, kv_heads, visual, head_dim) at places (rows, k)."""
    num_heads, num_places = buffer.shape[1:3]
    head = torch.arange(len(index) * num_heads, device=buffer.device).view(len(index), num_heads, 1)
    places = head * num_places + index[:, None]
    return buffer.flatten(0, 2).index_select(0, places.flatten()).view(*places.shape, -1)
