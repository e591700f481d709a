"""The page's own characters as pocket takes them: one class per half of each 8 x 8 pixel cell.

Knows where a character lies; does not know where it came from.
"""

import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from fastocr_cli.pages import Character

CELL = 8
"""Pixels of a cell's side: the stride of the encoder's trunk."""

HALF = CELL // 2
"""Pixels of a half cell's width."""

LARGE = 30
"""Pixels of the em, 18 pt: the trunk was taught print of 9 to 14 pt."""

ABOVE, BELOW = 0.65, 0.55
"""Em above and below a letter's middle that a letter may reach."""

ASCII = "".join(map(chr, range(33, 127)))
LATIN = "àáâãäåæçèêëìíîïñòóôõöøùúûýÿœßÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝŒŠšŽžŁłČčĆćŃńŚśĘęĄąĞğİıŞşŘřĚěŮůŐőŰű"
GREEK = "αβγδεζηθικλμνξοπρςστυφχψωΓΔΘΛΞΠΣΦΨΩ"
SIGNS = "§©®£€¥¡¿«»¶†‡™·²³′√∑∫∏∞≤≥≠≈∼≡∈∉→←↔⇒∂∇∪∩⊂⊆∀∃∅⟨⟩◦"
CHARACTERS = tuple(ASCII + "‘’“”–—…•é°×±ü" + LATIN + GREEK + SIGNS)
"""Class i + 1 is the i-th of these; class 0 is none, and every character that is not here."""

ALIKE = dict(zip("−‐‑\xad∗⋅∙∣ϵ", "----*·•|ε", strict=True))
"""Signs that are read as others. A soft hyphen (U+00AD) on the page is a hyphen."""

CLASS_OF = {char: index + 1 for index, char in enumerate(CHARACTERS)}
NUM_CLASSES = len(CHARACTERS) + 1
IN_WORDS = np.array([False, *(char.isalnum() for char in CHARACTERS)])
"""Of each class, whether it is a letter or a figure."""


@cache
def class_of(char: str) -> int:
    """The class of a character, a letter of a formula (U+1D400 and on) being the letter that it is."""
    return CLASS_OF.get(ALIKE.get(char, char)) or CLASS_OF.get(unicodedata.normalize("NFKC", char), 0)


def cell_grid(characters: Iterable[tuple[Any, ...]], height: int, width: int) -> np.ndarray:
    """Lay characters on the grid.

    Args:
        characters: (char, x, y, ...) with the centre in pixels.
        height, width: of the picture, in pixels; multiples of 8.

    Returns:
        int64 (2, height / 8, width / 8): the class whose centre lies in the left and in the right half of a cell.
    """
    return lay(((class_of(char), x, y) for char, x, y, *_ in characters), height, width)


def lay(labels: Iterable[tuple[int, float, float]], height: int, width: int) -> np.ndarray:
    """Labels other than 0, with centres in pixels, as `cell_grid` lays the classes of characters."""
    grid = np.zeros((2, height // CELL, width // CELL), np.int64)
    for label, x, y in labels:
        column, row = int(x // HALF), int(y // CELL)
        if 0 <= row < grid.shape[1]:
            _lay(grid[:, row], column, label)
    return grid


def blank_grid(characters: Iterable[Character], height: int, width: int) -> np.ndarray:
    """Where a page says itself whether a blank is printed before a letter.

    Returns:
        int8 (height / 8, width / 4): for the letter in each half cell 1 after a blank, -1 after a letter,
        0 for unknown.
    """
    said = {None: 3, True: 1, False: 2}  # laid as the letters are, each in the half cell that is its own
    labels = ((class_of(char) and said[blank], x, y) for char, x, y, blank, _ in characters)
    laid = lay(labels, height, width).transpose(1, 2, 0).reshape(height // CELL, width // HALF)
    grid: np.ndarray = np.array([0, 1, -1, 0], np.int8)[laid]
    return grid


def large_print(characters: Iterable[Character], height: int, width: int) -> np.ndarray:
    """Where letters stand in which the trunk, since they are so large, sees strokes: bool (height / 8, width / 8)."""
    found = np.zeros((height // CELL, width // CELL), bool)
    for _, x, y, _, size in characters:
        if size > LARGE:
            left, top, right, bottom = x - size / 2, y - size * ABOVE, x + size / 2, y + size * BELOW
            rows, columns = (
                slice(max(0, int(a // CELL)), int(b // CELL) + 1) for a, b in ((top, bottom), (left, right))
            )
            found[rows, columns] = True
    return found


def _lay(line: np.ndarray, column: int, label: int) -> None:
    """Narrow letters may share a half cell: the later one moves on by up to two, so that none is lost."""
    for place in range(column, column + 3):
        half, cell = place % 2, place // 2
        if 0 <= cell < line.shape[1] and not line[half, cell]:
            line[half, cell] = label
            return
