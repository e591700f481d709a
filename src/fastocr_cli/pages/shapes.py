"""Does a font draw the letters that its Unicode map names? Judged by how tall and how deep its glyphs are.

A map that is missing is easy to see; one that is wrong is not, since the page looks right and only copied text is
nonsense. Letters of a true font are tall or short, hanging or not, as their names say. Knows arrays, no PDF.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from fastocr_cli.pages.glyphs import Glyph

_SHORT = frozenset("acegmnopqrsuvwxyz")
_TALL = frozenset("bdfhklABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HANGING = frozenset("gpqy")
_MIN_LETTERS = 8  # different letters of a font, and at least two of each sort, before it is judged
_MIN_AGREEMENT = 0.4
_UPRIGHT = 0.99
_FAINT = 40  # of 255: the hair strokes of small print are paler than this
_MAX_SAMPLES = 6  # of one letter


def lying_fonts(glyphs: Iterable[Glyph], ink: NDArray[np.uint8]) -> set[str]:
    """Fonts whose glyphs do not look like the letters they are mapped to.

    `ink` is (height, width), 255 where the page's text alone has ink. Fonts with few letters are not judged.
    """
    samples: dict[str, dict[str, list[tuple[float, float]]]] = defaultdict(lambda: defaultdict(list))
    for glyph in glyphs:
        if glyph.direction[0] > _UPRIGHT and (glyph.char in _SHORT or glyph.char in _TALL):
            extents = samples[glyph.font][glyph.char]
            if len(extents) < _MAX_SAMPLES and (extent := _extent(glyph, ink)) is not None:
                extents.append(extent)
    return {font for font, letters in samples.items() if _disagrees(letters)}


def _extent(glyph: Glyph, ink: NDArray[np.uint8]) -> tuple[float, float] | None:
    """Ink above and below the baseline in em, in the middle of the glyph's box where no neighbour reaches."""
    x0, _, x1, _ = glyph.box
    inset = 0.1 * (x1 - x0)
    top, bottom = max(0, round(glyph.baseline - 0.95 * glyph.size)), round(glyph.baseline + 0.4 * glyph.size)
    cell = ink[top:bottom, max(0, round(x0 + inset)) : max(0, round(x1 - inset))]
    rows = np.flatnonzero(cell.max(axis=1, initial=0) > _FAINT)
    if not rows.size:
        return None
    rows = _run_at(rows, glyph.baseline - 0.2 * glyph.size - top, gap=2 + 0.1 * glyph.size)
    return (glyph.baseline - top - rows[0]) / glyph.size, (rows[-1] + 1 + top - glyph.baseline) / glyph.size


def _run_at(rows: NDArray[np.int64], middle: float, gap: float) -> NDArray[np.int64]:
    """The run of ink rows nearest to `middle`, broken only by more than `gap`: lines above and below stay out."""
    runs = np.split(rows, np.flatnonzero(np.diff(rows) > gap) + 1)
    return min(runs, key=lambda run: max(run[0] - middle, middle - run[-1], 0))


def _disagrees(letters: dict[str, list[tuple[float, float]]]) -> bool:
    measured = {letter: np.median(extents, axis=0) for letter, extents in letters.items() if extents}
    if len(measured) < _MIN_LETTERS:
        return False
    agreements = [
        _correlation([letter in _TALL for letter in measured], [extent[0] for extent in measured.values()]),
        _correlation([letter in _HANGING for letter in measured], [extent[1] for extent in measured.values()]),
    ]
    known = [value for value in agreements if value is not None]
    return bool(known) and float(np.mean(known)) < _MIN_AGREEMENT


def _correlation(expected: Sequence[bool], values: Sequence[float]) -> float | None:
    """None where fewer than two of either sort are there to compare."""
    if not 2 <= sum(expected) <= len(expected) - 2:
        return None
    if np.std(values) < 1e-6:
        return 0.0
    return float(np.corrcoef(np.asarray(expected, float), values)[0, 1])
