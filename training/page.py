"""A page with its truth: picture, Markdown, and the place of every character."""

import re
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from fastocr_cli.models.pocket.cells import CELL, HALF, blank_grid, cell_grid
from fastocr_cli.pages import Character

DPI = 120
TOKEN_HEIGHT, TOKEN_WIDTH = 16, 24  # pixels of a visual token


@dataclass(frozen=True)
class Page:
    image: NDArray[np.uint8]  # [height, width], grey, multiples of the token's size
    target: str
    centres: NDArray[np.float32]  # [len(target), 2]: x, y in pixels; nan where nothing is printed
    glyphs: str  # every character printed on the page, running heads included
    glyph_centres: NDArray[np.float32]  # [len(glyphs), 2]

    @property
    def num_columns(self) -> int:
        return int(self.image.shape[1]) // TOKEN_WIDTH

    @property
    def num_rows(self) -> int:
        return int(self.image.shape[0]) // TOKEN_HEIGHT


def halves(page: Page) -> NDArray[np.int64]:
    """The half cell in which each character of the target is printed, [len(target)], -1 for nowhere.

    Counted through the page: row of cells * (half cells in a row) + half cell.
    """
    known = ~np.isnan(page.centres[:, 0])
    x, y = np.nan_to_num(page.centres).T
    in_a_row = page.image.shape[1] // HALF
    half = np.clip(x // HALF, 0, in_a_row - 1)
    row = np.clip(y // CELL, 0, page.image.shape[0] // CELL - 1)
    return np.where(known, row * in_a_row + half, -1).astype(np.int64)


def cells(page: Page) -> NDArray[np.int64]:
    """The class of the character centred in the left and right half of each cell: [2, height / 8, width / 8]."""
    characters = ((char, float(x), float(y)) for char, (x, y) in zip(page.glyphs, page.glyph_centres, strict=True))
    return cell_grid(characters, *page.image.shape)


FORMULA = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.S)
APART = re.compile(r"\s|</td>|<tr>|</h")


def blanks(page: Page) -> NDArray[np.int8]:
    """Whether a blank is printed before a letter: [height / 8, width / 4], 1 after a blank, -1 after a letter, else 0.

    Within formulas nobody knows: LaTeX has blanks of its own.
    """
    known = np.flatnonzero(~np.isnan(page.centres[:, 0]))
    in_formula = np.zeros(len(page.target), bool)
    for found in FORMULA.finditer(page.target):
        in_formula[found.start() : found.end()] = True
    printed = []
    for before, here in pairwise(known.tolist()):
        unknown = in_formula[before : here + 1].any()
        blank = None if unknown else bool(APART.search(page.target[before + 1 : here]))
        x, y = page.centres[here]
        printed.append(Character(page.target[here], float(x), float(y), blank))
    return blank_grid(printed, *page.image.shape)
