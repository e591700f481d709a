"""The order in which the letters of a page are likely to be read: column by column, where there are any.

Recursive cuts along white strips (the XY cut of Nagy and Seth, 1984), made only between columns of prose, so that
tables are read row by row. A guess from the print alone: the decoder may think otherwise. Knows letters' places,
nothing else.
"""

import numpy as np
from numpy.typing import NDArray

MIN_LINES, MIN_LETTERS = 8, 18
"""Lines that a column has at least, and letters in them on average: a table has shorter cells, a river in a paragraph
is not as long."""

MIN_WHITE = 3
"""Half cells of white between two columns."""

BETWEEN_CELLS = 8
"""Half cells of white in a line that no blank is as wide as: there cells of a table lie beside each other."""

FULL = 0.8
"""Share of the longest line from which on a line is one of running text."""

Ints = NDArray[np.int64]


def reading_order(line: Ints, half: Ints) -> Ints:
    """The numbers of letters, given line by line with the half cell of each, in the order of columns."""
    return np.concatenate(_parts(np.arange(len(line)), line, half))


def _parts(letters: Ints, line: Ints, half: Ints) -> list[Ints]:
    cut = _cut(line[letters], half[letters]) if len(letters) else None
    if cut is None:
        return [letters]
    first, last, gutter = cut
    above, below = line[letters] < first, line[letters] > last
    left = half[letters] < gutter
    parts = (above, ~above & ~below & left, ~above & ~below & ~left, below)
    return [part for chosen in parts for part in _parts(letters[chosen], line, half)]


def _cut(line: Ints, half: Ints) -> tuple[int, int, int] | None:
    """The first and last line of the largest block of two columns, and where the white between them begins."""
    lines, number = np.unique(line, return_inverse=True)
    count = np.zeros((len(lines), int(half.max()) + 1 + MIN_WHITE), np.int64)
    np.add.at(count, (number, half + 1), 1)
    before = count.cumsum(1)  # [lines, x]: letters to the left of half cell x
    all_letters = before[:, -1:]
    white = before[:, MIN_WHITE:] == before[:, :-MIN_WHITE]
    blocks: dict[tuple[int, int, int], int] = {}  # all cuts of a block within the same white are one
    for gutter in np.flatnonzero(white.sum(0) >= MIN_LINES):
        for first, last in _runs(white[:, gutter]):
            left = before[first : last + 1, gutter].sum()
            right = all_letters[first : last + 1].sum() - left
            blocks[int(min(left, right)), first, last] = int(gutter)
    for (_, first, last), cut in sorted(blocks.items(), reverse=True):
        inside = (number >= first) & (number <= last)
        if _are_columns(line[inside], half[inside], cut):
            return int(lines[first]), int(lines[last]), cut
    return None


def _runs(values: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of every run of True that is long enough for a column."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], values, [False]])))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2) if b - a >= MIN_LINES]


def _are_columns(line: Ints, half: Ints, gutter: int) -> bool:
    """Whether letters on both sides are prose; on one side there may be several columns, or tables."""
    left, right = ((line[side], half[side]) for side in (half < gutter, half >= gutter))
    if not (_is_long(left[0]) and _is_long(right[0])):
        return False
    return all(not _has_cells(*side) or _is_full(*other) for side, other in ((left, right), (right, left)))


def _is_full(line: Ints, half: Ints) -> bool:
    """Whether every other line is prose that goes on to the end of its column, as a label does not."""
    ends = half[np.append(np.diff(line) != 0, True)] - half.min()
    return bool(np.mean(ends >= FULL * ends.max()) >= 0.5) and not _has_cells(line, half)


def _is_long(line: Ints) -> bool:
    num_lines = len(np.unique(line))
    return num_lines >= MIN_LINES and len(line) >= MIN_LETTERS * num_lines


def _has_cells(line: Ints, half: Ints) -> bool:
    """Whether there is white within most lines, as in a table."""
    return 2 * len(np.unique(line[_after_white(line, half)])) > len(np.unique(line))


def _after_white(line: Ints, half: Ints) -> NDArray[np.bool_]:
    """Whether the letter before is in the same line, and further away than any blank is wide."""
    return np.concatenate([[False], (line[1:] == line[:-1]) & (half[1:] - half[:-1] > BETWEEN_CELLS)])[: len(line)]


def begins_cell(line: Ints, half: Ints) -> NDArray[np.bool_]:
    """Whether letters in reading order may begin a cell of a table: after wide white, or below a line with such."""
    beside = _after_white(line, half)
    new_line = np.diff(line, prepend=line[:1]) != 0
    below: NDArray[np.bool_] = new_line & np.isin(np.roll(line, 1), line[beside])
    return beside | below
