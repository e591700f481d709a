"""The seam: the function that transformers calls in every attention layer, and what it asks of a method.

transformers looks an attention function up by name, after the cache was extended and before attention is
computed. Ours runs plain SDPA at prefill; at a decode step it asks the method's gaze which visual tokens each
row may read. No model file is patched, and the vision tower keeps its own implementation.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

from fastocr_cli.decoding.cache import SlotCache
from fastocr_cli.pruning.base import Fixation, Gaze

NAME = "fastocr"
"""Under which transformers finds the seam; must not contain `flash`."""


class KeyValues(Protocol):
    """The keys and values that a layer may attend to, in whatever cache they lie."""

    def attend_all(self, query: Tensor, scaling: float, row: int | None) -> tuple[Tensor, Tensor]:
        """Attend to everything.

        Args:
            query: (rows, heads, new, head_dim); one row where `row` is given.

        Returns:
            output like the query, and the attention on visual tokens (rows, heads * new, visual) after softmax, over
            the number of new tokens of the row, 0 where it is padded.
        """

    def attend_fixation(self, query: Tensor, scaling: float, fixation: Fixation) -> Tensor:
        """Attend to all text and to the visual tokens of the fixation; output like the query."""


class Seam(Protocol):
    """What an attention module is given while it is attached."""

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float
    ) -> Tensor:
        """Output (rows, heads, length, head_dim)."""


def look(gaze: Gaze, layer: int, query: Tensor, key_values: KeyValues, scaling: float) -> Tensor:
    """One layer of one decode step, for rows of which some read everything and some read their fixation."""
    all_readers = gaze.rows_reading_all(layer)
    if len(all_readers) == len(query):
        output, on_visual = key_values.attend_all(query, scaling, None)
        if gaze.watches(layer):
            gaze.see(layer, all_readers, on_visual.sum(1, dtype=torch.float32))
        return output
    output = key_values.attend_fixation(query, scaling, gaze.fixation)
    for row in all_readers:  # few: pages in their warm-up; the layer's other rows keep the pruned output
        output[row : row + 1], on_visual = key_values.attend_all(query[row : row + 1], scaling, row)
        if gaze.watches(layer):
            gaze.see(layer, [row], on_visual.sum(1, dtype=torch.float32))
    return output


class SlotKeyValues:
    """One layer of a SlotCache: two segments under one softmax; nothing is concatenated but the scores."""

    def __init__(self, cache: SlotCache, layer: int) -> None:
        self.cache, self.layer = cache, cache.slots[layer]

    def _text(self, rows: slice) -> tuple[Tensor, Tensor, Tensor]:
        text, width = self.layer.text, self.cache.num_text
        assert text.keys is not None and text.values is not None
        return text.keys[rows, :, :width], text.values[rows, :, :width], self.cache.text_bias[rows]

    def attend_all(self, query: Tensor, scaling: float, row: int | None) -> tuple[Tensor, Tensor]:
        cache, visual = self.cache, self.layer.visual
        assert visual.keys is not None and visual.values is not None
        rows = slice(0, cache.num_rows) if row is None else slice(row, row + 1)
        width = cache.num_visual if row is None else cache.visual_lengths[row]
        bias = cache.visual_bias if row is None else None
        output, on_visual = _attend(
            query, scaling, (visual.keys[rows, :, :width], visual.values[rows, :, :width], bias), self._text(rows)
        )
        if cache.new_share is not None:
            on_visual = on_visual * cache.new_share[rows, None, :, None]
        return output, on_visual.flatten(1, 2)

    def attend_fixation(self, query: Tensor, scaling: float, fixation: Fixation) -> Tensor:
        visual = self.layer.visual
        assert visual.keys is not None and visual.values is not None
        places = self.cache.flat_places(fixation.places, visual.keys)
        keys, values = (
            buffer.flatten(0, 2).index_select(0, places.flatten()).view(*places.shape, -1)
            for buffer in (visual.keys, visual.values)
        )
        rows = slice(0, self.cache.num_rows)
        return _attend(query, scaling, (keys, values, fixation.bias), self._text(rows))[0]


def _attend(
    query: Tensor,
    scaling: float,
    visual: tuple[Tensor, Tensor, Tensor | None],
    text: tuple[Tensor, Tensor, Tensor],
) -> tuple[Tensor, Tensor]:
    """Attention of new tokens to two segments of (keys, values, bias), as one softmax.

    Keys and values are (rows, kv_heads, length, head_dim), the visual bias (rows, visual), that of the text
    (rows, new, text). Gives the output like the query, and the weights on visual tokens (rows, heads, new, visual).
    """
    (visual_keys, visual_values, visual_bias), (text_keys, text_values, text_bias) = visual, text
    num_new = query.shape[2]
    grouped = group_heads(query, visual_keys) * scaling
    on_visual = (grouped @ visual_keys.transpose(-1, -2)).unflatten(2, (-1, num_new))
    on_text = (grouped @ text_keys.transpose(-1, -2)).unflatten(2, (-1, num_new))
    if visual_bias is not None:
        on_visual = on_visual + visual_bias[:, None, None, None]
    scores = torch.cat([on_visual, on_text + text_bias[:, None, None]], -1)
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    on_visual, on_text = weights.split([visual_keys.shape[2], text_keys.shape[2]], -1)
    output = on_visual.flatten(2, 3) @ visual_values + on_text.flatten(2, 3) @ text_values
    return output.view(query.shape), on_visual.flatten(1, 2)


def attend_segment(query: Tensor, keys: Tensor, values: Tensor, bias: Tensor, scaling: float) -> tuple[Tensor, Tensor]:
    """The same over one segment: output like the query, and weights (rows, heads, length)."""
    scores = (group_heads(query, keys) * scaling) @ keys.transpose(-1, -2) + bias[:, None, None]
    weights = scores.softmax(-1, dtype=torch.float32).to(query.dtype)
    return (weights @ values).view(query.shape), weights.flatten(1, 2)


def group_heads(query: Tensor, keys: Tensor) -> Tensor:
    """(rows, heads, new, head_dim) to (rows, kv_heads, group * new, head_dim): heads that share keys stand together."""
    return query.reshape(len(query), keys.shape[1], -1, query.shape[-1])


class SlotSeam:
    """Our own loop's seam: one prompt fills a row of the cache, or the new tokens of every row read it."""

    def __init__(self, cache: SlotCache, gaze: Gaze) -> None:
        self.cache, self.gaze = cache, gaze
        self.layers = [SlotKeyValues(cache, layer) for layer in range(len(cache.slots))]

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float
    ) -> Tensor:
        if self.cache.filling is not None:
            return F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling, enable_gqa=True)
        return look(self.gaze, layer, query, self.layers[layer], scaling)


def fastocr_attention(
    module: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[Tensor, None]:
    """transformers' attention interface: output (rows, length, heads, head_dim), and no weights."""
    seam: Seam = module.fastocr_seam  # type: ignore[assignment]
    scale = query.shape[-1] ** -0.5 if scaling is None else scaling
    output = seam.attend(module.layer_idx, query, key, value, attention_mask, scale)  # type: ignore[arg-type]
    return output.transpose(1, 2), None


AttentionInterface.register(NAME, fastocr_attention)
AttentionMaskInterface.register(NAME, sdpa_mask)  # without it transformers builds no mask at all


@contextmanager
def seamed(text_model: nn.Module, seam: Seam) -> Iterator[None]:
    """Inside, every attention layer of the decoder goes through `seam`; after, all is as before, also on error."""
    modules = [module for module in text_model.modules() if hasattr(module, "layer_idx") and hasattr(module, "q_proj")]
    seams = [getattr(module, "fastocr_seam", None) for module in modules]  # attached within attached
    before = text_model.config._attn_implementation  # type: ignore[union-attr]
    text_model.set_attn_implementation(NAME)  # type: ignore[operator]
    for module in modules:
        module.fastocr_seam = seam  # type: ignore[assignment]
    try:
        yield
    finally:
        for module, earlier in zip(modules, seams, strict=True):
            if earlier is None:
                del module.fastocr_seam
            else:
                module.fastocr_seam = earlier
        text_model.set_attn_implementation(before)  # type: ignore[operator]
