"""Tables of single lines whose cells stand below each other: their columns, told by the white between them.

A guess from the print alone, made only where it is plain: wherever two cells of a line are apart, all lines have white
there. Knows where letters and drawn lines are, and which letters they are.
"""

from collections.abc import Iterator

import numpy as np

from fastocr_cli.models.pocket.columns import Bools, Ints, crossed
from fastocr_cli.models.pocket.hyphens import LETTERS

MIN_ROWS, MIN_COLUMNS, LABEL = 4, 2, 4
"""Of a table; and how many letters its first column has more than, on average, if there are but two."""

BLANK = 2.5
"""Distances from letter to letter within a word that no blank is wider than."""

WORDS = 12
"""Letters of a line from which on a quarter of its gaps are within words, however large its print."""

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
        if last - first + 1 >= MIN_ROWS:
            inside = slice(int(begins[first]), int(behind[last]))
            column = _numbers(words[first : last + 1].max(0))[half[inside]]
            extent = slice(half[inside].min(), half[inside].max() + 1)
            num_rows = _num_whole(line[inside], column, classes[inside])
            if num_rows >= MIN_ROWS and _is_table(line[inside], column, classes[inside], across[:, extent]):
                inside = slice(inside.start, int(behind[first + num_rows - 1]))
                yield inside, column[: inside.stop - inside.start]
                first += num_rows - 1
        first += 1


def _num_whole(line: Ints, column: Ints, classes: Ints) -> int:
    """How many lines there are before one that goes on with that above it: cells are missing, and none is a figure."""
    has_letters = np.isin(classes, LETTERS)
    lines = np.unique(line)
    for number, row in enumerate(lines):
        cells = np.unique(column[line == row])
        if len(cells) <= column.max() and len(np.unique(column[(line == row) & has_letters])) == len(cells):
            return number
    return len(lines)


def _is_table(line: Ints, column: Ints, classes: Ints, across: Bools) -> bool:
    """Whether lines are drawn between all rows, or none, those below the first and above the last aside; and, if there
    are but two columns, whether the first is no list's marks, and lines are drawn or the second one holds figures."""
    lines = np.unique(line)
    is_ruled = crossed(lines, (across.mean(1) > RULED)[:, None])[1:-1]
    inner = np.flatnonzero(is_ruled[1:-1]) + 1
    if len(inner) and not is_ruled[: inner[-1]].all():
        return False
    if column.max() > 1:
        return True
    with_letters = np.unique(line[(column == 1) & np.isin(classes, LETTERS)])
    has_labels = (column == 0).sum() > LABEL * len(lines)
    return bool(has_labels and (is_ruled.any() or 2 * len(with_letters) < len(lines)))


def _filled(half: Ints, width: int, pitch: float) -> Bools:
    """Where a line is printed, (half cells,); blanks between words are not white."""
    gaps = np.diff(half)
    if len(gaps) >= WORDS:
        pitch = max(pitch, float(np.percentile(gaps, 25)))
    filled = np.zeros(width, bool)
    filled[half] = True
    for before, gap in zip(half, gaps, strict=False):
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
