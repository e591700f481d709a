"""Tables of single lines whose cells stand below each other: their columns, told by the white between them.

A guess from the print alone, made only where it is plain: wherever two cells of a line are apart, all lines have white
there. Knows where letters and drawn lines are, and which letters they are.
"""

from collections.abc import Iterator

import numpy as np

from fastocr_cli.models.pocket.columns import Bools, Ints, crossed
from fastocr_cli.models.pocket.hyphens import LETTERS

MIN_ROWS, MIN_COLUMNS = 4, 3
"""Of a table that is told by its white alone: two columns may be anything."""

BLANK = 2.5
"""Distances from letter to letter within a word that no blank is wider than."""

RULED = 0.5
"""Share of the table's width from which on a line across is one between its rows."""

MAX_DOWN = 8
"""Rows of cells from one line of a table to the next, at most."""


def grids(line: Ints, half: Ints, classes: Ints, across: Bools) -> Iterator[tuple[slice, Ints]]:
    """Tables among letters in reading order: which letters, and the column of each.

    Args:
        line: of each letter the row of cells in which its line begins.
        half: the half cell of each.
        classes: which letters they are (`cells`).
        across: where lines are drawn across, (rows of cells, half cells).
    """
    begins = np.flatnonzero(np.diff(line, prepend=-1) != 0)
    if len(begins) < MIN_ROWS:
        return
    behind = [*begins[1:], len(line)]
    within = np.diff(half)[np.diff(line) == 0]
    pitch = float(np.median(within[within > 0])) if (within > 0).any() else 1.0
    words = np.stack([_filled(half[a:b], int(half.max()) + 2, pitch) for a, b in zip(begins, behind, strict=True)])
    down = np.diff(line[begins], append=line[-1])
    goes_on = (down > 0) & (down <= MAX_DOWN)
    first = 0
    while first < len(begins):
        last = _last(words, goes_on, first)
        inside = slice(int(begins[first]), int(behind[max(first, last)]))
        column = _numbers(words[first : last + 1].any(0))[half[inside]]
        extent = slice(half[inside].min(), half[inside].max() + 1)
        num_rows = _num_whole(line[inside], column, classes[inside]) if last > first else 0
        if num_rows >= MIN_ROWS and not _is_ruled_apart(line[inside], across[:, extent]):
            last = first + num_rows - 1
            inside = slice(inside.start, int(behind[last]))
            yield inside, column[: inside.stop - inside.start]
            first = last
        first += 1


def _num_whole(line: Ints, column: Ints, classes: Ints) -> int:
    """How many lines there are before one that goes on with that above it: cells are missing, and none is a figure."""
    has_letters = np.isin(classes, LETTERS)
    lines = np.unique(line)
    for number, row in enumerate(lines[1:], start=1):
        cells = np.unique(column[line == row])
        if len(cells) <= column.max() and len(np.unique(column[(line == row) & has_letters])) == len(cells):
            return number
    return len(lines)


def _is_ruled_apart(line: Ints, across: Bools) -> bool:
    """Whether lines are drawn between some rows but not all, those below the first and above the last aside."""
    is_ruled = crossed(np.unique(line), (across.mean(1) > RULED)[:, None])[1:-1]
    inner = np.flatnonzero(is_ruled[1:-1]) + 1
    return len(inner) > 0 and not is_ruled[: inner[-1]].all()


def _filled(half: Ints, width: int, pitch: float) -> Bools:
    """Where a line is printed, (half cells,); blanks between words are not white."""
    filled = np.zeros(width, bool)
    filled[half] = True
    for before, gap in zip(half, np.diff(half), strict=False):
        if 0 < gap <= BLANK * pitch + 1:
            filled[before : before + gap] = True
    return filled


def _last(words: Bools, goes_on: Bools, first: int) -> int:
    """The last line of the table that begins with this one; before the first if there is none."""
    last, printed = first, words[first]
    if _count(printed) < MIN_COLUMNS:
        return first - 1
    while goes_on[last] and _count(words[last + 1]) > 1:
        together = printed | words[last + 1]
        if _count(together) < MIN_COLUMNS or not _are_apart(words[first : last + 2], together):
            break
        last, printed = last + 1, together
    return last


def _are_apart(words: Bools, printed: Bools) -> bool:
    """Whether no line has two cells in one column."""
    column = _numbers(printed)
    return all(len(np.unique(column[line])) == _count(line) for line in words)


def _count(printed: Bools) -> int:
    """How many stretches of print there are."""
    return int((np.diff(printed.astype(np.int8), prepend=0) > 0).sum())


def _numbers(printed: Bools) -> Ints:
    """Which stretch each half cell is in, from 0 on."""
    number: Ints = (np.diff(printed.astype(np.int8), prepend=0) > 0).cumsum() - 1
    return number
