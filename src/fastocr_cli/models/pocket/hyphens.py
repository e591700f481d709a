"""Words divided at the end of a line: the hyphens there, and where the words go on. Knows letters, no tokens."""

import string

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fastocr_cli.models.pocket.cells import CLASS_OF
from fastocr_cli.models.pocket.letters import letters_of

HYPHEN = CLASS_OF["-"]
LOWER = [CLASS_OF[char] for char in string.ascii_lowercase]
LETTERS = [CLASS_OF[char] for char in string.ascii_letters]

FAINT, AHEAD = 0.03, 5
"""Probability of a hyphen within so many half cells after the last letter of a line from which on there is one. The
trunk was taught that one which only divides a word is none; where there is none, it says 0.001 at most."""

Ints = NDArray[np.int64]


def second_halves(line: Ints, classes: Ints) -> NDArray[np.bool_]:
    """Whether each letter begins the second half of a word: lower case, after a hyphen at the end of a line of letters.

    Whether the hyphen is the word's own (half-/time) the print does not tell.
    """
    found = np.zeros(len(line), bool)
    if len(line) > 2:
        divided = (classes[1:-1] == HYPHEN) & np.isin(classes[:-2], LETTERS) & (line[:-2] == line[1:-1])
        found[2:] = divided & np.isin(classes[2:], LOWER) & (line[2:] != line[1:-1])
    return found


def strengthen_hyphens(classes: Tensor, cells_in_a_token: int) -> None:
    """Make hyphens at the end of a line sure, in probabilities (1, height / 8, width / 8, 2, classes).

    A line ends where no letter follows within AHEAD half cells and one more.
    """
    letters = letters_of(classes, cells_in_a_token)
    last = (letters.gap() > AHEAD + 1)[0].roll(-1) | letters.begins_line()[0].roll(-1)
    which = letters.scores[0].argmax(-1)
    last &= (letters.row[0] >= 0) & torch.isin(which, torch.tensor(LETTERS, device=which.device))
    row, half = letters.cell_row[0, last], letters.half[0, last]
    likely = F.pad(classes[0, ..., HYPHEN].flatten(1), (0, AHEAD, 1, 1))
    ahead = torch.arange(1, AHEAD + 1, device=row.device)
    beside = torch.arange(3, device=row.device)
    seen = likely[(row[:, None] + beside)[:, :, None], (half[:, None] + ahead)[:, None]]  # (ends, rows, half cells)
    found = seen.sum((1, 2)) >= FAINT
    best = seen[found].flatten(1).argmax(-1)
    rows = (row[found] + best // AHEAD - 1).clamp(0, classes.shape[1] - 1)
    halves = (half[found] + best % AHEAD + 1).clamp(max=2 * classes.shape[2] - 1)
    classes.flatten(2, 3)[0, rows, halves] = F.one_hot(torch.tensor(HYPHEN), classes.shape[-1]).to(classes)
