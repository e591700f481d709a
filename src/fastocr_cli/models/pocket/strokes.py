"""What is drawn on a page beside its letters: how thick and long its strokes are, and where there are lines.

Shared by reading and by training. Knows pixels and cells.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.models.pocket.cells import CELL, HALF

NUM_STROKES = 7
"""Measures of the strokes in a cell (`strokes`)."""

DARK, LONG = 0.3, 33
"""How dark a line is at least, from 0 to 1, and how many pixels long, to be one that is drawn."""

LITTLE_INK = 0.02
"""Share of a cell below which the measures of its strokes fade."""


def strokes(pixels: Tensor) -> Tensor:
    """How thick and how long the strokes of the print are: (batch, height / 8, width / 8, NUM_STROKES).

    Granulometry (Matheron 1975): how much ink there is, and which shares of it outlast erosions by squares of 2, 3 and
    4 pixels, and openings by bars of 13 and 33 pixels across and of 25 down.
    """
    found = [pixels]
    for _ in range(3):
        found.append(_least(_least(F.pad(found[-1], (0, 1, 0, 1)), 2, -1), 2, -2))
    found += [_opened(pixels, size, dim) for size, dim in ((13, -1), (33, -1), (25, -2))]
    ink, *lasting = (F.avg_pool2d(part, CELL)[:, 0] for part in found)  # a tensor of all would be far larger
    return torch.stack([8 * ink, *(16 * part / (ink + LITTLE_INK) for part in lasting)], -1)


def drawn_lines(pixels: Tensor) -> Tensor:
    """Where lines are drawn, across and down: (batch, 2, height / 8, width / 4), dark strokes of 33 pixels and more."""
    dark = (pixels > DARK).to(pixels.dtype)
    lines = torch.cat([_opened(dark, LONG, dim) for dim in (-1, -2)], 1)
    return F.max_pool2d(lines, (CELL, HALF)) > 0


def _opened(pixels: Tensor, size: int, dim: int) -> Tensor:
    """What outlasts an opening by a bar of `size` pixels along a dimension, -1 or -2."""
    margin = (size - 1, size - 1)
    padded = F.pad(pixels, margin if dim == -1 else (0, 0, *margin))
    return -_least(-_least(padded, size, dim), size, dim)


def _least(values: Tensor, size: int, dim: int) -> Tensor:
    """The least of each `size` values in a row, in a few steps: max_pool2d's time grows with the size."""
    seen = 1
    while seen < size:
        step = min(seen, size - seen)
        rest = values.shape[dim] - step
        values = torch.minimum(values.narrow(dim, 0, rest), values.narrow(dim, step, rest))
        seen += step
    return values
