"""Light print on dark ground (slides, bands, heads of tables) turned into dark print on white.

Grey morphology: what outlasts an opening by a bar far longer than any letter's stroke is ground. Knows pixels only.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

STEP = 4
"""Pixels: the ground is looked for in means of 4 x 4."""

BAR = (2, 16)
"""Steps, rows and columns: where it is dark for so long there is ground, no letter."""

LETTER = 10
"""Steps that letters on the ground may be high and wide."""

BAND = (6, 24)
"""Steps that a ground has at least: less is a thick rule, or a bar of a large letter."""

DARK = 0.45
"""How dark the ground is at least, from 0 to 1."""


def on_white(pixels: Tensor) -> Tensor:
    """Pages (batch, 1, height, width) from 0, white, to 1, black; dark grounds become white and print on them dark."""
    ground = _opened(-_opened(-_opened(F.avg_pool2d(pixels, STEP), BAR), (LETTER, LETTER)), BAND)
    if not (ground > DARK).any():
        return pixels
    ground = F.interpolate(ground, scale_factor=STEP)
    return torch.where(ground > DARK, ((ground - pixels) / ground).clamp(0, 1), pixels)


def _opened(values: Tensor, size: tuple[int, int]) -> Tensor:
    """The grey opening of (batch, 1, height, width) by a rectangle; beyond the edges it goes on as it is at them."""
    return _most(-_most(-values, size), size, mirrored=True)


def _most(values: Tensor, size: tuple[int, int], mirrored: bool = False) -> Tensor:
    rows, columns = (((side - 1) // 2, side // 2) for side in size)
    if mirrored:
        rows, columns = rows[::-1], columns[::-1]
    return F.max_pool2d(F.pad(values, (*columns, *rows), mode="replicate"), size, 1)
