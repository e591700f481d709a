"""Qwen3-VL and what was made from it (FireRed-OCR, Logics-Parsing), over transformers' own class.

Pixels and positions as in Qwen2.5-VL, with patches of 16. DeepStack: features of inner encoder layers join the first
decoder layers at the page's own positions, at prefill only.
"""

import torch
from PIL import Image
from torch import Tensor
from transformers import Cache, Qwen3VLForConditionalGeneration

from fastocr_cli.models import qwen2_5_vl
from fastocr_cli.models.base import Prompt
from fastocr_cli.models.native import Seen
from fastocr_cli.models.pixels import HALF, PatchRule, patches


class Model(qwen2_5_vl.Model):
    """A visual token for every 32 x 32 pixels."""

    network_class = Qwen3VLForConditionalGeneration
    rule = PatchRule(patch=16, temporal=2, min_pixels=65_536, max_pixels=16_777_216, mean=HALF, std=HALF)

    def see(self, image: Image.Image) -> Seen:
        pixels, grid = patches(image, self.rule)
        grid = grid.to(self.device)
        features = self.network.get_image_features(pixels.to(self.device, self.dtype), grid)
        deepstack = [torch.cat(tuple(layer)) for layer in features.deepstack_features]
        return Seen(features.pooler_output[0], grid, torch.stack(deepstack) if deepstack else None)

    def prefill(self, prompt: Prompt, cache: Cache) -> Tensor:
        deepstack = None if prompt.deepstack is None else list(prompt.deepstack)
        output = self.text_model(
            inputs_embeds=prompt.embeds[None],
            position_ids=prompt.positions[:, None],
            cache=cache,
            use_cache=True,
            visual_pos_masks=prompt.is_visual[None],
            deepstack_visual_embeds=deepstack,
        )
        states: Tensor = output.last_hidden_state
        return states
