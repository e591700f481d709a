"""The letters of a page in the order of reading, and what is drawn between them.

Knows the page; what was read of it, the pointer knows.
"""

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fastocr_cli.models.pocket.cells import CHARACTERS
from fastocr_cli.models.pocket.columns import Drawn, begins_cell, reading_order
from fastocr_cli.models.pocket.hyphens import second_halves
from fastocr_cli.models.pocket.letters import BLANK, Letters
from fastocr_cli.models.pocket.spelling import LEAST_LETTER, MAX_LETTERS, NOTHING, spelled
from fastocr_cli.models.pocket.wording import Print


class Printed:
    """Letters of one page. Behind the last one there are MAX_LETTERS more, on no line and like nothing."""

    def __init__(self, letters: Letters, space: Tensor, drawn: Tensor) -> None:
        """Put letters into the order of columns.

        Args:
            letters: of one page (batch 1).
            space: the logit of a blank before each, (1, letters).
            drawn: where lines are drawn, across and down, (1, 2, rows of cells, half cells).
        """
        self.num = num = letters.num_letters
        row, line, half = (t[0, :num].cpu().numpy() for t in (letters.row, letters.line, letters.half))
        self.drawn = Drawn(*drawn[0].cpu().numpy())
        order = reading_order(line, half, self.drawn.across)
        self.row, self.half = row[order], half[order]
        self.cell = self.half // 2
        self.next_cell = begins_cell(line[order], half[order])
        self.line = np.pad(line[order], (0, MAX_LETTERS), constant_values=-1)
        scores = F.pad(letters.scores[0, order].float().cpu(), (0, 0, 0, MAX_LETTERS), value=LEAST_LETTER)
        self.scores = spelled(scores).numpy()
        self.least = self.scores.min()
        self.own = bool(self.least < LEAST_LETTER)  # the page names its letters itself, and is trusted more for it
        self.spaces = np.pad(space[0, order].float().cpu().numpy(), (0, MAX_LETTERS))
        halves = second_halves(self.line[:num], self.scores[:num, :NOTHING].argmax(-1))
        self.divided = np.pad(halves, (0, MAX_LETTERS))  # the word began on the line before
        self.spaces[self.divided] = 0

    def __len__(self) -> int:
        return self.num

    def place_of(self, letter: int) -> tuple[int, int]:
        """Row and cell of a letter."""
        return int(self.row[letter]), int(self.cell[letter])

    def char(self, letter: int) -> str:
        return CHARACTERS[int(self.scores[letter, 1:NOTHING].argmax())]

    def after(self, letter: int) -> int:
        """The number of the letter after this one in its word or line; behind the last one there is one more."""
        following = letter + 2 if self.divided[min(letter + 2, len(self.divided) - 1)] else letter + 1
        return min(following, self.num)

    def path(self, start: int, num_letters: int) -> NDArray[np.int64]:
        """The numbers of so many letters from `start` on, without hyphens that divide a word."""
        path = [start]
        while len(path) < num_letters:
            path.append(self.after(path[-1]))
        return np.array(path)

    def window(self, letter: int) -> Tensor:
        """What is printed from here to the end of the word: (MAX_LETTERS, classes + 1), as `letters.windows`.

        A word divided at the end of the line goes on in the next one.
        """
        path = self.path(letter, MAX_LETTERS)
        window = self.scores[path]
        ended = (self.line[path[1:]] != self.line[path[:-1]]) & ~self.divided[path[1:]]
        ended = np.cumsum(ended | (self.spaces[path[1:]] > BLANK)) > 0
        window[1:][ended], window[1:][ended, NOTHING] = self.least, 0
        return torch.from_numpy(window)

    def is_line_between(self, before: int, here: int) -> bool:
        """Whether a line is drawn between two letters."""
        return self.drawn.between(*((int(self.line[i]), int(self.half[i])) for i in (before, here)))

    def is_first_cell(self, letter: int) -> bool:
        """Whether it is in the leftmost cell of a row of a ruled table."""
        return self.drawn.is_first_cell(int(self.line[letter]), int(self.half[letter]))

    @property
    def print(self) -> Print:
        """What is written if nothing but the letters is."""
        letters = slice(self.num)
        classes = self.scores[letters, 1:NOTHING].argmax(-1)
        return Print.of(classes + 1, self.line[letters], self.next_cell, self.spaces[letters], self.divided[letters])
