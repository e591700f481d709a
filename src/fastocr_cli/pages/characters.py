"""Which of the characters that a page claims can a reader see? The picture is the judge.

A claimed glyph is believed if the rendered picture shows that very shape in that very place. So text that is
covered, clipped, white, off the page or drawn in the invisible mode is no text, and neither is the reading that
lies under a scan. Knows arrays; no PDF, no model.
"""

import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image

from fastocr_cli.pages.glyphs import Glyph, TextLayer
from fastocr_cli.pages.ink import ink_map
from fastocr_cli.pages.refs import Character
from fastocr_cli.pages.shapes import lying_fonts

MIN_GLYPH_MATCH = 0.5
"""Least correlation between a glyph's own shape and the picture, both taken over the glyph's box."""
MIN_LINE_MATCH = 0.65
"""Least median of that over a line of text. True lines lie above 0.9, one text over another below 0.6."""
MIN_SHARE_OF_LINE_MATCH = 0.8
"""A glyph that matches much worse than its line does has been changed."""
MIN_CONTRAST = 14.0
"""Grey levels between a glyph's ink and its ground."""
MIN_EM = 3.0
"""Pixels. What is printed smaller than this is dust to a reader."""
MIN_BLANK = 0.12
"""Em. Narrow blanks of justified lines are a sixth wide; kerned and spaced letters lie closer."""
MAX_CONTESTED_SHARE = 0.25
"""Of a line. Stray overlaps in formulas stay below."""
MAX_UNMAPPED_SHARE = 0.2
"""A font with more characters than this that mean nothing in Unicode is not believed in any."""
MIN_VISIBLE_SHARE = 0.5
"""A layer that draws more hidden glyphs than visible ones is not the page's own text."""
MIN_EXPLAINED_INK = 0.1
"""Share of the picture's ink that must lie under visible characters ..."""
MIN_EXPLAINED_INK_ON_SCANS = 0.5
"""... and where pictures cover most of the page."""

_SCAN_IMAGE_SHARE = 0.6
_INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Cn", "Co", "Zs", "Zl", "Zp"})


def visible_characters(layer: TextLayer, image: Image) -> tuple[Character, ...] | None:
    """The characters of `layer` that `image` shows, in the layer's order; None if it is no usable text layer.

    `image` is the rendered page, of the same size as `layer.ink`.
    """
    height, width = layer.ink.shape
    drawn = [glyph for glyph in layer.glyphs if 0 <= glyph.x < width and 0 <= glyph.y < height]
    if not drawn:
        return None
    grey = np.asarray(image.convert("L"))
    seen = _where(drawn, _shown(drawn, layer.ink, grey))
    visible = [glyph for glyph in _uncontested(drawn, seen) if glyph.char.isprintable()]
    if len(visible) < MIN_VISIBLE_SHARE * len(drawn):
        return None
    visible = _believed(visible, drawn, layer.ink)
    if not visible or not _explains(visible, layer, image):
        return None
    return tuple(
        Character(glyph.char, glyph.x, glyph.y, _after_blank(before, glyph), glyph.size)
        for before, glyph in zip([None, *visible], visible, strict=False)
    )


def _after_blank(before: Glyph | None, glyph: Glyph) -> bool | None:
    """Whether a blank is printed between two glyphs of a line; None where they are of two, or not upright."""
    if before is None or before.line != glyph.line or glyph.direction != (1.0, 0.0):
        return None
    return glyph.box[0] - before.box[2] > MIN_BLANK * glyph.size


def _believed(visible: list[Glyph], drawn: list[Glyph], ink: NDArray[np.uint8]) -> list[Glyph]:
    """Without the fonts whose map to Unicode is missing or wrong."""
    bad = _unmapped_fonts(drawn) | lying_fonts(visible, ink)
    return [glyph for glyph in visible if glyph.font not in bad and _is_mapped(glyph.char)]


def _where(glyphs: Sequence[Glyph], keep: NDArray[np.bool_]) -> list[Glyph]:
    return [glyph for glyph, kept in zip(glyphs, keep, strict=True) if kept]


def _shown(glyphs: Sequence[Glyph], ink: NDArray[np.uint8], grey: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """(num_glyphs,): whether the picture shows each glyph's shape, and most of its line."""
    boxes = np.array([glyph.box for glyph in glyphs])
    match, contrast = _match(ink, grey, boxes)
    whole = match.copy()
    poor = np.flatnonzero(match < _SURE_MATCH)
    if len(poor):  # perhaps for the rules around them, or under them
        tight = _around_ink(ink, boxes[poor])
        share = (tight[:, 3] - tight[:, 1]) * _RULED_SHARE
        upper, lower = tight - np.outer(share, (0, 0, 0, 1)), tight + np.outer(share, (0, 1, 0, 0))
        again = [values.reshape(3, -1).max(0) for values in _match(ink, grey, np.concatenate([tight, upper, lower]))]
        match[poor], contrast[poor] = np.maximum([match[poor], contrast[poor]], again)
    match[contrast < MIN_CONTRAST] = 0.0
    match[[glyph.size < MIN_EM for glyph in glyphs]] = 0.0
    lines: dict[int, list[int]] = defaultdict(list)
    for index, glyph in enumerate(glyphs):
        lines[glyph.line].append(index)
    least = np.full(len(glyphs), MIN_GLYPH_MATCH)
    for members in lines.values():
        usual = float(np.median(whole[members]))  # a second look must not raise what is asked of others
        if usual < MIN_LINE_MATCH:
            usual = float(np.median(match[members]))
        least[members] = (
            max(MIN_GLYPH_MATCH, usual * MIN_SHARE_OF_LINE_MATCH) if usual >= MIN_LINE_MATCH else _SURE_MATCH
        )
    return match >= least


_RULED_SHARE = 0.3  # of a glyph, above or below: where underlines and the rules of tables touch it
_FAINT = 32  # grey levels of ink that a neighbouring glyph may leave in a box
_SURE_MATCH = 0.9  # a glyph that fits like this is seen, whatever became of the rest of its line


def _around_ink(ink: NDArray[np.uint8], boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    """The least box around the ink within each box; one without ink as it is."""
    tight = boxes.copy()
    for box in tight:
        x0, y0, x1, y1 = (max(0, int(value)) for value in box)
        inked = ink[y0 : y1 + 1, x0 : x1 + 1] > _FAINT
        rows, columns = np.flatnonzero(inked.any(1)), np.flatnonzero(inked.any(0))
        if len(rows):
            box[:] = x0 + columns[0], y0 + rows[0], x0 + columns[-1] + 1, y0 + rows[-1] + 1
    return tight


def _match(
    ink: NDArray[np.uint8], grey: NDArray[np.uint8], boxes: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Per box: |correlation| of ink and picture, and grey levels between full ink and none."""
    height, width = ink.shape
    low = np.clip(np.floor(boxes[:, :2]) - 1, 0, (width, height)).astype(np.int64)
    high = np.clip(np.ceil(boxes[:, 2:]) + 1, 0, (width, height)).astype(np.int64)
    high = np.maximum(high, low)
    # Six bits a pixel: then 32-bit running sums may wrap and sums over boxes are still exact up to 1,000 x 1,000.
    a, b = (values.astype(np.uint16) // 4 for values in (ink, grey))
    area = np.maximum((high - low).prod(1), 1)
    mean_a, mean_b, mean_aa, mean_bb, mean_ab = (
        _box_sums(values, low, high) / area for values in (a, b, a * a, b * b, a * b)
    )
    var_a, var_b, cov = mean_aa - mean_a**2, mean_bb - mean_b**2, mean_ab - mean_a * mean_b
    match = np.abs(cov) / np.sqrt(np.maximum(var_a * var_b, 1e-9))
    contrast = 255 * np.abs(cov) / np.maximum(var_a, 1e-9)
    match[var_a < 1e-3] = 0.0
    return match, contrast


def _box_sums(values: NDArray[np.uint16], low: NDArray[np.int64], high: NDArray[np.int64]) -> NDArray[np.float64]:
    """Sum of `values` over each box, from one running sum over the picture."""
    total = np.zeros((values.shape[0] + 1, values.shape[1] + 1), np.uint32)
    np.cumsum(values, axis=0, dtype=np.uint32, out=total[1:, 1:])
    np.cumsum(total[1:, 1:], axis=1, out=total[1:, 1:])
    (x0, y0), (x1, y1) = low.T, high.T
    sums: NDArray[np.uint32] = total[y1, x1] - total[y0, x1] - total[y1, x0] + total[y0, x0]
    return sums.astype(np.float64)


def _uncontested(drawn: Sequence[Glyph], seen: list[Glyph]) -> list[Glyph]:
    """Without glyphs on whose place the page draws another character too: their ink cannot be told apart.

    Where that befalls much of a line, one line is drawn over another and none of it is believed.
    """
    places: dict[tuple[int, int], list[Glyph]] = defaultdict(list)
    for glyph in drawn:
        places[int(glyph.x) >> 3, int(glyph.y) >> 3].append(glyph)
    contested = {id(glyph) for glyph in drawn if any(_contest(glyph, other) for other in _near(places, glyph))}
    lines: dict[int, list[bool]] = defaultdict(list)
    for glyph in drawn:
        lines[glyph.line].append(id(glyph) in contested)
    mixed = {line for line, members in lines.items() if members.count(True) > MAX_CONTESTED_SHARE * len(members)}
    return [glyph for glyph in seen if id(glyph) not in contested and glyph.line not in mixed]


def _near(places: dict[tuple[int, int], list[Glyph]], glyph: Glyph) -> Iterable[Glyph]:
    """Glyphs whose centre may lie within a third of an em."""
    reach = 1 + int(glyph.size / 3) // 8
    column, row = int(glyph.x) >> 3, int(glyph.y) >> 3
    for x in range(column - reach, column + reach + 1):
        for y in range(row - reach, row + reach + 1):
            yield from places.get((x, y), ())


def _contest(glyph: Glyph, other: Glyph) -> bool:
    if other is glyph or other.char == glyph.char or not 0.5 < other.size / glyph.size < 2:
        return False
    if _is_accent(other.char) or _is_accent(glyph.char):
        return False
    (x, y), (dx, dy) = (other.x - glyph.x, other.y - glyph.y), glyph.direction
    return abs(x * dx + y * dy) < 0.3 * min(glyph.advance, other.advance) and abs(x * dy - y * dx) < 0.3 * glyph.size


def _is_accent(char: str) -> bool:
    return unicodedata.category(char[0]) in ("Mn", "Mc", "Sk", "Lm")


def _is_mapped(char: str) -> bool:
    return char != "\ufffd" and unicodedata.category(char[0]) not in _INVISIBLE_CATEGORIES


def _unmapped_fonts(glyphs: Iterable[Glyph]) -> set[str]:
    """Fonts without a usable map to Unicode."""
    tally: dict[str, list[bool]] = defaultdict(list)
    for glyph in glyphs:
        tally[glyph.font].append(_is_mapped(glyph.char))
    return {font for font, mapped in tally.items() if mapped.count(False) > MAX_UNMAPPED_SHARE * len(mapped)}


def _explains(visible: Iterable[Glyph], layer: TextLayer, image: Image) -> bool:
    """Whether the visible characters account for the page's ink; a stamp on a scan does not."""
    inked = ink_map(image)
    claimed = np.zeros_like(inked)
    for glyph in visible:
        x0, y0, x1, y1 = (max(0, int(value)) for value in glyph.box)
        claimed[y0 : y1 + 1, x0 : x1 + 1] = True
    share = int((inked & claimed).sum()) / max(int(inked.sum()), 1)
    least = MIN_EXPLAINED_INK_ON_SCANS if layer.image_share > _SCAN_IMAGE_SHARE else MIN_EXPLAINED_INK
    return bool(share >= least)
