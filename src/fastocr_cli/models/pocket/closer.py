"""A second look at small print, enlarged: the trunk was taught letters of 9 to 14 points, and misses narrow ones below.

Knows what the trunk sees and where letters lie; nothing of words. Used in reading only.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.models.pocket.cells import CELL, HALF, lay
from fastocr_cli.models.pocket.letters import Letters
from fastocr_cli.models.pocket.spelling import LEAST_LETTER

FACTORS = ((2.12, 1.5), (2.24, 1.25))
"""Half cells from letter to letter on average, and how much print is enlarged that is narrower (docs/pocket.md)."""

FEW, NEAR = 100, 6
"""Gaps between letters that say nothing of a page, and half cells between letters of one word at most."""


def magnification(letters: Letters) -> float:
    """How much to enlarge the page on which these letters (batch 1) were seen; 1 for print that is large enough."""
    gap = letters.gap()[0]
    gap = gap[(letters.row[0] >= 0) & (gap > 0) & (gap < NEAR)]
    if len(gap) < FEW:
        return 1.0
    return next((factor for narrower, factor in FACTORS if gap.mean() < narrower), 1.0)


def enlarged(pixels: Tensor, factor: float, multiple: tuple[int, int]) -> Tensor:
    """Pages (batch, 1, height, width) so many times as large, padded with white to multiples of (rows, columns)."""
    return padded(F.interpolate(pixels, scale_factor=factor, mode="bicubic").clamp(0, 1), multiple)


def padded(pixels: Tensor, multiple: tuple[int, int]) -> Tensor:
    """Pages (batch, 1, height, width) with white below and to the right, up to multiples of (rows, columns)."""
    height, width = pixels.shape[-2:]
    return F.pad(pixels, (0, -width % multiple[1], 0, -height % multiple[0]))


def laid_back(letters: Letters, factor: float, height: int, width: int) -> Tensor:
    """Letters (batch 1) seen `factor` times as large, on the cells of the page: (1, height / 8, width / 8, 2, classes).

    Each keeps its probabilities; those that meet in a half cell lie beside each other.
    """
    num = letters.num_letters
    x = (letters.half[0, :num] + 0.5) * (HALF / factor)
    y = (letters.cell_row[0, :num] + 0.5) * (CELL / factor)
    number = lay(zip(range(1, num + 1), x.tolist(), y.tolist(), strict=True), height, width)
    likely = (letters.scores[0, :num].exp() - torch.tensor(LEAST_LETTER).exp()).clamp(min=0)
    nothing = F.one_hot(torch.zeros(1, dtype=torch.long), likely.shape[-1])
    classes = torch.cat([nothing.to(likely), likely / likely.sum(-1, keepdim=True).clamp(min=1e-6)])
    return classes[torch.from_numpy(number).to(classes.device)].permute(1, 2, 0, 3)[None]
