"""render(): a page reference becomes pixels, beside the model that reads them. Knows no format."""

from fastocr_cli.errors import InputError, PageError
from fastocr_cli.pages.files import LOCK, OPEN_FILES
from fastocr_cli.pages.refs import PageImage, PageRef, Resolution


def render(ref: PageRef, resolution: Resolution, *, characters: bool, password: str | None = None) -> PageImage:
    """The page upright, RGB, on plain ground, at `resolution`; its size is capped before anything is drawn.

    With `characters`, a born-digital page's own visible characters come along, in pixels of the picture.
    Only one thread renders at a time; use processes to render in parallel.

    Raises:
        PageError: the page, or by now its file, cannot be read.
    """
    document = ref.document
    with LOCK:
        try:
            opened = OPEN_FILES.get(document.path, password, document.source or str(document.path))
        except InputError as error:
            raise PageError(error.message, error.hint) from error
        if not 1 <= ref.number <= opened.num_pages:
            raise PageError(f"There is no page {ref.number}: the file has {opened.num_pages}.", "Has it changed?")
        return opened.render(ref.number, resolution, characters=characters)
