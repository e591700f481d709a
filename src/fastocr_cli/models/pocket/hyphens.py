"""Words divided at the end of a line: where they go on. Knows letters in reading order, nothing else."""

import string

import numpy as np
from numpy.typing import NDArray

from fastocr_cli.models.pocket.cells import CLASS_OF

HYPHEN = CLASS_OF["-"]
LOWER = [CLASS_OF[char] for char in string.ascii_lowercase]
LETTERS = [CLASS_OF[char] for char in string.ascii_letters]

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
