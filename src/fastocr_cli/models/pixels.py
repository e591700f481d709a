"""From a page's picture to a vision encoder's patches, by Pillow: resize rules, normalisation, patch order.

Knows no model by name: what differs between encoders is in `PatchRule`.
"""

import json
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from PIL import Image
from torch import Tensor

CLIP_MEAN, CLIP_STD = (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
HALF = (0.5, 0.5, 0.5)
LONGEST_ASPECT = 200
"""Sides beyond this ratio are no page: the picture is padded with white to it."""


@dataclass(frozen=True)
class PatchRule:
    """How an encoder of the Qwen-VL kind wants its pixels; `merge` x `merge` patches become one visual token."""

    patch: int
    temporal: int
    """A still picture is repeated so many times."""
    min_pixels: int
    max_pixels: int
    merge: int = 2
    mean: tuple[float, float, float] = CLIP_MEAN
    std: tuple[float, float, float] = CLIP_STD

    @property
    def step(self) -> int:
        """Pixels of a visual token's side."""
        return self.patch * self.merge

    def limited(self, folder: Path, max_pixels: int | None = None) -> "PatchRule":
        """This rule with the pixel limits of the weights' own files; `max_pixels` wins."""
        values = image_settings(folder)
        size = values.get("size") or {}
        fewest = values.get("min_pixels") or size.get("min_pixels") or size.get("shortest_edge") or self.min_pixels
        most = values.get("max_pixels") or size.get("max_pixels") or size.get("longest_edge") or self.max_pixels
        return replace(self, min_pixels=int(fewest), max_pixels=max_pixels or int(most))

    def fit(self, width: int, height: int) -> tuple[int, int]:
        """Width and height to resize to: whole visual tokens, between the limits, the aspect as near as may be."""
        step, area = self.step, width * height
        wide, high = (round(side / step) * step for side in (width, height))
        if wide * high > self.max_pixels:
            shrink = math.sqrt(area / self.max_pixels)
            wide, high = (max(step, math.floor(side / shrink / step) * step) for side in (width, height))
        elif wide * high < self.min_pixels:
            grow = math.sqrt(self.min_pixels / area)
            wide, high = (math.ceil(side * grow / step) * step for side in (width, height))
        return wide, high

    def visual_tokens(self, width: int, height: int) -> int:
        """Visual tokens of a picture of so many pixels."""
        wide, high = self.fit(width, height)
        return wide * high // self.step**2


def image_settings(folder: Path) -> dict[str, Any]:
    """What a checkpoint says about its pixels: in a file of its own, or since transformers 5 in the processor's."""
    for name, key in (("preprocessor_config.json", None), ("processor_config.json", "image_processor")):
        try:
            values = json.loads((folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        found = values.get(key) if key and isinstance(values, dict) else values
        if isinstance(found, dict):
            return found
    return {}


class Patches(NamedTuple):
    """A picture as an encoder takes it."""

    pixels: Tensor
    """float32 (patches, 3 * temporal * patch * patch), the patches of a visual token one after another."""
    grid: Tensor
    """int64 (1, 3): 1, rows of patches, columns of patches."""


def patches(image: Image.Image, rule: PatchRule) -> Patches:
    """Resize (bicubic), normalise and cut a picture."""
    image = within_aspect(image)
    wide, high = rule.fit(*image.size)
    pixels = normalised(image.resize((wide, high), Image.Resampling.BICUBIC), rule.mean, rule.std)
    rows, columns, size, merge = high // rule.patch, wide // rule.patch, rule.patch, rule.merge
    cut = pixels.view(3, rows // merge, merge, size, columns // merge, merge, size).permute(1, 4, 2, 5, 0, 3, 6)
    repeated = cut[:, :, :, :, :, None].expand(-1, -1, -1, -1, -1, rule.temporal, -1, -1)
    return Patches(repeated.reshape(rows * columns, -1), torch.tensor([[1, rows, columns]]))


def normalised(image: Image.Image, mean: tuple[float, ...], std: tuple[float, ...]) -> Tensor:
    """float32 (3, height, width): from 0..255 to 0..1, less the mean, over the deviation."""
    pixels = torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1).float() / 255
    return (pixels - torch.tensor(mean)[:, None, None]) / torch.tensor(std)[:, None, None]


def within_aspect(image: Image.Image) -> Image.Image:
    """The picture itself, or padded with white at the right or bottom until its sides have a ratio encoders take."""
    width, height = image.size
    shortest = -(-max(width, height) // LONGEST_ASPECT)
    if min(width, height) >= shortest:
        return image
    padded = Image.new("RGB", (max(width, shortest), max(height, shortest)), "white")
    padded.paste(image)
    return padded
