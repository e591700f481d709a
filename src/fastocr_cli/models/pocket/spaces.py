"""Whether a blank is printed before each letter: told from the letters beside it and from the white between them.

Shared by reading and by training. Knows neither tokens nor the decoder.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fastocr_cli.models.pocket.cells import CELL, HALF, NUM_CLASSES
from fastocr_cli.models.pocket.letters import AROUND, WIDE, Letters

INK = 0.25
"""How dark a column of pixels is at least, from 0 to 1, that is not white."""

BAND = 2 * CELL
"""Pixels of height in which print around the middle of a line is looked for: more than small letters, less than two
lines."""


def white_before(letters: Letters, pixels: Tensor) -> Tensor:
    """The widest white strip between each letter and the one before, in pixels: (batch, letters).

    At most WIDE half cells, which also stands for the beginning of a line.

    Args:
        letters: of the pages.
        pixels: (batch, 1, height, width), 0 for white to 1 for black.
    """
    most = WIDE * HALF
    band = F.max_pool2d(pixels, (BAND, 1), (CELL, 1), ((BAND - CELL) // 2, 0))[:, 0]  # (batch, height / 8, width)
    column = torch.arange(band.shape[-1], device=pixels.device)
    white = column - torch.where(band >= INK, column, -1).cummax(-1).values  # columns without ink up to this one
    middle = letters.half * HALF + HALF // 2
    back = torch.arange(most, device=pixels.device)
    strip = (middle[..., None] - back).clamp(min=0)
    row = letters.cell_row.clamp(0, band.shape[1] - 1)
    page = torch.arange(len(row), device=row.device)[:, None, None]
    seen = torch.minimum(white[page, row[..., None], strip], strip - (middle - HALF * letters.gap())[..., None])
    return torch.where(letters.begins_line(), most, seen.amax(-1).clamp(0, most)).float()


class Spaces(nn.Module):
    """The logit of a blank before each letter, 0 where a line begins: the decoder knows whether a word goes on."""

    def __init__(self, hidden_size: int = 48) -> None:
        super().__init__()
        self.before, self.after = nn.Embedding(NUM_CLASSES, 8), nn.Embedding(NUM_CLASSES, 8)
        self.hidden, self.out = nn.Linear(2 * (2 * AROUND + 1) + 16, hidden_size), nn.Linear(hidden_size, 1)

    def forward(self, letters: Letters, pixels: Tensor) -> Tensor:
        """(batch, letters), from the letters and the pages (batch, 1, height, width) on which they were seen."""
        white = white_before(letters, pixels)
        classes = letters.scores.argmax(-1)
        gaps, strips = letters.around(letters.gap()), letters.around(white / HALF)
        seen = [gaps / 4, strips / 2, self.before(classes.roll(1, 1)), self.after(classes)]
        logit: Tensor = self.out(F.gelu(self.hidden(torch.cat(seen, -1).to(self.out.weight.dtype))))[..., 0]
        return logit.masked_fill(letters.begins_line(), 0)
