"""SlotCache: keys and values of the pages being written, visual and text apart.

Two buffers per layer, allocated ahead: visual `(rows, kv_heads, visual, head_dim)`, written once when a page
begins, and text `(rows, kv_heads, text, head_dim)`, extended by a token or a few a step, of which those that were
drafted wrongly are taken back. Keys are stored rotated, so their order is free. Each row has its own lengths. Knows
nothing of models or methods.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from transformers import Cache
from transformers.cache_utils import CacheLayerMixin

VISUAL_STEP, TEXT_STEP = 256, 512
"""Buffers grow to multiples of these; text and rows also at least double, so that growing costs little."""


class Segment:
    """Keys and values of one kind in one layer: a buffer that grows and keeps what it holds."""

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def reserve(self, like: Tensor, num_rows: int, num_places: int) -> None:
        """Hold at least (num_rows, num_places); `like` is (rows, kv_heads, length, head_dim)."""
        keys, values = (_grown(buffer, like, num_rows, num_places) for buffer in (self.keys, self.values))
        self.keys, self.values = keys, values  # both or, when memory is full, neither

    def move(self, source: int, target: int) -> None:
        for buffer in (self.keys, self.values):
            if buffer is not None:
                buffer[target] = buffer[source]


def _grown(buffer: Tensor | None, like: Tensor, num_rows: int, num_places: int) -> Tensor:
    if buffer is not None and buffer.shape[0] >= num_rows and buffer.shape[2] >= num_places:
        return buffer
    places = num_places if buffer is None else max(num_places, buffer.shape[2])
    grown = like.new_zeros(num_rows, like.shape[1], places, like.shape[3])
    if buffer is not None:
        kept = buffer[:num_rows]
        grown[: len(kept), :, : buffer.shape[2]] = kept
    return grown


class SlotLayer(CacheLayerMixin):
    """One decoder layer's share of the cache."""

    is_sliding = False

    def __init__(self, cache: "SlotCache") -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.cache = cache
        self.visual, self.text = Segment(), Segment()

    def lazy_initialization(self, key_states: Tensor, value_states: Tensor) -> None:
        self.is_initialized = True

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Store new keys and values (rows, kv_heads, length, head_dim); they come back as they are."""
        if self.cache.filling is not None:
            self._fill(self.cache.filling, key_states, value_states)
        else:
            self._append(key_states, value_states)
        return key_states, value_states

    def _fill(self, is_visual: Tensor, keys: Tensor, values: Tensor) -> None:
        """A page's prompt goes to the row after the last."""
        cache, row = self.cache, self.cache.num_rows
        for segment, places in ((self.visual, is_visual), (self.text, ~is_visual)):
            at = places.nonzero()[:, 0]
            room = cache.visual_room if segment is self.visual else cache.text_room
            segment.reserve(keys, cache.row_room, room)
            segment.keys[row, :, : len(at)] = keys[0][:, at]  # type: ignore[index]
            segment.values[row, :, : len(at)] = values[0][:, at]  # type: ignore[index]

    def _append(self, keys: Tensor, values: Tensor) -> None:
        """The new tokens of every row."""
        cache = self.cache
        self.text.reserve(keys, cache.row_room, cache.text_room)
        at = cache.row_index[:, None], slice(None), cache.new_places
        self.text.keys[at] = keys.transpose(1, 2)  # type: ignore[index]
        self.text.values[at] = values.transpose(1, 2)  # type: ignore[index]

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        return query_length, 0  # what each row may see is our attention's business, not the mask's

    def get_seq_length(self) -> int:
        return 0

    def get_max_length(self) -> int:
        return -1


class SlotCache(Cache):
    """Rows of pages; row numbers run from 0 to num_rows - 1 without gaps."""

    row_index: Tensor
    """(rows,): 0 to num_rows - 1."""
    new_places: Tensor
    """(rows, new): where the tokens of this step go."""
    text_bias: Tensor
    """(rows, new, text): 0 at what each new token may see, itself included, -inf after."""
    new_share: Tensor | None
    """(rows, new): each new token's share of its row's, 0 at padding; None: every row reads one."""
    visual_bias: Tensor | None
    """The same for visual places; None: all rows hold as many."""

    def __init__(self, num_layers: int, num_rows: int, device: torch.device) -> None:
        self.slots = [SlotLayer(self) for _ in range(num_layers)]
        super().__init__(layers=list(self.slots))
        self.max_rows = num_rows
        self.row_room = 0
        self.device = device
        self.visual_lengths: list[int] = []
        self.text_lengths: list[int] = []
        self.visual_room = self.text_room = 0
        self.filling: Tensor | None = None
        self._flat: tuple[Tensor, torch.Size, Tensor] | None = None
        self._lay_out()

    @property
    def num_rows(self) -> int:
        return len(self.visual_lengths)

    def limit(self, num_rows: int) -> None:
        """Memory is short: no more rows than these; buffers that grow from now on are made for so many."""
        self.max_rows = self.row_room = num_rows

    @contextmanager
    def fill(self, is_visual: Tensor) -> Iterator[None]:
        """Inside, the model's forward over one prompt fills the next row. `is_visual`: bool (length,)."""
        num_visual = int(is_visual.sum())
        num_text = len(is_visual) - num_visual
        rooms = self.row_room, self.visual_room, self.text_room
        self._make_room(self.num_rows + 1, num_visual, num_text)
        self.filling = is_visual
        try:
            yield
        except BaseException:
            self.row_room, self.visual_room, self.text_room = rooms
            self._lay_out()
            raise
        finally:
            self.filling = None
        self.visual_lengths.append(num_visual)
        self.text_lengths.append(num_text)
        self._lay_out()

    @contextmanager
    def step(self, num_new: list[int]) -> Iterator[None]:
        """Inside, the model's forward over new tokens extends every row, by as many as given or padded to it.

        Then `keep` says how many of them stay.
        """
        width = max(num_new)
        self._make_room(self.num_rows, 0, max(self.text_lengths) + width)
        self.num_text = max(self.text_lengths) + width
        number = torch.arange(width, device=self.device)
        self.new_places = torch.tensor(self.text_lengths, device=self.device)[:, None] + number
        self.text_bias = _padding_bias(self.new_places + 1, self.num_text)
        counts = torch.tensor(num_new, device=self.device)[:, None]
        self.new_share = None if width == 1 else (number < counts) / counts
        yield

    def keep(self, num_kept: list[int]) -> None:
        """So many of the last step's new tokens stay in each row; the next step overwrites the others."""
        self.text_lengths = [length + kept for length, kept in zip(self.text_lengths, num_kept, strict=True)]

    def drop(self, row: int) -> None:
        """A page has ended: the last row takes its place."""
        last = self.num_rows - 1
        for layer in self.slots if row != last else ():
            layer.visual.move(last, row)
            layer.text.move(last, row)
        for lengths in (self.visual_lengths, self.text_lengths):
            lengths[row] = lengths[-1]
            lengths.pop()
        self._lay_out()

    def flat_places(self, places: Tensor, keys: Tensor) -> Tensor:
        """Visual tokens (rows, k) as rows of a layer's visual `keys`, flattened: (rows, kv_heads, k).

        Layers of one shape share the answer: it is kept until other places come.
        """
        if self._flat is None or self._flat[0] is not places or self._flat[1] != keys.shape[1:3]:
            num_heads, room = keys.shape[1:3]
            first = (self.row_index[:, None] * num_heads + torch.arange(num_heads, device=self.device)) * room
            self._flat = places, keys.shape[1:3], first[:, :, None] + places[:, None]
        return self._flat[2]

    def _make_room(self, num_rows: int, num_visual: int, num_text: int) -> None:
        if num_rows > self.row_room:
            self.row_room = max(num_rows, min(self.max_rows, 2 * self.row_room))
        if num_visual > self.visual_room:
            self.visual_room = -(-num_visual // VISUAL_STEP) * VISUAL_STEP
        if num_text > self.text_room:
            self.text_room = max(2 * self.text_room, -(-num_text // TEXT_STEP) * TEXT_STEP)

    def _lay_out(self) -> None:
        """Recompute what all layers share: row numbers, lengths, and biases (0 for held, -inf for padding)."""
        self._flat = None
        self.num_visual, self.num_text = max(self.visual_lengths, default=0), max(self.text_lengths, default=0)
        self.row_index = torch.arange(self.num_rows, device=self.device)
        even = len(set(self.visual_lengths)) <= 1
        lengths = torch.tensor(self.visual_lengths, device=self.device)
        self.visual_bias = None if even else _padding_bias(lengths, self.num_visual)


def _padding_bias(lengths: Tensor, width: int) -> Tensor:
    """(..., width): 0 at the first `length` places of each of (...), -inf after."""
    held = torch.arange(width, device=lengths.device) < lengths[..., None]
    return torch.zeros(held.shape, device=held.device).masked_fill_(~held, float("-inf"))
