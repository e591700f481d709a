"""What a PDF page says about its own text: which characters it claims, and what its text alone would look like.

Knows MuPDF, through PyMuPDF; does not judge whether anything is visible (characters.py does).
"""

# mypy: allow-untyped-calls

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fastocr_cli.pages.mupdf import mupdf, pymupdf

_FLAGS = (
    pymupdf.TEXT_PRESERVE_WHITESPACE  # ligatures are not preserved: they come as letters, as in training
    | pymupdf.TEXT_MEDIABOX_CLIP
    | pymupdf.TEXT_IGNORE_ACTUALTEXT  # what a glyph stands for by decree is not what its ink says
)
_NO_ADVANCE = 0.2  # pixels
_LIGATURES = frozenset({"ff", "fi", "fl", "ffi", "ffl", "ft", "fj", "st", "ct", "tt", "Th"})
"""Other letters in one place are drawn over each other."""
_DRAWN_AS = {"\xad": "-", **dict.fromkeys("\uf0b7\uf0a7\uf0d8\uf06e\uf071\uf076", "•")}
"""Many fonts have one glyph for the hyphen and the soft hyphen; word processors take bullets from Symbol, Wingdings."""
_DRAWN = mupdf.FZ_STEXT_FILLED | mupdf.FZ_STEXT_STROKED


@dataclass(frozen=True)
class Glyph:
    """One character that the page claims to show. All lengths in pixels of the rendered picture."""

    char: str
    x: float
    """Centre along the line of text."""
    y: float
    """0.3 em above the baseline."""
    box: tuple[float, float, float, float]
    size: float
    """The em."""
    baseline: float
    font: str
    line: int
    """Glyphs of one line of text share a number."""
    advance: float
    """The glyph's length along its line."""
    direction: tuple[float, float]
    """Unit vector along the line: (1, 0) is upright and read left to right."""


@dataclass(frozen=True)
class TextLayer:
    """A page's claimed text. `ink` is (height, width), 255 where its glyphs lie, had nothing else been drawn."""

    glyphs: tuple[Glyph, ...]
    ink: NDArray[np.uint8]
    image_share: float
    """Share of the page under pictures, at most 1."""


def read_text_layer(page: pymupdf.DisplayList, scale: float, width: int, height: int) -> TextLayer:
    """The text of `page` at `scale` pixels per point in a picture of `width` x `height` pixels."""
    picture = pymupdf.Pixmap(pymupdf.csGRAY, pymupdf.IRect(0, 0, width, height), 0)
    picture.clear_with(255)
    target = mupdf.fz_new_draw_device(mupdf.FzMatrix(), picture.this)
    device = _TextOnly(target)
    everywhere = mupdf.FzRect(0, 0, width, height)
    mupdf.fz_run_display_list(page.this, device, mupdf.FzMatrix(scale, 0, 0, scale, 0, 0), everywhere, mupdf.FzCookie())
    mupdf.fz_close_device(device)
    mupdf.fz_close_device(target)
    ink = 255 - np.frombuffer(picture.samples, np.uint8).reshape(height, picture.stride)[:, :width]
    return TextLayer(tuple(_claimed_glyphs(page, scale)), ink, min(1.0, device.image_area / (width * height)))


class _TextOnly(mupdf.FzDevice2):  # type: ignore[misc]  # MuPDF's bindings are not typed
    """Draws text in black and nothing else; text of the invisible kind never reaches it."""

    def __init__(self, target: Any) -> None:
        super().__init__()
        self.target = target
        self.image_area = 0.0
        self.black = mupdf.ll_fz_device_gray()
        self.use_virtual_fill_text()
        self.use_virtual_stroke_text()
        self.use_virtual_fill_image()
        self.use_virtual_fill_image_mask()

    # The signatures are MuPDF's: one callback for each kind of drawing.
    def fill_text(self, context: Any, text: Any, ctm: Any, *colours: Any) -> None:
        params = colours[-1]
        mupdf.ll_fz_fill_text(self.target.m_internal, text, ctm, self.black, [0.0], 1.0, params)

    def stroke_text(self, context: Any, text: Any, stroke: Any, ctm: Any, *colours: Any) -> None:
        params = colours[-1]
        mupdf.ll_fz_stroke_text(self.target.m_internal, text, stroke, ctm, self.black, [0.0], 1.0, params)

    def fill_image(self, context: Any, image: Any, ctm: Any, *colours: Any) -> None:
        self.image_area += abs(ctm.a * ctm.d - ctm.b * ctm.c)

    def fill_image_mask(self, context: Any, image: Any, ctm: Any, *colours: Any) -> None:
        self.image_area += abs(ctm.a * ctm.d - ctm.b * ctm.c)


def _claimed_glyphs(page: pymupdf.DisplayList, scale: float) -> list[Glyph]:
    """Every drawn character that is no blank, in the order of drawing."""
    text = pymupdf.TextPage(page.get_textpage(_FLAGS)).extractRAWDICT()
    lines = [line for block in text["blocks"] for line in block.get("lines", ())]
    claimed = [
        _glyph(char, span, line, number, scale)
        for number, line in enumerate(lines)
        for span in line["spans"]
        if span["char_flags"] & _DRAWN and span["alpha"]
        for char in span["chars"]
    ]
    return [glyph for glyph in _ligatures_shared_out(claimed) if not glyph.char.isspace()]


def _ligatures_shared_out(glyphs: list[Glyph]) -> list[Glyph]:
    """MuPDF lays the first letter of a ligature over all of it and the others behind it: here each has its share."""
    shared, first = list(glyphs), 0
    for index, glyph in enumerate(glyphs):
        behind = glyphs[index + 1] if index + 1 < len(glyphs) and glyphs[index + 1].line == glyph.line else None
        start = behind.box[0] if behind else glyph.box[2]
        letters = "".join(part.char for part in glyphs[first : index + 1])
        upright = glyph.direction == (1.0, 0.0) and glyphs[first].line == glyph.line
        if letters not in _LIGATURES or not upright or abs(start - glyph.box[0]) >= _NO_ADVANCE:
            first = index
            continue
        x0, y0, x1, y1 = glyphs[first].box
        width = (x1 - x0) / (index + 1 - first)
        for number in range(first, index + 1):
            left = x0 + (number - first) * width
            box = (left, y0, left + width, y1)
            shared[number] = replace(glyphs[number], x=left + width / 2, box=box, advance=width)
    return shared


def _glyph(char: dict[str, Any], span: dict[str, Any], line: dict[str, Any], number: int, scale: float) -> Glyph:
    x0, y0, x1, y1 = (value * scale for value in char["bbox"])
    origin_x, origin_y = (value * scale for value in char["origin"])
    size, (dx, dy) = span["size"] * scale, line["dir"]
    x, y = (x0 + x1) / 2, (y0 + y1) / 2
    if line["wmode"] == 0:
        # Along the line the middle of the glyph, across it 0.3 em above the baseline: as in pocket's training.
        along = (x - origin_x) * dx + (y - origin_y) * dy
        x, y = origin_x + along * dx + 0.3 * size * dy, origin_y + along * dy - 0.3 * size * dx
    advance = (x1 - x0) * abs(dx) + (y1 - y0) * abs(dy)
    drawn = _DRAWN_AS.get(char["c"], char["c"])
    return Glyph(drawn, x, y, (x0, y0, x1, y1), size, origin_y, span["font"], number, advance, line["dir"])
