"""Opens a document, whatever it is, and keeps the last few open.

Knows that PDFs and images are opened differently; not how either is drawn.
"""

from collections import OrderedDict
from pathlib import Path
from typing import Protocol

from fastocr_cli.errors import InputError
from fastocr_cli.pages.kinds import kind_of
from fastocr_cli.pages.refs import PageImage, Resolution

MAX_OPEN = 2
"""Documents kept open: the one being read, and the next while both share a batch."""


class OpenFile(Protocol):
    """An open document."""

    num_pages: int
    notes: tuple[str, ...]
    """What the user should know about the file as a whole."""

    def render(self, number: int, resolution: Resolution, *, characters: bool) -> PageImage: ...

    def close(self) -> None: ...


def open_file(path: Path, password: str | None, source: str) -> OpenFile:
    """Open a PDF or image; its content decides which it is, not its ending.

    Raises:
        InputError: missing, unreadable, empty, damaged, locked, or no document at all.
    """
    try:
        kind = kind_of(path)
        num_bytes = path.stat().st_size
    except OSError as error:
        raise InputError(f"{source} cannot be read: {error.strerror}.", "Check the path and permissions.") from error
    if num_bytes == 0:
        raise InputError(f"{source} is empty (0 bytes).", "Ask for the file again.")
    ending = path.suffix.lower()
    # Imported here: `fastocr --help` should not wait for two graphics libraries.
    if kind == "image":
        from fastocr_cli.pages.pictures import PictureFile

        picture = PictureFile(path, source)
        if ending == ".pdf":
            picture.notes += (f"{source} is no PDF but an image; it was read as one.",)
        return picture
    if kind == "pdf" or ending == ".pdf":
        from fastocr_cli.pages.pdf import PdfFile

        return PdfFile(path, password, source)
    raise InputError(f"{source} is neither a PDF nor an image that can be read.", "Turn it into a PDF first.")


def count_pages(path: Path, password: str | None, source: str) -> tuple[int, tuple[str, ...]]:
    """Open, count, close: the number of pages, and what the user should know about the file.

    Raises:
        InputError: as open_file.
    """
    opened = open_file(path, password, source)
    opened.close()
    return opened.num_pages, opened.notes


class OpenFiles:
    """The documents used last, open. Not for several threads: MuPDF is not, and Pillow's size limit is global.

    Opening a long PDF anew for each page would take longer than drawing it.
    """

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[object, ...], OpenFile] = OrderedDict()

    def get(self, path: Path, password: str | None, source: str) -> OpenFile:
        """The open document; opened anew if the file has changed.

        Raises:
            InputError: as open_file.
        """
        try:
            status = path.stat()
        except OSError as error:
            raise InputError(f"{source} cannot be read: {error.strerror}.", "Check the path.") from error
        key = (path, status.st_mtime_ns, status.st_size, password)
        if key in self._open:
            self._open.move_to_end(key)
        else:
            while len(self._open) >= MAX_OPEN:
                self._open.popitem(last=False)[1].close()
            self._open[key] = open_file(path, password, source)
        return self._open[key]

    def close(self) -> None:
        while self._open:
            self._open.popitem()[1].close()


OPEN_FILES = OpenFiles()
