"""What the print says will be written next: the draft that the decoder checks.

The page's letters in reading order, cut into tokens, and between them what stood between such lines before. Knows
letters and tokens; where the finger is, the pointer knows.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from fastocr_cli.models.pocket.between import Between, Step
from fastocr_cli.models.pocket.cells import CHARACTERS
from fastocr_cli.models.pocket.latex import NAMES

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float32]

MOST, MOST_IN_TABLE = 8, 6
"""Tokens of a draft. In a table they stand further apart, and one fixation has to hold them all."""

PROSE = re.compile(rf"(?!{'|'.join(NAMES)})[A-Za-z]{{4}}")
"""How a word begins that no formula holds."""

BULLETS = frozenset("•◦·–—")
"""Signs for which Markdown has marks of its own: these read them."""

APART, ONWARD = 0, 1
"""Two ways to cut a word into tokens: after a blank that was written already, and with the blank before it."""


@dataclass(frozen=True)
class Print:
    """Letters in reading order."""

    characters: str
    begins_word: Bools
    """A blank or a new line comes before the letter."""
    begins_cell: Bools
    begins_row: Bools
    """Of a table."""
    is_dropped: Bools
    """Hyphens that divide a word at the end of a line: they are not written."""
    steps: Mapping[int, Step]
    """To the lines that begin with these letters."""

    @classmethod
    def of(
        cls, classes: Ints, line: Ints, half: Ints, row: Ints, begins_cell: Bools, space: Floats, divided: Bools
    ) -> "Print":
        """Of each letter its class (`cells`), the first row of its line, its half cell, its row of a table, whether a
        cell begins, the logit of a blank before it, and whether it goes on with the word of the line before."""
        down, begins_row = (np.diff(rows, prepend=-1) for rows in (line, row))
        begins_word = ((down != 0) | begins_cell | (space > 0)) & ~divided
        characters = "".join(CHARACTERS[index - 1] for index in classes)
        steps = {letter: (int(down[letter]), int(half[letter])) for letter in np.flatnonzero(down)[1:].tolist()}
        return cls(characters, begins_word, begins_cell, begins_row != 0, np.append(divided, False)[1:], steps)

    def begins_prose(self, letter: int) -> bool:
        """Whether a word of prose begins with this letter."""
        if letter >= len(self.characters) or not self.begins_word[letter]:
            return False
        return PROSE.match(self.characters, letter) is not None and not self.begins_word[letter + 1 : letter + 4].any()


class Wording:
    """Which tokens the print is made of, from any letter that begins one."""

    def __init__(self, tokenizer: Tokenizer, printed: Print, ends: frozenset[int]) -> None:
        """Of a page's print; `ends` are tokens after which a word begins without a blank."""
        self.print, self.ends = printed, ends
        self.cell_tag, self.row_tag = map(tokenizer.token_to_id, ("</td><td>", "</td></tr><tr><td>"))
        self.tokens: tuple[dict[int, list[int]], ...] = ({}, {})
        """Of each way, the tokens that begin at a letter: more than one where they are bytes of it."""
        for found, separator in zip(self.tokens, ("\n", " "), strict=True):
            self._cut(tokenizer, separator, found)

    def _cut(self, tokenizer: Tokenizer, separator: str, found: dict[int, list[int]]) -> None:
        pieces: list[str] = []
        letter_at: list[int] = []
        for letter, char in enumerate(self.print.characters):
            if not self.print.is_dropped[letter]:
                pieces.append(separator + char if self.print.begins_word[letter] else char)
                letter_at += [letter] * len(pieces[-1])
        text = "".join(pieces)
        encoding = tokenizer.encode(text, add_special_tokens=False)
        for token, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
            if text[start:stop] != "\n":
                found.setdefault(letter_at[start], []).append(token)

    def following(self, letter: int, last: int, in_table: bool, between: Between) -> list[tuple[int, int]]:
        """The tokens from this letter on, each with the letter where it stands.

        Args:
            letter: the first one.
            last: the token before.
            in_table: cells and lines begin with their tags, unless the first letter's stands already.
            between: what stands between print there, and elsewhere.
        """
        draft: list[tuple[int, int]] = []
        most = MOST_IN_TABLE if in_table else MOST
        way = APART if last in self.ends else ONWARD
        while len(draft) < most and letter < len(self.print.characters):
            has_tag = not draft and way == APART
            marks = self._tags(letter, has_tag) if in_table else between.following(self.print.steps.get(letter))
            between = between.with_print(self.print.steps.get(letter))
            if marks:
                way = APART if marks[-1] in self.ends else ONWARD
            elif draft and self.print.begins_word[letter]:
                way = ONWARD
            for mark in marks:
                if letter < len(self.print.characters):
                    draft.append((mark, letter))
                    letter += not in_table and self.print.characters[letter] in BULLETS
            tokens = self.tokens[way].get(letter)
            if tokens is None:
                break
            draft += [(token, letter) for token in tokens]
            letter = self._after(letter, way)
        return draft[:most]

    def _tags(self, letter: int, has_tag: bool) -> tuple[int, ...]:
        """The tag before a letter in a table; a foreign vocabulary may lack it."""
        tag = self.row_tag if self.print.begins_row[letter] else self.cell_tag
        begins = self.print.begins_row[letter] or self.print.begins_cell[letter]
        return (tag,) if begins and not has_tag and tag is not None else ()

    def _after(self, letter: int, way: int) -> int:
        """The letter at which the next token begins."""
        return next((i for i in range(letter + 1, letter + 64) if i in self.tokens[way]), len(self.print.characters))
