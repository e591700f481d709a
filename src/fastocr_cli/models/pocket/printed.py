"""The letters of a page in the order of reading, and what is drawn between them.

Knows the page; what was read of it, the pointer knows.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.models.pocket.cells import CHARACTERS, IN_WORDS
from fastocr_cli.models.pocket.columns import Drawn, begins_cell, reading_order
from fastocr_cli.models.pocket.grid import grids
from fastocr_cli.models.pocket.hyphens import second_halves
from fastocr_cli.models.pocket.letters import BLANK, OWN_SPACE, Letters
from fastocr_cli.models.pocket.spelling import LEAST_LETTER, MAX_LETTERS, NOTHING, spelled
from fastocr_cli.models.pocket.wording import Bools, Ints, Print
from fastocr_cli.models.pocket.wrapped import by_cells

MARK = 3
"""Letters of a mark of a footnote, or of an exponent, at most."""

PITCHES, ENDS, BEGINS = 4, frozenset("0123456789%)*"), frozenset("0123456789$(-+")
"""How much further two figures are apart that are in two cells of a table than letters of a word; and how figures end
and begin."""

NEXT_ROWS = 6
"""Rows of cells around the first letter of a table in which there is white or a drawn line."""

AGAIN = 6.0
"""Nats against letters that were read already."""

ALIKE, ASIDE = -2.0, 0.5
"""Mean nats a letter of a token that counts as read off the page, and what each letter aside costs it."""


class Printed:
    """Letters of one page. Behind the last one there is one more, on no line and like nothing."""

    def __init__(self, letters: Letters, space: Tensor, drawn: Tensor) -> None:
        """Put letters into the order of columns.

        Args:
            letters: of one page (batch 1).
            space: the logit of a blank before each, (1, letters).
            drawn: where lines are drawn, across and down, (1, 2, rows of cells, half cells).
        """
        self.num = num = letters.num_letters
        places = letters.row, letters.line, letters.cell_row, letters.half
        row, line, cell_row, half = (place[0, :num].cpu().numpy() for place in places)
        self.drawn = Drawn(*drawn[0].cpu().numpy())
        order = reading_order(line, cell_row, half, self.drawn.across)
        classes = letters.scores[0, :num, 1:].float().cpu().numpy().argmax(-1) + 1
        cells = by_cells(line[order], half[order], classes[order], self.drawn)
        order, self.table_row, self.table_cell = order[cells.order], cells.row, cells.cell
        self.num_cells = np.zeros_like(self.table_row)  # columns of the table, where all its rows show them
        self.tables: list[tuple[int, int]] = []  # their first letter, and behind their last
        for inside, column in grids(line[order], half[order], classes[order], self.drawn.across):
            if (self.table_cell[inside] < 0).all():
                self.table_cell[inside], self.num_cells[inside] = column, column.max() + 1
                self.tables.append((inside.start, inside.stop))
        self.row, self.half = row[order], half[order]
        self.cell = self.half // 2
        self.line = np.append(line[order], -1)
        gap = np.diff(self.half)[np.diff(self.line[:num]) == 0]
        self.pitch = float(np.median(gap[gap > 0])) if (gap > 0).any() else 2.0  # half cells from letter to letter
        self.at_edge = np.isin(self.line[:num], (line[:1], line[-1:]))  # on the first and the last line of the page
        scores = F.pad(letters.scores[0, order].float().cpu(), (0, 0, 0, 1), value=LEAST_LETTER)
        self.own = bool(scores.min() < LEAST_LETTER)  # the page names its letters itself, and is trusted more for it
        self.scores = spelled(F.pad(scores, (0, 0, 0, 1), value=float(scores.min()))).numpy()
        self.likeliest = classes[order]
        self.spaces = np.append(space[0, order].float().cpu().numpy(), np.float32(0))
        halves = second_halves(self.line[:num], self.likeliest)
        self.divided = np.append(halves, False)  # the word began on the line before
        self.spaces[self.divided] = 0
        if self.own:
            self.spaces[:num][self._apart()] = OWN_SPACE
        within_word = self.spaces[:num] < -BLANK  # of large print: its letters are as far apart as cells
        wraps = self.table_cell >= 0
        self.next_cell = begins_cell(line[order], half[order]) & ~within_word & ~wraps
        self.next_cell |= (
            wraps & (np.diff(self.table_cell, prepend=-1) != 0) & (np.diff(self.table_row, prepend=-1) == 0)
        )
        self.may_be_table = self._signs_of_tables()
        self.paths = self._paths()
        self.windows = self._windows()

    def _apart(self) -> Bools:
        """Which letters begin a line after a letter or figure and are one: nothing else divides them.

        Not those of a line of MARK letters and less, which may be raised.
        """
        in_words = IN_WORDS[self.likeliest]
        line = self.line[: self.num]
        _, number, counts = np.unique(line, return_inverse=True, return_counts=True)
        in_words &= counts[number] > MARK
        begins = (np.diff(line, prepend=-1) != 0) & ~self.divided[: self.num]
        apart: Bools = begins & in_words & np.roll(in_words, 1)
        return apart

    def _paths(self) -> Ints:
        """The numbers of MAX_LETTERS letters from each on, (letters + 1, MAX_LETTERS), without hyphens that divide."""
        following = np.arange(1, self.num + 2)
        following[:-2] += self.divided[2:]
        following = following.clip(max=self.num)
        paths = [np.arange(self.num + 1)]
        for _ in range(MAX_LETTERS - 1):
            paths.append(following[paths[-1]])
        return np.stack(paths, 1)

    def _windows(self) -> Ints:
        """The rows of `scores` from each letter on to the end of its word, then the last one, which is like nothing.

        A word divided at the end of the line goes on in the next one.
        """
        before, here = self.paths[:, :-1], self.paths[:, 1:]
        ended = (self.line[here] != self.line[before]) & ~self.divided[here] | (self.spaces[here] > BLANK)
        ended = np.pad(np.cumsum(ended, 1) > 0, ((0, 0), (1, 0)))
        return np.where(ended, self.num + 1, self.paths)

    def __len__(self) -> int:
        return self.num

    def place_of(self, letter: int) -> tuple[int, int]:
        """Row and cell of a letter."""
        return int(self.row[letter]), int(self.cell[letter])

    def char(self, letter: int) -> str:
        return CHARACTERS[int(self.likeliest[letter]) - 1]

    def after(self, letter: int) -> int:
        """The number of the letter after this one in its word or line; behind the last one there is one more."""
        return int(self.paths[letter, 1])

    def path_of(self, classes: Ints, at: int, read: Bools) -> Ints | None:
        """Where a token's letters stand, one or two letters aside of `at` at most, or None; rather where none was read.

        Args:
            classes: of its letters, then NOTHING.
            at: the number of a letter.
            read: of each letter.
        """
        classes = classes[classes != NOTHING]
        if not len(classes):
            return None
        best, most = None, -np.inf
        for shift in (0, 1, -1, 2):
            start = at + shift
            if 0 <= start <= self.num - len(classes):
                path = self.paths[start, : len(classes)]
                alike = float(self.scores[path, classes].mean())
                again = read[path[path < self.num]].all()
                liking = alike - ASIDE * abs(shift) - AGAIN * bool(again)
                if alike > ALIKE and liking > most:
                    best, most = path, liking
                if most >= -ASIDE:
                    break  # those further aside are liked less at their best
        return best

    def window(self, letter: int) -> Tensor:
        """What is printed from here to the end of the word: (MAX_LETTERS, classes + 1), as `letters.windows`."""
        return torch.from_numpy(self.scores[self.windows[letter]])

    def row_goes_on(self, letter: int) -> bool:
        """Whether a letter and the one before it are in one row of a table whose cells wrap."""
        if not 0 < letter < self.num or self.table_cell[letter] < 0:
            return False
        return bool(self.table_row[letter] == self.table_row[letter - 1])

    def are_parted(self, before: int, here: int) -> bool:
        """Whether two letters are in two cells: of two such rows, of two figures, or a line is drawn between them."""
        is_wide = here == before + 1 and self.half[here] - self.half[before] > PITCHES * self.pitch
        if is_wide and self.line[here] == self.line[before] and self.char(before) in ENDS and self.char(here) in BEGINS:
            return True
        if self.table_row[before] != self.table_row[here] and max(self.table_cell[[before, here]]) >= 0:
            return True
        return self.drawn.between(*((int(self.line[i]), int(self.half[i])) for i in (before, here)))

    def _signs_of_tables(self) -> Bools:
        """Of each letter and behind the last, whether there is white in a line near it, or a line drawn."""
        num = self.num
        has_white = np.zeros(len(self.drawn.across) + NEXT_ROWS, bool)
        gap, same_line = np.diff(self.half), np.diff(self.line[:num]) == 0
        has_white[self.line[1:num][same_line & (gap > PITCHES * self.pitch)]] = True
        has_white[: len(self.drawn.across)] |= self.drawn.across.any(1) | self.drawn.down.any(1)
        near = np.convolve(has_white, np.ones(2 * NEXT_ROWS + 1), "same") > 0
        return np.append(near[self.line[:num]], True)

    def begins_table(self, letter: int) -> bool:
        """Whether it is the first letter of a table whose columns all rows show."""
        return any(letter == first for first, _ in self.tables)

    def table_of(self, letter: int) -> tuple[int, int]:
        """First letter, and behind the last one, of the table of such columns that a letter is in; else itself."""
        inside = (table for table in self.tables if table[0] <= letter < table[1])
        return next(inside, (letter, letter + 1))

    def is_first_cell(self, letter: int) -> bool:
        """Whether it is in the leftmost cell of a row of a ruled table."""
        return letter < self.num and self.drawn.is_first_cell(int(self.line[letter]), int(self.half[letter]))

    @property
    def print(self) -> Print:
        """What is written if nothing but the letters is."""
        num = self.num
        places = self.line[:num], self.half, self.table_row
        return Print.of(self.likeliest, *places, self.next_cell, self.spaces[:num], self.divided[:num])
