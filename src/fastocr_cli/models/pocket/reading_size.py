"""Slides, posters and wide pages are read from further away: in the size of print, and of page, that pocket was taught.

Knows a page, the characters it names itself and the letters that were seen on it.
"""

from dataclasses import replace

import numpy as np
from PIL.Image import Resampling

from fastocr_cli.models.pocket.cells import LARGE
from fastocr_cli.models.pocket.letters import WIDE, Letters
from fastocr_cli.pages import PageImage
from fastocr_cli.pages.ink import ink_map

BODY, PITCH = 19.0, 2.3
"""To what large print is brought: pixels of the em (11.4 pt), half cells from letter to letter."""

LARGE_PITCH, MOST, FEW = 4, 0.6, 10
"""Half cells from letter to letter, on average, from which on a line is large print; the share of the letters in such
lines from which on the page may be: strokes of large letters look like small ones; and gaps that say nothing of
a page."""

AS_MANY = 0.9
"""Share of the letters seen before that are to be seen on the smaller page: some of them were strokes of large ones."""

WIDEST = 1032
"""Pixels of the widest page that pocket was taught, of letter size: beyond, it knows no places. Long ones it reads."""

AROUND = 24
"""Pixels of white that are left beside the print of a wider page."""


def not_too_wide(page: PageImage) -> PageImage:
    """The page without the white beside its print, and smaller, as far as it is too wide."""
    if page.image.width <= WIDEST:
        return page
    columns = np.flatnonzero(ink_map(page.image).any(0))
    left, right = (columns[0] - AROUND, columns[-1] + AROUND) if len(columns) else (0, WIDEST)
    cut = between(page, max(0, int(left)), min(page.image.width, int(right)))
    return smaller(cut, WIDEST / cut.image.width) if cut.image.width > WIDEST else cut


def between(page: PageImage, left: int, right: int) -> PageImage:
    """The part of a page between two columns of pixels."""
    characters = page.characters and tuple(
        character._replace(x=character.x - left) for character in page.characters if left <= character.x < right
    )
    return replace(page, image=page.image.crop((left, 0, right, page.image.height)), characters=characters)


def named_too_large(page: PageImage) -> PageImage | None:
    """The page smaller, if most of the characters that it names itself are in large print."""
    sizes = [character.size for character in page.characters or () if character.char.isalnum()]
    em = float(np.median(sizes)) if sizes else 0.0
    return smaller(page, BODY / em) if em > LARGE else None


def seen_too_large(page: PageImage, letters: Letters) -> PageImage | None:
    """The page smaller, if the letters (batch 1) that were seen on its picture are in large print, but for a few."""
    gap, num = letters.gap()[0, : letters.num_letters], letters.num_letters
    within = (gap > 0) & (gap < WIDE)
    if page.characters is not None or within.sum() < FEW:
        return None
    line = letters.line[0, :num].unique(return_inverse=True)[1][within]
    is_large = (line.bincount(gap[within]) / line.bincount() >= LARGE_PITCH)[line].float().mean() >= MOST
    return smaller(page, PITCH / float(gap[within].mean())) if is_large else None


def are_seen_better(letters: Letters, before: Letters) -> bool:
    """Whether these are about as many and as sure: a table of single figures, too, has its letters far apart."""
    sure, sure_before = (seen.scores.max(-1).values.exp().sum() for seen in (letters, before))
    return bool(sure >= AS_MANY * sure_before)


def smaller(page: PageImage, factor: float) -> PageImage:
    """The picture and the characters of a page, so many times as large."""
    width, height = (max(1, round(side * factor)) for side in page.image.size)
    across, down = width / page.image.width, height / page.image.height
    characters = page.characters and tuple(
        character._replace(x=character.x * across, y=character.y * down, size=character.size * down)
        for character in page.characters
    )
    return replace(page, image=page.image.resize((width, height), Resampling.BOX), characters=characters)
