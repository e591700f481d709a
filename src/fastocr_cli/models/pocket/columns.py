"""The order in which the letters of a page are likely to be read: column by column, where there are any.

Recursive cuts along white strips (the XY cut of Nagy and Seth, 1984), made only between columns of prose, so that
tables are read row by row. A guess from the print alone: the decoder may think otherwise. Knows letters' places,
nothing else.
"""

import numpy as np
from numpy.typing import NDArray

MIN_LINES, MIN_LETTERS = 8, 12
"""Lines that a column has at least, and letters in them on average: a table has shorter cells, a river in a paragraph
is not as long."""

MIN_WHITE = 3
"""Half cells of white between two columns."""

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
    best, size = None, 0
    for gutter in np.flatnonzero(white.sum(0) >= MIN_LINES):
        for first, last in _runs(white[:, gutter]):
            left = before[first : last + 1, gutter]
            right = all_letters[first : last + 1, 0] - left
            smaller = min(int(left.sum()), int(right.sum()))
            if smaller > size and _is_column(left) and _is_column(right):
                best, size = (int(lines[first]), int(lines[last]), int(gutter)), smaller
    return best


def _runs(values: NDArray[np.bool_]) -> list[tuple[int, int]]:
    """First and last index of every run of True that is long enough for a column."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], values, [False]])))
    return [(int(a), int(b) - 1) for a, b in edges.reshape(-1, 2) if b - a >= MIN_LINES]


def _is_column(num_letters: Ints) -> bool:
    """Whether lines of so many letters each, empty ones apart, are prose."""
    filled = num_letters[num_letters > 0]
    return len(filled) >= MIN_LINES and float(filled.mean()) >= MIN_LETTERS
