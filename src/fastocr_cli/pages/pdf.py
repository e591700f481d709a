"""PDF files: how many pages, and what each looks like.

This file and glyphs.py are the only ones that use PyMuPDF. Not safe for threads: files.py holds the lock.
"""

# mypy: allow-untyped-calls

import re
from pathlib import Path

from PIL import Image

from fastocr_cli.errors import InputError, PageError
from fastocr_cli.pages.characters import visible_characters
from fastocr_cli.pages.glyphs import read_text_layer
from fastocr_cli.pages.ink import is_blank
from fastocr_cli.pages.mupdf import pymupdf
from fastocr_cli.pages.refs import PageImage, Resolution
from fastocr_cli.pages.size import POINTS_PER_INCH, page_scale

# PyMuPDF prints to stdout unless told otherwise, and stdout is for results. Messages are collected instead.
pymupdf.TOOLS.mupdf_display_errors(False)
pymupdf.TOOLS.mupdf_display_warnings(False)
pymupdf.set_messages(pylogging=True, pylogging_name="fastocr.pymupdf")

_ERRORS = (RuntimeError, ValueError, OSError, pymupdf.mupdf.FzErrorBase)
_PAGES_REMEMBERED = 16  # MuPDF keeps decoded fonts and pictures, up to 256 MB; after so many pages it forgets them
# Fonts that are drawn all the same; and the page list, of which each page that suffers tells itself.
_HARMLESS = re.compile(r"bogus font|could not find any cmaps|page tree|\.\.\. repeated|^\s*$")
_COMMENT = re.compile(rb"%[^\r\n]*\s*$")
_LAST_OPERATOR = re.compile(rb"(?:^|[\s\])>}])[A-Za-z'\"][A-Za-z0-9*]*$")


class PdfFile:
    """One open PDF.

    Raises:
        InputError: empty, damaged, locked, or without pages.
    """

    def __init__(self, path: Path, password: str | None, source: str) -> None:
        self._num_rendered = 0
        _take_messages()
        try:
            self._document = pymupdf.open(path, filetype="pdf") if _is_utf8(path) else _open_in_memory(path)
            self._unlock(password, source)
            self.num_pages = self._document.page_count
        except InputError:
            raise
        except pymupdf.FileDataError as error:  # its own words hold no more than the path
            raise self._not_a_pdf(source) from error
        except _ERRORS as error:
            raise InputError(f"{source} is damaged: {_reason(error)}.", "Ask for the file again.") from error
        if not self._document.is_pdf:  # a web page, as a rule
            raise self._not_a_pdf(source)
        if self.num_pages < 1:
            raise InputError(f"{source} is damaged: no page can be found in it.", "Ask for the file again.")
        repaired = self._document.is_repaired
        self.notes: tuple[str, ...] = ()
        if repaired:
            self.notes = (f"{source} is damaged; it was repaired, and pages may be missing.",)
        _take_messages()

    @staticmethod
    def _not_a_pdf(source: str) -> InputError:
        return InputError(f"{source} is no PDF, or damaged beyond repair.", "Ask for the file again.")

    def _unlock(self, password: str | None, source: str) -> None:
        if not self._document.needs_pass:
            return
        if password is None:
            raise InputError(f"{source} needs a password.", "Give it with --password.")
        if not self._document.authenticate(password):
            raise InputError(f"The password does not open {source}.", "Give the right one with --password.")

    def render(self, number: int, resolution: Resolution, *, characters: bool) -> PageImage:
        """Page `number` (1-based) as a viewer shows it: crop box, rotation, annotations, on white.

        Raises:
            PageError: nothing of the page could be drawn.
        """
        _take_messages()
        try:
            return self._render(number, resolution, characters)
        except _ERRORS as error:
            raise PageError(f"The page cannot be drawn: {_reason(error)}.", "The PDF is damaged there.") from error
        finally:
            _take_messages()
            self._num_rendered += 1
            if self._num_rendered % _PAGES_REMEMBERED == 0:
                pymupdf.TOOLS.store_shrink(100)

    def _render(self, number: int, resolution: Resolution, characters: bool) -> PageImage:
        self._check_is_page(number)
        page = self._load(number)
        scale, capped = page_scale(page.rect.width, page.rect.height, resolution)
        drawn = page.get_displaylist()
        pixels = drawn.get_pixmap(matrix=pymupdf.Matrix(scale, scale), colorspace=pymupdf.csRGB, alpha=0)
        image = Image.frombytes("RGB", (pixels.width, pixels.height), pixels.samples)
        warnings = self._warnings(page, image)
        if capped:
            dpi = round(scale * POINTS_PER_INCH)
            warnings.append(
                f"The page is so large that it was scaled down to {dpi} dpi: small print may be unreadable."
            )
        layer = read_text_layer(drawn, scale, *image.size) if characters else None
        return PageImage(image, visible_characters(layer, image) if layer else None, tuple(warnings))

    def _check_is_page(self, number: int) -> None:
        """MuPDF draws a page list entry that is no page as an empty sheet, and says nothing."""
        kind, value = self._document.xref_get_key(self._document.page_xref(number - 1), "Type")
        if kind != "null" and value != "/Page":
            raise PageError(f"The entry of page {number} in the page list is no page.", "The PDF is damaged there.")

    def _load(self, number: int) -> pymupdf.Page:
        """The page, without a crop box that lies beside it: MuPDF would draw an empty sheet of letter size."""
        page: pymupdf.Page = self._document.load_page(number - 1)
        crop, media = page.cropbox, page.mediabox  # the crop box is counted down from the top of the media box
        raw_crop = pymupdf.Rect(crop.x0, media.y1 - crop.y1, crop.x1, media.y1 - crop.y0)
        if raw_crop.is_empty or media.is_empty or (raw_crop & media).get_area() > 0:
            return page
        self._document.xref_set_key(page.xref, "CropBox", "[{} {} {} {}]".format(*media))
        page = self._document.load_page(number - 1)
        return page

    def _warnings(self, page: pymupdf.Page, image: Image.Image) -> list[str]:
        """What MuPDF complained of while drawing; on a page left blank that is an error."""
        complaints = _take_messages()
        if _is_cut(page.read_contents()):
            complaints.append("the page's content stops in the middle")
        if complaints and is_blank(image):
            raise PageError(f"Nothing of the page could be drawn: {complaints[0]}.", "The PDF is damaged there.")
        return [f"The page may be incomplete: {complaint}." for complaint in complaints]

    def close(self) -> None:
        self._document.close()


def _is_utf8(path: Path) -> bool:
    try:
        return bool(str(path).encode())
    except UnicodeEncodeError:
        return False


def _open_in_memory(path: Path) -> pymupdf.Document:
    """MuPDF opens no file whose name is not Unicode; such names are rare."""
    return pymupdf.open(stream=path.read_bytes(), filetype="pdf")


def _is_cut(contents: bytes) -> bool:
    """Whether a content stream ends between an operand and its operator. MuPDF passes over that in silence."""
    tail = contents[-4096:].rstrip(b"\0\t\n\f\r ")
    while match := _COMMENT.search(tail):
        tail = tail[: match.start()].rstrip(b"\0\t\n\f\r ")
    return bool(tail) and not _LAST_OPERATOR.search(tail)


def _take_messages() -> list[str]:
    """MuPDF's messages since the last call, each once, without those that every other PDF brings up."""
    lines = pymupdf.TOOLS.mupdf_warnings(reset=True).splitlines()
    return [line.strip() for line in dict.fromkeys(lines) if not _HARMLESS.search(line)]


def _reason(error: BaseException) -> str:
    """The engine's words without its error number."""
    first = (str(error).splitlines() or [""])[0]
    return re.sub(r"^code=\d+:\s*", "", first).rstrip(". ") or type(error).__name__
