"""attached(): a pruning method for anyone's own `model.generate(...)`. Plug and play, in the paper's words.

The same seam as in our loop, over whatever cache transformers brings. Knows no model by name: the image's places
come from the token ids of the prompt.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from transformers.integrations.sdpa_attention import sdpa_attention_forward

from fastocr_cli.decoding.attention import attend_segment, look, seamed
from fastocr_cli.errors import ConfigError
from fastocr_cli.models.hub import profile_key
from fastocr_cli.pruning import make_method
from fastocr_cli.pruning.base import Fixation, Gaze, Layout, Method


@contextmanager
def attached(model: nn.Module, method: Method | str = "fastocr", **options: object) -> Iterator[None]:
    """Inside, `model.generate(...)` decodes with the method; after, the model is as it was.

    Works for transformers models whose decoder layers dispatch attention by name, with padded batches, without
    beams. Prefill is untouched; nothing is evicted, so memory stays that of the dense model.

    Args:
        model: a vision-language model, its configuration naming `image_token_id`.
        method: a method, or its name with its options as keywords: `attached(model, "fastocr", keep=0.1)`.

    Raises:
        ConfigError: an unknown method or option, or a model without image tokens.
    """
    image_token_id = getattr(getattr(model, "config", None), "image_token_id", None)
    if image_token_id is None:
        raise ConfigError(f"{type(model).__name__} names no image_token_id in its configuration.")
    if isinstance(method, str):
        method = make_method(method, {key: str(value) for key, value in options.items()})
    elif options:
        raise ConfigError("A method that is made already takes no options.", "Give its name with them.")
    decoder = text_decoder(model)
    seam = GenerateSeam(decoder, method, profile_key(str(model.name_or_path)))

    def watch_prompt(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        ids = kwargs.get("input_ids", args[0] if args else None)
        if ids is not None and ids.shape[1] > 1:
            seam.begin(ids == image_token_id)

    hook = model.register_forward_pre_hook(watch_prompt, with_kwargs=True)
    try:
        with seamed(decoder, seam):
            yield
    finally:
        hook.remove()


def text_decoder(model: Any) -> Any:
    """The module that holds the decoder layers: the one configured by the model's text configuration."""
    text_config = model.config.get_text_config()
    for module in model.modules():
        if getattr(module, "config", None) is text_config and hasattr(module, "layers"):
            return module
    raise ConfigError(f"{type(model).__name__} has no decoder that FastOCR knows how to find.")


class GenerateSeam:
    """Decode steps over transformers' own cache. A prompt begins a new batch; rows never change after it."""

    def __init__(self, decoder: Any, method: Method, checkpoint_key: str) -> None:
        self.num_layers: int = decoder.config.num_hidden_layers
        self.method, self.key = method, checkpoint_key
        self.gaze: Gaze | None = None

    def begin(self, is_visual: Tensor) -> None:
        """A prompt: bool (rows, length), True where the token came from the image."""
        self.gaze = self.method.begin(Layout(self.num_layers, self.key, is_visual.device))
        for num_visual in is_visual.sum(1).tolist():
            self.gaze.admit(num_visual)
        self.prompt_length = is_visual.shape[1]
        self.visual, self.visual_bias = packed(is_visual)
        self.prompt_text, self.prompt_text_bias = packed(~is_visual)

    def attend(
        self, layer: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scaling: float
    ) -> Tensor:
        gaze = self.gaze
        if query.shape[2] > 1 or gaze is None:
            module = _Grouped(query.shape[1] // key.shape[1])
            return sdpa_attention_forward(module, query, key, value, mask, scaling=scaling)[0].transpose(1, 2)
        output = look(gaze, layer, query, PlainKeyValues(self, key, value, mask), scaling)
        if layer == self.num_layers - 1:
            gaze.advance()
        return output


class _Grouped(nn.Module):
    """What transformers' SDPA function reads off an attention module."""

    is_causal = True

    def __init__(self, num_key_value_groups: int) -> None:
        super().__init__()
        self.num_key_value_groups = num_key_value_groups


class PlainKeyValues:
    """One layer's keys and values as transformers' caches give them: (rows, kv_heads, length, head_dim)."""

    def __init__(self, seam: GenerateSeam, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
        self.seam, self.key, self.value = seam, key, value
        self.bias = key.new_zeros(key.shape[0], key.shape[2], dtype=torch.float32)
        if mask is not None:
            visible = mask[:, 0, -1, : key.shape[2]]
            self.bias = self.bias.masked_fill(~visible, float("-inf")) if visible.dtype == torch.bool else visible

    def attend_all(self, query: Tensor, scaling: float, row: int | None) -> tuple[Tensor, Tensor]:
        rows = slice(None) if row is None else slice(row, row + 1)
        output, weights = attend_segment(query, self.key[rows], self.value[rows], self.bias[rows], scaling)
        visual, bias = self.seam.visual[rows], self.seam.visual_bias[rows]
        on_visual = weights.gather(-1, visual[:, None].expand(-1, weights.shape[1], -1))
        return output, on_visual.masked_fill(bias[:, None] < 0, 0)

    def attend_fixation(self, query: Tensor, scaling: float, fixation: Fixation) -> Tensor:
        seam, length = self.seam, self.key.shape[2]
        written = torch.arange(seam.prompt_length, length, device=query.device).expand(len(query), -1)
        fixated = seam.visual.gather(1, fixation.places)
        places = torch.cat([fixated, seam.prompt_text, written], 1)  # (rows, kept)
        fixated_bias = torch.zeros(fixated.shape, device=query.device) if fixation.bias is None else fixation.bias
        bias = torch.cat([fixated_bias, seam.prompt_text_bias, torch.zeros(written.shape, device=query.device)], 1)
        bias = bias + self.bias.gather(1, places)
        index = places[:, None, :, None].expand(-1, self.key.shape[1], -1, self.key.shape[3])
        return attend_segment(query, self.key.gather(2, index), self.value.gather(2, index), bias, scaling)[0]


def packed(chosen: Tensor) -> tuple[Tensor, Tensor]:
    """Places of the True entries of bool (rows, length), packed to the left, and a bias of -inf at the padding."""
    width = int(chosen.sum(1).max())
    order = chosen.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :width]
    held = chosen.gather(1, order)
    return order, torch.zeros(order.shape, device=chosen.device).masked_fill_(~held, float("-inf"))
