"""Two of the same thin letter beside each other (`ll`, `tt`, `ff`): told from one on the border by the white between.

The trunk sees both in neighbouring half cells, and is seldom sure whether they are two. Knows what the trunk sees and
the picture; no words. Used in reading only.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.models.pocket.cells import CELL, CLASS_OF, HALF

THIN = tuple(CLASS_OF[char] for char in "ltfrijI1/|!")
"""Letters of one upright stroke."""

TWICE = 1.3
"""Probabilities of the same letter in two neighbouring half cells, together, from which on they may be two."""

DARK, WHITE = 0.2, 0.5
"""How dark the strokes are at least, and how dark the white between them is at most: a share of the strokes."""

ABOVE = 2
"""Rows of pixels at the top of a cell where the bars of `tt` and `ff` meet."""


def part_doubles(classes: Tensor, pixels: Tensor) -> None:
    """Make such letters sure to be two.

    Args:
        classes: (1, height / 8, width / 8, 2, classes), the probabilities that are changed.
        pixels: (1, 1, height, width), 0 for white to 1 for black.
    """
    halves = classes.flatten(2, 3)
    sure, which = halves[0, ..., 1:].max(-1)
    same = (which[:, 1:] == which[:, :-1]) & torch.isin(which[:, 1:] + 1, torch.tensor(THIN, device=which.device))
    row, half = (same & (sure[:, 1:] + sure[:, :-1] >= TWICE)).nonzero(as_tuple=True)
    dark = pixels[0, 0].unflatten(0, (-1, CELL))[:, ABOVE:].mean(1)  # (rows, width)
    around = dark[row[:, None], half[:, None] * HALF + torch.arange(2 * HALF, device=row.device)]
    left, between, right = around.split([HALF - 1, 2, HALF - 1], 1)
    strokes = torch.minimum(left.amax(1), right.amax(1))
    two = (strokes > DARK) & (between.amin(1) < WHITE * strokes)
    row, half = row[two], half[two]
    halves[0, row, half] = halves[0, row, half + 1] = F.one_hot(which[row, half] + 1, classes.shape[-1]).to(classes)
