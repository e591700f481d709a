"""LLaVA-OneVision over transformers' own class: a grid of square tiles and the whole page as one more tile.

Knows its tiling and nothing of what differs between checkpoints.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from PIL import Image
from torch import Tensor
from transformers import LlavaOnevisionForConditionalGeneration
from transformers.image_processing_utils import select_best_resolution

from fastocr_cli.models.chat import ChatFormat
from fastocr_cli.models.native import ChatModel, Seen
from fastocr_cli.models.pixels import HALF, normalised


class Tiling(NamedTuple):
    """How pages are cut."""

    side: int
    """Pixels of a tile."""
    grids: list[tuple[int, int]]
    """Heights and widths in pixels that tiles may fill."""

    def canvas(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the grid that keeps most of a picture and wastes least."""
        high, wide = select_best_resolution((height, width), self.grids)
        return wide, high

    def fit(self, width: int, height: int) -> tuple[int, int]:
        """Width and height of the picture on its canvas, its aspect kept."""
        wide, high = self.canvas(width, height)
        if wide / width < high / height:
            return wide, min(-int(-height * (wide / width) // 1), high)
        return min(-int(-width * (high / height) // 1), wide), high


class Model(ChatModel):
    """Plain rotary positions; 27 x 27 visual tokens a tile, then a line end after every row of the whole."""

    network_class = LlavaOnevisionForConditionalGeneration
    form = ChatFormat("<image>", after_image="\n", after_role=" ", after_turn="")
    tiling: Tiling

    def read_pixel_rules(self, folder: Path) -> None:
        config = self.network.config
        grids = [(high, wide) for high, wide in config.image_grid_pinpoints]
        self.tiling = Tiling(config.vision_config.image_size, grids)

    @property
    def max_pixels(self) -> int:
        return self.checkpoint.max_pixels or max(high * wide for high, wide in self.tiling.grids)

    def visual_tokens(self, width: int, height: int) -> int:
        config, tiling = self.network.config, self.tiling
        per_side = config.vision_config.image_size // config.vision_config.patch_size
        wide, high = (length // tiling.side * per_side for length in tiling.canvas(width, height))
        if width / height > wide / high:
            high -= (high - int(round(height * (wide / width), 7))) // 2 * 2
        else:
            wide -= (wide - int(round(width * (high / height), 7))) // 2 * 2
        most = int(config.vision_aspect_ratio.removeprefix("anyres_max_"))
        shrink = (high * wide / (most * per_side**2)) ** 0.5
        if shrink > 1.1:
            high, wide = int(high // shrink), int(wide // shrink)
        return int(per_side**2 + high * (wide + 1))

    def see(self, image: Image.Image) -> Seen:
        pixels = tiles(image, self.tiling).to(self.device, self.dtype)
        size = torch.tensor([[image.height, image.width]])
        features = self.network.get_image_features(pixels[None], size)
        return Seen(features.pooler_output[0])

    def place(self, ids: Tensor, seen: Seen) -> Tensor:
        return torch.arange(len(ids), device=ids.device)[None]


def tiles(image: Image.Image, tiling: Tiling) -> Tensor:
    """float32 (1 + tiles, 3, side, side): the page squeezed into one tile, then the tiles in reading order."""
    wide, high = tiling.canvas(*image.size)
    fitted = image.convert("RGB").resize(tiling.fit(*image.size), Image.Resampling.BICUBIC)
    canvas = Image.new("RGB", (wide, high))
    canvas.paste(fitted, ((wide - fitted.width) // 2, (high - fitted.height) // 2))
    side = tiling.side
    whole = image.resize((side, side), Image.Resampling.BICUBIC)
    parts = [canvas.crop((x, y, x + side, y + side)) for y in range(0, high, side) for x in range(0, wide, side)]
    return torch.stack([normalised(part, HALF, HALF) for part in (whole, *parts)])
