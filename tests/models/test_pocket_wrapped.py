"""Cells of several lines are read one after the other, all other print as before, and no letter is lost."""

import numpy as np
import pytest

from fastocr_cli.models.pocket.cells import CLASS_OF
from fastocr_cli.models.pocket.columns import Drawn
from fastocr_cli.models.pocket.wrapped import by_cells

Piece = tuple[int, int, str]  # line, first half cell, text without blanks
STEP = 3
"""Rows of cells from line to line."""


def read(*pieces: Piece, rules: tuple[int, ...] = (), down: tuple[int, ...] = ()) -> str:
    """What is read: `/` between rows, `|` between cells of a row whose cells wrap, a blank between lines of a cell."""
    letters = sorted(
        (STEP * line + 2, half + 2 * number, char) for line, half, text in pieces for number, char in enumerate(text)
    )
    line, half = (np.array([letter[i] for letter in letters], np.int64) for i in (0, 1))
    drawn = Drawn(np.zeros((80, 200), bool), np.zeros((80, 200), bool))
    drawn.across[[STEP * row + 1 for row in rules]] = True
    drawn.down[:, list(down)] = True
    cells = by_cells(line, half, np.array([CLASS_OF[letter[2]] for letter in letters]), drawn)
    assert sorted(cells.order) == list(range(len(letters)))
    out = ""
    for number, index in enumerate(cells.order):
        if number and cells.row[number] != cells.row[number - 1]:
            out += "/"
        elif number and cells.cell[number] != cells.cell[number - 1]:
            out += "|"
        elif number and line[index] != line[cells.order[number - 1]]:
            out += " "
        out += letters[index][2]
    return out


WRAPPED: list[Piece] = [(0, 0, "North"), (0, 40, "readsthe"), (1, 40, "meters"), (0, 80, "every"), (1, 80, "month")]


def test_a_row_between_lines_is_read_cell_by_cell() -> None:
    assert read(*WRAPPED, rules=(0, 2)) == "North|readsthe meters|every month"


def test_rows_are_parted_by_lines_or_by_white() -> None:
    below = [(line + 2, half, text) for line, half, text in WRAPPED]
    row = "North|readsthe meters|every month"
    assert read(*WRAPPED, *below, rules=(0, 2, 4)) == row + "/" + row
    further = [(line + 4, half, text) for line, half, text in WRAPPED]
    assert read(*WRAPPED, *further) == row + "/" + row


def test_the_first_cell_may_wrap_between_lines() -> None:
    pieces: list[Piece] = [(0, 0, "Northern"), (1, 0, "region"), (0, 40, "reads"), (1, 40, "meters")]
    assert read(*pieces, rules=(0, 2)) == "Northern region|reads meters"
    assert read(*pieces) == "Northernreads/regionmeters"  # it may be a list of two terms


def test_a_line_down_parts_cells_that_stand_close() -> None:
    pieces: list[Piece] = [(0, 0, "North"), (0, 14, "readsthe"), (1, 14, "meters")]
    assert read(*pieces, rules=(0, 2), down=(12,)) == "North|readsthe meters"
    assert read(*pieces, rules=(0, 2)) == "Northreadsthe/meters"


@pytest.mark.parametrize(
    "pieces",
    [
        [(0, 0, "North"), (0, 40, "12"), (1, 0, "South"), (1, 40, "34")],
        [(0, 0, "North"), (0, 40, "12"), (1, 40, "34"), (0, 80, "rain"), (1, 80, "snow")],
        [(0, 0, "•"), (0, 20, "readsthe"), (1, 20, "meters"), (2, 0, "•"), (2, 20, "goes"), (3, 20, "home")],
        [(0, 0, "Aparagraph"), (1, 0, "goeson"), (2, 0, "below")],
        [(0, 0, "North"), (0, 40, "Leeds"), (1, 40, "York"), (2, 40, "Hull")],
    ],
    ids=["figures", "figures beside text", "bullets", "prose", "names"],
)
def test_rows_of_a_line_each_stay_rows(pieces: list[Piece]) -> None:
    assert "|" not in read(*pieces, rules=(0, 6))
    assert "|" not in read(*pieces)


def test_a_page_may_be_empty_or_one_line() -> None:
    assert read() == ""
    assert read((3, 0, "alone")) == "alone"
