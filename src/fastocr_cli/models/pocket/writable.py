"""Which tokens can be written where the finger is: tables and formulas are well-formed, words whole, nothing left out.

Knows the vocabulary and what the finger tells; nothing of the network.
"""

from collections.abc import Iterable

import torch
from tokenizers import Tokenizer
from torch import Tensor

from fastocr_cli.models.pocket.cells import CLASS_OF
from fastocr_cli.models.pocket.formula import Marks
from fastocr_cli.models.pocket.pointer import Pointer
from fastocr_cli.models.pocket.spelling import MARKS, NOTHING, Spelling
from fastocr_cli.models.pocket.table import NONE, TEXT_AFTER, Tags, is_open


class Writable:
    """The vocabulary, by what a token may do."""

    def __init__(self, tokenizer: Tokenizer, spelling: Spelling, stop_token_ids: frozenset[int]) -> None:
        vocabulary, self.vocab_size = tokenizer.get_vocab(), len(spelling.signs)
        self.stop_token_ids, self.stop = stop_token_ids, min(stop_token_ids)
        self.tags, self.marks = Tags(vocabulary, self.vocab_size), Marks(tokenizer, self.vocab_size)
        (self.blank,), (self.line_end,) = (tokenizer.encode(text).ids for text in " \n")
        self.table_end = vocabulary.get("</td></tr></table>", self.line_end)  # a foreign vocabulary may lack it
        line_ends = {i for i in vocabulary.values() if "\n" in tokenizer.decode([i])}
        self.line_ends = stop_token_ids | line_ends | self.tags.last.keys()
        self.formula_ends = self.line_ends | self.marks.dollars.keys()
        self.ends = frozenset(spelling.ends.nonzero()[:, 0].tolist())
        foreign = {i for token, i in vocabulary.items() if token.startswith("<|")} - stop_token_ids
        self.stops, self.ends_line = self._mask(stop_token_ids), self._mask(self.line_ends)
        self.rows = self._mask(self.tags.rows)
        self.openings = self.tags.tokens & ~self.tags.unfit[NONE]
        self.table_begins = self.openings | self._mask([self.line_end])
        self.no_line_end, self.no_blank = ~self._mask([self.line_end]), ~self._mask([self.blank])
        blocks = {i for token, i in vocabulary.items() if "```" in token} | line_ends
        self.unfit_after = {
            tag: unfit | self._mask(foreign | blocks if is_open(tag) else foreign)
            for tag, unfit in self.tags.unfit.items()
        }
        """After each tag, tokens that cannot follow it, or are marks of a conversation. A cell is one line."""
        self.unprinted = spelling.compared[:, 0] == NOTHING
        """Tokens that print nothing; `never_printed` are those of them that do not either where marks stand for
        themselves."""
        self.never_printed = spelling.letters[:, 0] == NOTHING
        for tokens in (self.unprinted, self.never_printed):
            tokens[list(stop_token_ids)] = False
        after_blank = {*spelling.letters[spelling.signs > 0, 0].tolist(), *(CLASS_OF[mark] for mark in MARKS)}
        self.set_apart = frozenset(char for char, index in CLASS_OF.items() if index not in after_blank)
        """Letters that no token begins with after a blank: the blank is a token of its own."""

    def _mask(self, tokens: Iterable[int]) -> Tensor:
        mask = torch.zeros(self.vocab_size, dtype=torch.bool)
        mask[list(tokens)] = True
        return mask

    def is_set_apart(self, pointer: Pointer) -> bool:
        """Whether what the page says is printed here comes after a blank of its own, if after one."""
        return pointer.page.own and not pointer.nowhere and pointer.space >= 0 and pointer.char in self.set_apart

    def unfit(self, pointer: Pointer) -> Tensor:
        """Tokens (vocabulary,), bool, that cannot be written where the finger is."""
        unfit = self.unfit_after[pointer.table.tag]
        here = self._unfit_here(pointer) if pointer.table.tag in TEXT_AFTER else None
        return unfit if here is None else unfit | here

    def _unfit_here(self, pointer: Pointer) -> Tensor | None:
        """Those that are unfit for what is printed there; None where all may be written."""
        if pointer.must_read or (pointer.last == self.blank and self.is_set_apart(pointer)):
            return self._printed_next(pointer)
        if pointer.within_word and pointer.at == pointer.onward:
            return self.ends_line
        if pointer.table.is_open:
            unfit = self._unfit_in_table(pointer)
        else:
            begins = pointer.formula is None and pointer.page.begins_table(pointer.at)
            unfit = ~self.table_begins if begins else None
            if not begins and not pointer.page.may_be_table[pointer.at]:
                in_formula = self._unfit_as_formula(pointer)
                return self.openings if in_formula is None else in_formula | self.openings
        return self._unfit_as_formula(pointer) if unfit is None else unfit

    def _unfit_in_table(self, pointer: Pointer) -> Tensor | None:
        table, page, at = pointer.table, pointer.page, pointer.at
        if not pointer.is_back:
            if (num_due := table.num_cells_due(page, at)) is not None:
                return self._unfit_in_columns(pointer, num_due)
            if table.row_goes_on(page, at):
                return ~self.tags.next_cell if table.is_cell_to_begin(page, at) else self.tags.tokens | self.stops
        if table.leaves_cell(page, at):
            return ~self._tags_after_row(pointer) if table.is_row_full(page) else ~self.tags.tokens
        if pointer.last in self.tags.rows and page.is_first_cell(at):
            return self.tags.tokens  # it is not empty
        return None

    def _unfit_in_columns(self, pointer: Pointer, num_due: int) -> Tensor:
        """Where the print shows a table's columns, empty cells are written as such."""
        if num_due > 0:
            return ~self.tags.next_cell
        has_ended = pointer.table.has_ended(pointer.page, pointer.at)
        return ~self._tags_after_row(pointer) if has_ended else self.tags.tokens | self.stops

    def _tags_after_row(self, pointer: Pointer) -> Tensor:
        """Where a row is full there is no further cell; the table goes on if the print shows the next row's cells."""
        if not pointer.nowhere and pointer.page.table_cell[pointer.at] >= 0:
            return self.rows
        return self.tags.tokens & ~self.tags.next_cell

    def _unfit_as_formula(self, pointer: Pointer) -> Tensor | None:
        if formula := pointer.in_formula:
            return self.marks.unfit(formula)
        if pointer.last in self.marks.dollars or (pointer.nowhere and pointer.page.own) or pointer.at_prose:
            return self.marks.opening  # not where another formula ends, nor beside all print, nor at a word of prose
        return None

    def _printed_next(self, pointer: Pointer) -> Tensor:
        """What is unfit where print has to be read: after ends of lines, if it is read late, and maybe a blank."""
        if pointer.breaks:
            return self.no_line_end
        unfit = self.never_printed if pointer.at_mark else self.unprinted
        may_be_blank = pointer.space > 0 and pointer.last not in self.ends
        return unfit & self.no_blank if may_be_blank else unfit

    def instead(self, pointer: Pointer, token: int) -> int:
        """What is written in the place of the likeliest token: what is to be closed first, or no end yet."""
        if pointer.is_through:
            token = self.stop
        if token in self.stop_token_ids and pointer.refuses_to_end():
            token = self.table_end if pointer.table.is_open else self.line_end
        formula = pointer.in_formula
        ends = formula and (token in self.formula_ends or pointer.at_prose)  # before its line does
        return self.marks.ending(formula, token) if formula and ends else token
