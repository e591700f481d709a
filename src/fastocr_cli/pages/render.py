"""render(): a page reference becomes pixels, beside the model that reads them. Knows no format."""

from dataclasses import replace

from fastocr_cli.errors import InputError, PageError
from fastocr_cli.pages.apart import APART, EndedError
from fastocr_cli.pages.files import OPEN_FILES
from fastocr_cli.pages.refs import PageImage, PageRef, Resolution
from fastocr_cli.pages.skew import level


def render(ref: PageRef, resolution: Resolution, *, characters: bool, password: str | None = None) -> PageImage:
    """The page upright and level, RGB, on plain ground, at `resolution`; its size is capped before anything is drawn.

    With `characters`, a born-digital page's own visible characters come along, in pixels of the picture.
    One page is drawn at a time, in a process of its own; use processes to render in parallel.

    Raises:
        PageError: the page, or by now its file, cannot be read.
    """
    try:
        return APART.call(draw, ref, resolution, characters, password)
    except EndedError as ended:
        hint = "Open the file in a viewer and print the page to a new PDF."
        raise PageError(f"The page cannot be drawn: the drawing {ended}.", hint) from ended


def draw(ref: PageRef, resolution: Resolution, characters: bool, password: str | None) -> PageImage:
    """The same, in this process.

    Raises:
        PageError: as render.
    """
    document = ref.document
    try:
        opened = OPEN_FILES.get(document.path, password, document.source or str(document.path))
    except InputError as error:
        raise PageError(error.message, error.hint) from error
    if not 1 <= ref.number <= opened.num_pages:
        raise PageError(f"There is no page {ref.number}: the file has {opened.num_pages}.", "Has it changed?")
    page = opened.render(ref.number, resolution, characters=characters)
    return page if page.characters else replace(page, image=level(page.image))
