"""A finger on the page: where pocket reads while it writes, and what it has read already.

The place head says where the next token is printed; the finger goes to the letter there, to the one after the last
token if in doubt, and to none twice unless nothing else is near. So a line is not read again and again.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fastocr_cli.models.base import Reading
from fastocr_cli.models.pocket.letters import LEAST_LETTER, MAX_LETTERS, NOTHING, Letters

ONWARD, AGAIN = 1.5, 6.0
"""Nats for the letter after the last token, and against letters that were read."""

PATIENCE = 16
"""Blanks and marks in a row, table tags apart, while a letter waits to be read: from there on it must be."""

LOST = -8.0
"""Nats of the best letter's place below which nothing printed is meant."""

ALIKE = -1.5
"""Mean nats a letter of a token that counts as read off the page."""


class Pointer(Reading):
    """One page's letters, and which of them were written."""

    def __init__(self, letters: Letters, spelling: NDArray[np.int64], tags: frozenset[int]) -> None:
        """Letters of one page (batch 1), the classes of every token's letters (vocabulary, MAX_LETTERS), table tags."""
        self.spelling, self.tags = spelling, tags
        num = int((letters.row[0] >= 0).sum())
        self.row = np.full(num + MAX_LETTERS, -1)
        self.row[:num] = letters.row[0, :num].cpu().numpy()
        self.cell = letters.half[0, :num].cpu().numpy() // 2
        self.scores = np.full((num + MAX_LETTERS, NOTHING + 1), LEAST_LETTER, np.float32)
        self.scores[:num, :NOTHING] = letters.scores[0, :num].float().cpu().numpy()
        self.scores[:, NOTHING] = 0
        self.read = np.zeros(num, bool)
        self.onward = self.idle = 0
        self.at = num  # a letter, or behind the last one

    def look(self, row: NDArray[np.float32], cell: NDArray[np.float32]) -> tuple[int, int]:
        """Go to the likeliest place of the next token, by log probabilities of rows and cells; gives row and cell."""
        num = len(self.read)
        self.at = num
        if num:
            likely = row[self.row[:num]] + cell[self.cell] - AGAIN * self.read
            if self.onward < num:
                likely[self.onward] += ONWARD
            best = int(likely.argmax())
            if likely[best] > LOST:
                self.at = best
                return int(self.row[best]), int(self.cell[best])
        return int(row.argmax()), int(cell.argmax())

    def window(self) -> Tensor:
        """What is printed from here to the end of the line: (MAX_LETTERS, classes + 1), as `letters.windows`."""
        here = slice(self.at, self.at + MAX_LETTERS)
        window = self.scores[here].copy()
        window[self.row[here] != self.row[self.at], :NOTHING] = LEAST_LETTER
        return torch.from_numpy(window)

    @property
    def must_read(self) -> bool:
        """Whether the next token has to be printed."""
        return self.idle >= PATIENCE and self.at < len(self.read)

    def wrote(self, token: int) -> None:
        """Mark the token's letters as read where they stand on the page, one or two aside at most."""
        spelled = self.spelling[token]
        spelled = spelled[spelled != NOTHING]
        self.idle = 0 if len(spelled) or token in self.tags else self.idle + 1
        if not len(spelled) or self.at >= len(self.read):
            return
        starts = [start for shift in (0, 1, -1, 2) if 0 <= (start := self.at + shift) <= len(self.read) - len(spelled)]
        alike = [self.scores[np.arange(start, start + len(spelled)), spelled].mean() for start in starts]
        if alike and max(alike) > ALIKE:
            start = starts[int(np.argmax(alike))]
            self.onward = start + len(spelled)
            self.read[start : self.onward] = True
        else:
            self.read[self.at] = True
            self.onward = len(self.read)
