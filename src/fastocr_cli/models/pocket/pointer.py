"""A finger on the page: where pocket reads while it writes, and what it has read already.

The place head says where the next token is printed; the finger goes to the letter there, to the one after the last
token, column by column, if in doubt, and to none twice unless nothing else is near. So a line is not read again and
again.
"""

from copy import copy
from typing import Self

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from fastocr_cli.models.base import Draft, Reading
from fastocr_cli.models.pocket.between import Between
from fastocr_cli.models.pocket.formula import MAX_TOKENS, PLAIN, Formula, Marks
from fastocr_cli.models.pocket.letters import BLANK
from fastocr_cli.models.pocket.places import place_at
from fastocr_cli.models.pocket.printed import AGAIN, Printed
from fastocr_cli.models.pocket.spelling import MARKS
from fastocr_cli.models.pocket.table import Table, Tags, is_open
from fastocr_cli.models.pocket.unread import MOST_LEFT_OUT, largest_stretch, left_out
from fastocr_cli.models.pocket.wording import BULLETS, Wording

Floats = NDArray[np.float32]

ONWARD, WITHIN = 5.0, 6.0
"""Nats for the letter after the last token in the order of reading, and for one in the same word."""

SNAP = 2
"""Letters aside that the place head may be: it is one too early or too late at times."""

LEAP = 6.0
"""Nats against leaping over letters that were not read."""

LEFT_OUT = 50
"""Unread letters that cost a nat more where it leaps over them; over MOST_LEFT_OUT it never leaps."""

PATIENCE, TAG = 16, 1 / 3
"""Tokens in a row that read nothing, and how much a table tag counts: there are empty cells. From then on the next
letter that was not read must be."""

CLOSING = 4
"""Tokens that may follow where all of a page was read, to close a listing or a formula."""

MIN_LEFT, MAX_REFUSALS = 80, 8
"""Unread letters of a stretch with which a page is not at its end yet (running heads and page numbers are left out);
and how often it is told so: a photograph may look like letters."""

MIN_INSIDE = 6
"""The same where the page names its letters itself, apart from its first and its last line."""

BREAKS = 2
"""Ends of lines that begin a paragraph, for what was missing."""

LOST = -8.0
"""Nats of the best letter's place below which nothing printed is meant."""

PRINTED_MARKS = MARKS - {"-"}
"""Marks that, where they are printed, are to be written; a hyphen may be a minus sign among LaTeX, unless it has to be
read."""


class Pointer(Reading):
    """One page's letters, and which of them were written."""

    def __init__(
        self,
        page: Printed,
        wording: Wording,
        spelling: NDArray[np.int64],
        unprinted: frozenset[int],
        tags: Tags,
        marks: Marks,
    ) -> None:
        """Begin to read a page.

        Args:
            page: its letters.
            wording: the tokens that they make.
            spelling: the classes of every token's letters, (vocabulary, MAX_LETTERS).
            unprinted: tokens that may stand for nothing on the page: blanks, marks, table tags.
            tags: those of tables.
            marks: those of LaTeX.
        """
        self.page, self.wording = page, wording
        self.spelling, self.unprinted, self.tags, self.marks = spelling, unprinted, tags, marks
        self.formula: Formula | None = None  # that is open
        self.last: int | None = None  # token
        self.table = Table()
        self.read = np.zeros(len(page), bool)
        self.onward = self.refusals = self.num_read = 0
        self.breaks = self.until = 0  # lines to end, and the letter up to which print is read, before it goes on freely
        self.idle = 0.0
        self.between = Between()
        self.at = len(page)  # a letter, or behind the last one
        self.place = (-1, -1)  # row and cell

    def copy(self) -> Self:
        twin = copy(self)
        twin.read = self.read.copy()
        return twin

    def along(self, draft: Draft, row: Floats, cell: Floats) -> list["Pointer"]:
        """Go on from the last token, and from each of the draft as long as they stand where the finger goes.

        Args:
            draft: what was read beyond the last token.
            row: log probabilities of the row of what follows each of them, (1 + drafted or more, MAX_ROWS).
            cell: the same of the cells.

        Returns:
            the finger after the last token, this one, and after those of the draft.
        """
        self.look(row[0], cell[0])
        pointers = [self]
        for number, (token, place) in enumerate(zip(draft.tokens, draft.places, strict=True), start=1):
            if place_at(0, *pointers[-1].place)[1:] != place[1:]:
                break
            following = pointers[-1].copy()
            following.wrote(token)
            following.look(row[number], cell[number])
            pointers.append(following)
        return pointers

    def look(self, row: Floats, cell: Floats) -> None:
        """Go to the likeliest place of the next token, by log probabilities of rows and cells."""
        letter = self._likeliest(row, cell)
        self.at = len(self.read) if letter is None else letter
        self.place = (int(row.argmax()), int(cell.argmax())) if letter is None else self.page.place_of(letter)

    def _likeliest(self, row: Floats, cell: Floats) -> int | None:
        """The letter that is read next; None: something that is not printed, or nowhere near a letter."""
        num = len(self.read)
        if self.must_read:
            return self.onward + int(self.read[self.onward :].argmin())
        if not num:
            return None
        going_on = 0 < self.onward < num
        if self.within_word or (going_on and self.table.row_goes_on(self.page, self.onward)):
            return self.onward
        bonus = (WITHIN if self.page.spaces[self.onward] < -BLANK else ONWARD) if going_on else 0.0
        if going_on and not self.read[self.onward]:
            liking = row[self.page.row[self.onward]] + cell[self.page.cell[self.onward]] + bonus
            if liking > max(row.max() + cell.max(), LOST):
                return self.onward  # no other letter can be likelier
        passed_over = left_out(self.read, self.onward)
        cost = self._cost(passed_over)
        likely = row[self.page.row] + cell[self.page.cell] - AGAIN * self.read - cost
        if going_on:
            likely[self.onward] += bonus
        best = int(likely.argmax())
        if likely[best] + cost[best] <= LOST:
            return None
        stays, leaps = self.read[best], passed_over[best] >= MOST_LEFT_OUT
        if (stays or leaps) and going_on and not self.read[self.onward]:
            best = self.onward  # a head too sure of the last place would stay there for ever, or leave a column out
        beside = abs(best - self.onward) <= SNAP and self.page.line[best] == self.page.line[self.onward]
        return self.onward if beside and not self.read[self.onward] else self._into_table(best)

    def _into_table(self, letter: int) -> int:
        """The first letter of a table whose columns the print shows, for one in it of which nothing was read."""
        first, behind = self.page.table_of(letter)
        return letter if self.read[first:behind].any() else first

    @property
    def within_word(self) -> bool:
        """Whether the page says that a word goes on after the last token, which is none of a formula."""
        here, page = self.onward, self.page
        if not page.own or self.formula or self.last in self.unprinted or not 0 < here < len(page) or self.read[here]:
            return False
        return bool(page.spaces[here] < -BLANK and page.line[here] == page.line[here - 1])

    def _cost(self, passed_over: NDArray[np.int64]) -> Floats:
        """Nats against leaping over so many unread letters; those at the page's edge cost less."""
        inside = left_out(self.read | self.page.at_edge, self.onward) > 0
        return (passed_over / LEFT_OUT + inside * LEAP).astype(np.float32)

    def largest_unread(self, inside: bool = False) -> tuple[int, float]:
        """The largest stretch that was not read: its first letter, and how many; `inside` of the page, if asked."""
        return largest_stretch(self.read | self.page.at_edge if inside else self.read)

    def refuses_to_end(self) -> bool:
        """Whether the page must not end yet; if so, what is missing is read in a paragraph of its own."""
        first, num_unread = self.largest_unread()
        enough = num_unread >= MIN_LEFT
        if not enough and self.page.own:
            first, num_unread = self.largest_unread(inside=True)
            enough = num_unread >= MIN_INSIDE
        refused = enough and self.refusals < MAX_REFUSALS
        if refused:
            first += int(self.page.divided[first + 1])  # the hyphen is not written
            self.at, self.place, self.refusals = first, self.page.place_of(first), self.refusals + 1
            self.onward, self.until, self.breaks = (
                first,
                first + (int(num_unread) if num_unread < MIN_LEFT else 1),
                BREAKS + self.table.is_open,
            )
        return refused

    def warnings(self) -> tuple[str, ...]:
        if self.largest_unread()[1] < MIN_LEFT:
            return ()
        return (f"About {1 - self.read.mean():.0%} of the letters on the page were not written.",)

    def window(self) -> Tensor:
        """What is printed from here to the end of the word: (MAX_LETTERS, classes + 1)."""
        return self.page.window(self.at)

    @property
    def nowhere(self) -> bool:
        """Whether the finger is on no letter."""
        return self.at >= len(self.read)

    @property
    def is_back(self) -> bool:
        """Whether it is on a letter that was read already."""
        return not self.nowhere and bool(self.read[self.at])

    @property
    def char(self) -> str:
        """The letter that is printed here."""
        return self.page.char(self.at)

    @property
    def at_mark(self) -> bool:
        """Whether what is printed here is a mark itself: then marks are as good as letters."""
        return not self.nowhere and self.char in (MARKS if self.must_read else PRINTED_MARKS)

    @property
    def space(self) -> float:
        """The logit of a blank before this letter, 0 nowhere."""
        return float(self.page.spaces[self.at])

    @property
    def must_read(self) -> bool:
        """Whether the next token has to be one that is printed further on: it lost its way, or left something out."""
        lost = self.idle >= PATIENCE or self.onward < self.until
        return lost and not self.read[self.onward :].all()

    @property
    def is_through(self) -> bool:
        """Whether it lost its way where nothing is left to be read: what it writes from here on is not on the page."""
        if self.idle < CLOSING or not len(self.read) or not self.read[self.onward :].all():
            return False
        return self.idle >= PATIENCE or (self.page.own and bool((self.read | self.page.at_edge).all()))

    @property
    def in_formula(self) -> Formula | None:
        """The one that is open, if it is not so long that it must be none."""
        return self.formula if self.formula and self.formula.num_tokens < MAX_TOKENS else None

    @property
    def at_prose(self) -> bool:
        """Whether a word begins here that no formula holds."""
        return self.wording.print.begins_prose(self.at)

    def wrote(self, token: int) -> None:
        """Mark the token's letters as read where they stand on the page, one or two aside at most."""
        self.last, self.breaks = token, max(0, self.breaks - 1)
        nowhere, unprinted = self.nowhere, token in self.unprinted
        if token in self.marks.dollars and (nowhere or self.char != "$"):
            self.formula = None if self.formula else self.marks.opened_by(token)
        elif self.formula:
            self.formula = self.formula.after(self.marks.of.get(token, PLAIN))
        self.idle += TAG if token in self.tags.last else nowhere or unprinted
        if token in self.tags.last:
            self.table = self.table.after(self.tags.last[token], token in self.tags.rows)
        if nowhere:
            return
        path = self.page.path_of(self.spelling[token], self.at, self.read)
        self.between = self._between_after(token, path)
        if path is not None:
            self.onward = self.page.after(int(path[-1]))
            path = path[path < len(self.read)]
            num_new = int((~self.read[path]).sum())
            self.idle = 0 if num_new else self.idle + 1
            self.num_read += num_new
            self.read[path] = self.read[path[self.page.divided[path]] - 1] = True
            self.table = self.table.with_letters(self.page, path)
        elif self._reads_as_mark(token):
            self.read[self.at], self.onward = True, self.at + 1

    def _between_after(self, token: int, path: NDArray[np.int64] | None) -> Between:
        """What stands between print after this token, which reads these letters."""
        step = self.wording.print.steps.get(self.at if path is None else int(path[0]))
        return self.between.with_mark(token, step) if path is None else self.between.with_print(step)

    def _reads_as_mark(self, token: int) -> bool:
        """Whether a token that does not spell the letter here reads it all the same."""
        reads_bullets = token not in self.tags.last
        return not self.nowhere and (token not in self.unprinted or (reads_bullets and self.char in BULLETS))

    def draft(self, token: int) -> list[tuple[int, int]]:
        """What comes next if this token, not yet noted, is written here: tokens, and the letters where they stand."""
        path = None if self.nowhere else self.page.path_of(self.spelling[token], self.at, self.read)
        letter = self.at + self._reads_as_mark(token) if path is None else self.page.after(int(path[-1]))
        in_table = is_open(self.tags.last.get(token, self.table.tag))
        return self.wording.following(letter, token, in_table, self._between_after(token, path))
