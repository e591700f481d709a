"""Rows of a table whose cells are several lines high: these are read cell by cell.

Rows are told by the lines that are drawn between them or by white, cells by white or by lines down; that a line goes on
with the one above it in its cell, by the small letter it begins with. A guess from the print alone, made only where it
is plain. Knows where letters and drawn lines are, and which letters they are.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from fastocr_cli.models.pocket.columns import UNDERLINE, Bools, Drawn, Ints, crossed
from fastocr_cli.models.pocket.hyphens import LETTERS, LOWER

LEAST_WHITE, WHITE = 4, 1.6
"""Rows of cells from line to line that part two rows of a table: so many, and so much more than usual."""

MAX_LINES = 25
"""Lines of a cell, at most."""

GUTTER, SURE_GUTTER, FEW_LINES, PITCHES = 3, 6, 5, 2
"""Half cells from letter to letter that part two cells; and between few lines, where blanks may stand below each other;
and how much more that is than from letter to letter of a word."""

MOST_LOWER = 0.4
"""Share of the lines going on that begin with a small letter, from which on cells do go on."""


class Cells(NamedTuple):
    """Letters of a page, row by row."""

    order: Ints
    """Their numbers before."""
    row: Ints
    """Of each, in this order, the line in which its row begins: its own, unless cells of its row wrap."""
    cell: Ints
    """Which cell of such a row it is in; else -1."""


def by_cells(line: Ints, half: Ints, classes: Ints, drawn: Drawn) -> Cells:
    """Put letters in reading order into that of wrapped cells; `line` and `half` as in `columns.reading_order`."""
    row, cell = line.copy(), np.full_like(line, -1)
    block = (np.diff(line, prepend=line[:1]) < 0).cumsum(dtype=np.int64)  # a column ends where the lines go up
    for first, behind, is_ruled in _rows(line, half, block, drawn.across):
        letters = slice(first, behind)
        column = _columns(line[letters], half[letters], drawn.down)
        if _wraps(line[letters], column, classes[letters], is_ruled):
            row[letters], cell[letters] = line[first], column
    order = np.lexsort((half, line, cell, row, block))
    return Cells(order, row[order], cell[order])


def _rows(line: Ints, half: Ints, block: Ints, ruled: Bools) -> Iterator[tuple[int, int, bool]]:
    """What may be rows of tables: the first letter, the one behind the last, and whether lines are drawn around it."""
    begins = np.flatnonzero(np.diff(line, prepend=-1) != 0)
    if len(begins) < 2:
        return
    lines, extent = line[begins], slice(half.min(), half.max() + 1)
    is_rule = ruled[:, extent].mean(1) > UNDERLINE
    edge = crossed(lines, is_rule[:, None])
    parted = _are_far(lines) | edge[1:-1] | (np.diff(block[begins]) > 0)
    for first, behind in pairwise([0, *(np.flatnonzero(parted) + 1), len(begins)]):
        if 2 <= behind - first <= MAX_LINES:
            yield begins[first], [*begins, len(line)][behind], bool(edge[first] and edge[behind])


def _are_far(lines: Ints) -> Bools:
    """Whether there is more white between lines than usual, (lines - 1,)."""
    distance = np.diff(lines)
    near = distance[(distance > 1) & (distance <= max(LEAST_WHITE, np.median(distance) + 1))]
    far: Bools = distance >= max(LEAST_WHITE, WHITE * near.mean() if len(near) else 0)
    return far


def _columns(line: Ints, half: Ints, down: Bools) -> Ints:
    """The cell of each letter of a row, from left to right."""
    places = np.unique(half)
    gap = np.diff(places)
    within = np.diff(half)[(np.diff(line) == 0) & (np.diff(half) > 0)]
    pitch = float(np.median(within)) if len(within) else 1.0
    num_lines = len(np.unique(line))
    parted = gap > max(GUTTER if num_lines >= FEW_LINES else SURE_GUTTER, PITCHES * pitch)
    rows = down[line.min() : line.max() + 1]
    for number in np.flatnonzero(~parted & (gap > 1)):
        parted[number] = rows[:, places[number] + 1 : places[number + 1]].any(1).mean() > 0.5
    column: Ints = np.concatenate([[0], parted.cumsum()])[np.searchsorted(places, half)]
    return column


def _wraps(line: Ints, column: Ints, classes: Ints, is_ruled: bool) -> bool:
    """Whether lines go on with those above them within their cell, rather than that each is a row."""
    if not column.any():
        return False
    has_letters, is_lower = [], []
    goes_on_beside = len(np.intersect1d(np.unique(line[column == 0])[1:], line[column > 0])) > 0
    for number in range(int(column.max()) + 1):
        inside = column == number
        for later in np.unique(line[inside])[1:]:
            letters = classes[inside & (line == later)]
            has_letters.append(np.isin(letters, LETTERS).any())
            is_lower.append(letters[0] in LOWER)
    if not has_letters or not all(has_letters) or (goes_on_beside and not is_ruled):
        return False
    return float(np.mean(is_lower)) >= MOST_LOWER
