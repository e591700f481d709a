"""A look from afar at large print: the trunk was taught letters of 9 to 14 points, and sees strokes in those above 18.

Knows what the trunk sees of a page and of the same page half as large; nothing of words. Used in reading only.
"""

from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from fastocr_cli.models.pocket.cells import CELL, HALF, IN_WORDS
from fastocr_cli.models.pocket.closer import NEAR, laid_back, padded
from fastocr_cli.models.pocket.letters import Letters, letters_of

Ints = NDArray[np.int64]

AFAR = 2
"""How many times smaller the page is."""

SURE, WORDS = 0.8, 0.6
"""Mean probability of the letters of a line of large print, as seen from afar, and the share of letters and figures in
it: small print stays below 0.7, or looks like dashes."""

LARGE, LARGER = 1.9, 2.05
"""Half cells from letter to letter on average, seen from afar: where the nearer look may be surer, and where it is not
asked any more."""

APART = 14
"""Half cells of white, seen from afar, between two lines of large print that lie beside each other."""

REACH = 1.25
"""How far a line reaches above and below its middle, in mean distances from letter to letter: about 0.6 em."""


def from_afar(pixels: Tensor, multiple: tuple[int, int]) -> Tensor:
    """Pages (batch, 1, height, width) half as large, padded with white to multiples of (rows, columns)."""
    return padded(F.avg_pool2d(pixels, AFAR), multiple)


def with_large_print(classes: Tensor, afar: Tensor, cells_in_a_token: int) -> Tensor:
    """The classes of a page, with lines of large print as they are seen from afar.

    Args:
        classes: (1, height / 8, width / 8, 2, classes).
        afar: the same of the page half as large, padded.
    """
    near, far = letters_of(classes, cells_in_a_token), letters_of(afar, cells_in_a_token)
    sure, near_sure, middle, in_words = _sure(afar, far), _sure(classes, near), _middle(afar, far), _in_words(far)
    large, cleared = [], torch.zeros(classes.shape[1], 2 * classes.shape[2], dtype=torch.bool)
    for line in _lines(far):
        pitch = _pitch(far, line)
        if pitch < LARGE or sure[line].mean() < SURE or in_words[line].mean() < WORDS:
            continue
        middle[line] = middle[line].mean()
        top, bottom, left, right = box = _box(far, line, float(middle[line[0]]), pitch)
        if pitch >= LARGER or np.square(sure[line]).sum() > np.square(near_sure[_inside(near, box)]).sum():
            large.append(line)
            cleared[top:bottom, left:right] = True
    if not large:
        return classes
    height, width = classes.shape[1] * CELL, classes.shape[2] * CELL
    taken = torch.from_numpy(np.concatenate(large))
    letters = replace(far.only(taken), cell_row=torch.from_numpy(middle)[None, taken] - 0.5)
    laid = laid_back(letters, 1 / AFAR, height, width).to(classes)
    nothing = F.one_hot(torch.zeros(1, dtype=torch.long, device=classes.device), classes.shape[-1]).to(classes)
    rest = torch.where(cleared.unflatten(1, (-1, 2))[None, ..., None].to(classes.device), nothing, classes)
    return torch.where(laid[..., :1] < 0.5, laid, rest)


def _sure(classes: Tensor, letters: Letters) -> NDArray[np.float32]:
    """The probability of each letter, (letters,), where it was seen: in its row of cells or in one beside it."""
    likeliest = classes[0, ..., 1:].amax(-1).flatten(1)
    likeliest = F.max_pool2d(likeliest[None, None].float(), (3, 1), 1, (1, 0))[0, 0]
    return likeliest[letters.cell_row[0, : letters.num_letters], letters.half[0, : letters.num_letters]].cpu().numpy()


def _in_words(letters: Letters) -> NDArray[np.bool_]:
    """Which letters are letters or figures, (letters,)."""
    found: NDArray[np.bool_] = IN_WORDS[letters.scores[0].argmax(-1).cpu().numpy()]
    return found


def _middle(classes: Tensor, letters: Letters) -> NDArray[np.float32]:
    """The middle of each letter in rows of cells and their fractions, (letters,): it may be seen in two of them."""
    row, half = (values[0, : letters.num_letters] for values in (letters.cell_row, letters.half))
    something = F.pad(1 - classes[0, ..., 0].float().flatten(1), (0, 0, 1, 1))
    beside = torch.stack([something[row + number, half] for number in range(3)])
    aside = (beside[2] - beside[0]) / beside.sum(0).clamp(min=1e-6)
    return (row + 0.5 + aside).cpu().numpy()


def _lines(letters: Letters) -> list[Ints]:
    """The numbers of letters that stand in one line without much white between them, three and more."""
    num = letters.num_letters
    line, half = (values[0, :num].cpu().numpy() for values in (letters.line, letters.half))
    cuts = np.flatnonzero((np.diff(line) != 0) | (np.diff(half) > APART)) + 1
    return [found for found in np.split(np.arange(num), cuts) if len(found) > 2]


def _pitch(letters: Letters, line: Ints) -> float:
    """Half cells from letter to letter within words, on average; 0 where there are no words."""
    gap = np.diff(letters.half[0].cpu().numpy()[line])
    gap = gap[(gap > 0) & (gap < NEAR)]
    return float(gap.mean()) if len(gap) else 0.0


def _box(letters: Letters, line: Ints, middle: float, pitch: float) -> tuple[int, int, int, int]:
    """Where a line lies on the page: first and behind the last row of cells, first and behind the last half cell."""
    half, reach = letters.half[0].cpu().numpy()[line], REACH * pitch * HALF / CELL
    top, bottom = round(AFAR * (middle - reach)), round(AFAR * (middle + reach))
    return max(0, top), max(0, bottom), max(0, AFAR * int(half[0]) - 2), AFAR * int(half[-1]) + 4


def _inside(letters: Letters, box: tuple[int, int, int, int]) -> Ints:
    """The numbers of letters that lie in a box."""
    top, bottom, left, right = box
    row, half = letters.cell_row[0], letters.half[0]
    inside = (letters.row[0] >= 0) & (row >= top) & (row < bottom) & (half >= left) & (half < right)
    return inside.nonzero()[:, 0].cpu().numpy()
