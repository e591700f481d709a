"""Qwen2.5-VL and what was made from it (olmOCR), over transformers' own class.

Knows the family's pixels and positions. What differs between its checkpoints stands in their rows.
"""

from pathlib import Path
from typing import Any, ClassVar

from PIL import Image
from torch import Tensor
from transformers import Qwen2_5_VLForConditionalGeneration

from fastocr_cli.models.chat import ChatFormat
from fastocr_cli.models.native import ChatModel, Seen
from fastocr_cli.models.pixels import PatchRule, patches, within_aspect


class Model(ChatModel):
    """Three-axis rotary positions; a visual token for every 28 x 28 pixels."""

    network_class: ClassVar[Any] = Qwen2_5_VLForConditionalGeneration
    form = ChatFormat("<|image_pad|>", "<|vision_start|>", "<|vision_end|>")
    rule = PatchRule(patch=14, temporal=2, min_pixels=3136, max_pixels=12_845_056)

    def read_pixel_rules(self, folder: Path) -> None:
        self.rule = self.rule.limited(folder, self.checkpoint.max_pixels)

    @property
    def max_pixels(self) -> int:
        return self.rule.max_pixels

    def visual_tokens(self, width: int, height: int) -> int:
        return self.rule.visual_tokens(width, height)

    def seen_size(self, image: Image.Image) -> tuple[int, int]:
        return self.rule.fit(*within_aspect(image).size)

    def see(self, image: Image.Image) -> Seen:
        pixels, grid = patches(image, self.rule)
        grid = grid.to(self.device)
        features = self.network.get_image_features(pixels.to(self.device, self.dtype), grid)
        return Seen(features.pooler_output[0], grid)

    def place(self, ids: Tensor, seen: Seen) -> Tensor:
        is_image = (ids == self.image_token_id)[None].int()  # without it positions silently fall back to one axis
        positions, _ = self.network.model.get_rope_index(ids[None], is_image, image_grid_thw=seen.grid)
        places: Tensor = positions[:, 0]
        return places
