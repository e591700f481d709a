"""The order in which the letters of a page are likely to be read: column by column, where there are any.

Recursive cuts along white strips (the XY cut of Nagy and Seth, 1984), made only between columns of prose, so that
tables are read row by row. A guess from the print alone: the decoder may think otherwise. Knows where letters and drawn
lines are, nothing else.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MIN_LINES, MIN_LETTERS = 8, 18
"""Lines that a column has at least, and letters in them on average: a table has shorter cells, a river in a paragraph
is not as long."""

MIN_WHITE = 3
"""Half cells of white between two columns."""

MAX_ROW, NEAR = 25, 6
"""Lines that a row of a ruled table seldom has, and how many rows of cells off the print a line still belongs to it."""

MAX_HEIGHT = 12
"""Rows of cells above a letter in which the line over its cell is looked for."""

UNDERLINE = 0.3
"""Share of the page's width that underlined words seldom have."""

BETWEEN_CELLS = 8
"""Half cells of white in a line that no blank is as wide as: there cells of a table lie beside each other."""

BESIDE = 0.6
"""Share of the lines of a side column that may happen to stand as high as one of the text beside it."""

APART = 2.5
"""Distances from letter to letter of large print that no blank in it is wider than."""

FULL = 0.8
"""Share of the longest line from which on a line is one of running text."""

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


class Drawn(NamedTuple):
    """Where lines are drawn on the page: (rows of cells, half cells)."""

    across: Bools
    down: Bools

    def between(self, before: tuple[int, int], here: tuple[int, int]) -> bool:
        """Whether a line is drawn between two letters, given by line of print and half cell: above the second one, or
        down between them."""
        (line_before, half_before), (line, half) = before, here
        first, last = sorted((half_before, half))
        rows = line_before + 1 + np.flatnonzero(self.across[line_before + 1 : line + 1, half])
        return any(self._is_border(int(row), half) for row in rows) or bool(self.down[line, first + 1 : last].any())

    def _reach(self, row: int, half: int) -> tuple[int, int]:
        """Where a line across begins, and behind its end."""
        breaks = np.flatnonzero(~self.across[row])
        return max([-1, *breaks[breaks < half]]) + 1, min([self.across.shape[1], *breaks[breaks > half]])

    def _is_border(self, row: int, half: int) -> bool:
        """Whether a line across is more than an underline: it meets a line down, or is long."""
        left, right = self._reach(row, half)
        meets = self.down[max(0, row - 1) : row + 2, max(0, left - 1) : right + 1].any()
        return bool(meets or right - left > UNDERLINE * self.across.shape[1])

    def is_first_cell(self, line: int, half: int) -> bool:
        """Whether a letter is in the leftmost cell of a row that is drawn with lines across above it and lines down."""
        above = np.flatnonzero(self.across[max(0, line - MAX_HEIGHT) : line + 1, half][::-1])
        if not len(above):
            return False
        left, right = self._reach(line - int(above[0]), half)
        inside = self.down[line, left + 2 : right]  # its left edge is no matter
        return bool(inside.any() and not inside[: max(0, half - left - 2)].any())


def reading_order(line: Ints, row: Ints, half: Ints, ruled: Bools) -> Ints:
    """The numbers of letters in the order of columns.

    Args:
        line: of each letter, line by line, the row of cells in which its line begins.
        row: the row of cells in which it stands itself.
        half: the half cell of each.
        ruled: (rows of cells, half cells), where a line is drawn across.
    """
    return np.concatenate(_parts(np.arange(len(line)), line, row, half, ruled))


def _parts(letters: Ints, line: Ints, row: Ints, half: Ints, ruled: Bools) -> list[Ints]:
    cut = _cut(line[letters], row[letters], half[letters], ruled) if len(letters) else None
    if cut is None:
        return [letters]
    first, last, gutter = cut
    above, below = line[letters] < first, line[letters] > last
    left = half[letters] < gutter
    parts = (above, ~above & ~below & left, ~above & ~below & ~left, below)
    return [part for chosen in parts for part in _parts(letters[chosen], line, row, half, ruled)]


def _cut(line: Ints, row: Ints, half: Ints, ruled: Bools) -> tuple[int, int, int] | None:
    """The first and last line of the largest block of two columns, and where the white between them begins."""
    lines, number = np.unique(line, return_inverse=True)
    count = np.zeros((len(lines), int(half.max()) + 1 + MIN_WHITE), np.int64)
    np.add.at(count, (number, half + 1), 1)
    before = count.cumsum(1)  # [lines, x]: letters to the left of half cell x
    all_letters = before[:, -1:]
    white = (before[:, MIN_WHITE:] == before[:, :-MIN_WHITE]) & ~_within_large_print(half, number, count.shape)
    beside = (before > 0) & (before < all_letters)  # letters on both sides of a half cell
    blocks: dict[tuple[int, int, int], int] = {}  # all cuts of a block within the same white are one
    for gutter in np.flatnonzero(white.sum(0) >= MIN_LINES):
        for first, last in _runs(white[:, gutter], crossed(lines, ruled[:, gutter : gutter + MIN_WHITE])):
            first, last = _without_headings(first, last, lines, beside[:, gutter])
            left = before[first : last + 1, gutter].sum()
            right = all_letters[first : last + 1].sum() - left
            blocks[int(min(left, right)), first, last] = int(gutter)
    for (_, first, last), cut in sorted(blocks.items(), reverse=True):
        inside = (number >= first) & (number <= last)
        if _are_columns(line[inside], row[inside], half[inside], cut):
            return int(lines[first]), int(lines[last]), cut
    return None


def _within_large_print(half: Ints, number: Ints, shape: tuple[int, ...]) -> Bools:
    """Where a gutter would part letters of a line (lines, half cells) that are no further apart than its others are."""
    within = np.zeros((shape[0], shape[1] - MIN_WHITE), bool)
    gap = np.diff(half)
    for line in np.unique(number):
        gaps = gap[(number[1:] == line) & (number[:-1] == line)]
        if len(gaps) and (usual := np.percentile(gaps, 25)) > MIN_WHITE:
            for left, wide in zip(half[number == line], gaps, strict=False):
                within[line, left + 1 : left + wide + 1] |= wide < APART * usual
    return within


def _without_headings(first: int, last: int, lines: Ints, beside: Bools) -> tuple[int, int]:
    """A block without its first and last lines that have nothing beside them and are nearer to what is above or below:
    the heading of what follows is no part of the left column."""
    distance = np.diff(lines)
    while 0 < first < last and not beside[first] and distance[first - 1] < distance[first]:
        first += 1
    while first < last < len(distance) and not beside[last] and distance[last] < distance[last - 1]:
        last -= 1
    return first, last


def crossed(lines: Ints, ruled: Bools) -> Bools:
    """Whether a line is drawn across the gutter above each line of print, and below the last: (lines + 1,)."""
    drawn = np.concatenate([[0], ruled.all(1).cumsum()])
    edges = np.clip([lines[0] - NEAR, *lines, lines[-1] + NEAR], 0, len(ruled) - 1)
    crossed: Bools = drawn[edges[1:] + 1] > drawn[edges[:-1] + 1]
    return crossed


def _runs(white: Bools, crossed: Bools) -> list[tuple[int, int]]:
    """First and last line of every run with white in the gutter that is long enough for a column.

    Lines that are drawn across end a run; between two of them there is a row of a table rather than two columns.
    """
    begins = np.flatnonzero(white & (np.concatenate([[True], ~white[:-1]]) | crossed[:-1]))
    ends = np.flatnonzero(white & (np.concatenate([~white[1:], [True]]) | crossed[1:]))
    return [
        (int(first), int(last))
        for first, last in zip(begins, ends, strict=True)
        if last - first + 1 >= (MAX_ROW if crossed[first] and crossed[last + 1] else MIN_LINES)
    ]


def _are_columns(line: Ints, row: Ints, half: Ints, gutter: int) -> bool:
    """Whether letters on both sides are prose; on one side there may be several columns, or tables, or short lines that
    do not stand beside those of the other side."""
    left, right = ((line[side], half[side]) for side in (half < gutter, half >= gutter))
    are_long = [_is_long(side[0]) for side in (left, right)]
    if not all(are_long):
        return any(are_long) and not _are_beside(line, row, half < gutter)
    return all(not _has_cells(*side) or _is_full(*other) for side, other in ((left, right), (right, left)))


def _are_beside(line: Ints, row: Ints, is_left: Bools) -> bool:
    """Whether the lines of two sides are as high as each other, most of those of the side that has fewer of them, as in
    the rows of a table; or are too few to tell."""
    left, right = (
        [np.median(row[side & (line == here)]) for here in np.unique(line[side])] for side in (is_left, ~is_left)
    )
    fewer, more = sorted((left, right), key=len)
    return len(fewer) < MIN_LINES or bool(np.isin(fewer, more).mean() > BESIDE)


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


def _after_white(line: Ints, half: Ints) -> Bools:
    """Whether the letter before is in the same line, and further away than any blank is wide."""
    return np.concatenate([[False], (line[1:] == line[:-1]) & (half[1:] - half[:-1] > BETWEEN_CELLS)])[: len(line)]


def begins_cell(line: Ints, half: Ints) -> Bools:
    """Whether letters in reading order may begin a cell of a table: after wide white, or below a line with such."""
    beside = _after_white(line, half)
    new_line = np.diff(line, prepend=line[:1]) != 0
    below: Bools = new_line & np.isin(np.roll(line, 1), line[beside])
    return beside | below
