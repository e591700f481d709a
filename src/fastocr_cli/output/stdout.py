"""StdoutWriter: one document on standard output, in page order, each page as soon as its turn comes.

While it is open, whatever else prints to standard output (a C library, a download bar) goes to standard error.
Knows nothing of files on disk; nothing is resumed here.
"""

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, redirect_stdout, suppress
from types import TracebackType
from typing import Self, TextIO

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ConfigError, OutputError
from fastocr_cli.output.files import cannot_write
from fastocr_cli.output.formats import Format, open_format
from fastocr_cli.output.records import PageRecord
from fastocr_cli.pages.refs import BadInput, Document, PageRef, PageResult

HELD_BYTES = 8 << 20
"""Finished pages that wait for a slower one before them are held in memory up to this, then in a temporary file."""


class OutputClosed(Exception):  # noqa: N818 - not a failure: `| head` has seen enough
    """Nobody reads standard output any longer."""


class Held:
    """Texts kept by page number until their turn; memory is bounded."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=HELD_BYTES)  # noqa: SIM115 - closed by close()
        self._places: dict[int, tuple[int, int]] = {}

    def put(self, number: int, text: str) -> None:
        data = text.encode("utf-8", "surrogatepass")
        start = self._file.seek(0, os.SEEK_END)
        self._file.write(data)
        self._places[number] = start, len(data)

    def pop(self, number: int) -> str | None:
        if number not in self._places:
            return None
        start, length = self._places.pop(number)
        self._file.seek(start)
        text = self._file.read(length).decode("utf-8", "surrogatepass")
        if not self._places:
            self._file.seek(0)
            self._file.truncate()
        return text

    @property
    def num_pages(self) -> int:
        return len(self._places)

    def close(self) -> None:
        self._file.close()


class StdoutWriter:
    """Writes one document; a second one is refused."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self._document: Document | None = None
        self._format: Format | None = None
        self._numbers: Iterator[int] = iter(())
        self._next: int | None = None
        self._held = Held()
        self._cleanup = ExitStack()
        self._put: Callable[[bytes], object] = len
        self._is_closed = False

    def __enter__(self) -> Self:
        if sys.stdout is None or sys.stdout.closed:
            raise OutputError("Standard output is closed.", "Give a folder with -o.")
        self._cleanup.callback(self._held.close)
        self._put = take_stdout(self._cleanup)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._cleanup:
            if self._format is None or self._is_closed or isinstance(error, OutputError):
                return
            with suppress(OutputClosed):
                self._finish(self._format)

    def done(self, ref: PageRef) -> str | None:
        """Always None: nothing is kept.

        Raises:
            ConfigError: a second document.
        """
        self._document = self._document or ref.document
        if ref.document != self._document:
            raise ConfigError("Standard output takes one document; the input holds several.", "Give a folder with -o.")
        return None

    def write(self, result: PageResult) -> None:
        """Print the page and those that waited for it, or hold it.

        Raises:
            OutputClosed: nobody reads any longer.
            OutputError: standard output cannot be written.
        """
        if self._format is None:
            document = result.ref.document
            self._numbers = document.page_numbers()
            self._next = next(self._numbers, None)
            self._format = open_format(self.config.format, document, page_marks=self.config.page_marks)
            self._print(self._format.head())
        self._held.put(result.ref.number, PageRecord.from_result(result).to_json())
        while self._next is not None and (text := self._held.pop(self._next)) is not None:
            self._print_next(self._format, text)

    def note_bad_input(self, bad: BadInput) -> None:
        """Nothing: what failed is told on standard error."""

    def _finish(self, made: Format) -> None:
        """After an interrupt pages are missing: print what waited behind them."""
        while self._next is not None and self._held.num_pages:
            self._print_next(made, self._held.pop(self._next))
        self._print(made.tail())

    def _print_next(self, made: Format, text: str | None) -> None:
        if self._next is not None:
            record = PageRecord.from_json(json.loads(text)) if text is not None else None
            self._print(made.page(self._next, record))
            self._next = next(self._numbers, None)

    def _print(self, text: str) -> None:
        try:
            self._put(text.encode("utf-8", "backslashreplace"))
        except BrokenPipeError:
            self._is_closed = True
            raise OutputClosed from None
        except OSError as error:
            raise cannot_write("standard output", error) from error


def take_stdout(cleanup: ExitStack) -> Callable[[bytes], object]:
    """Move standard output to a private descriptor until `cleanup` runs; return what writes to it.

    What else prints meanwhile, C libraries included, goes to standard error. A replaced `sys.stdout` (a test's,
    a notebook's) has no descriptor and is written to directly.
    """
    stream = sys.stdout
    cleanup.enter_context(redirect_stdout(sys.stderr))
    try:
        stream.flush()
        descriptor = stream.fileno()
        private = os.dup(descriptor)
    except (AttributeError, OSError):  # io.UnsupportedOperation is an OSError
        return lambda data: _write_stream(stream, data)
    other = os.dup(2) if _is_open(2) else os.open(os.devnull, os.O_WRONLY)
    os.dup2(other, descriptor)
    os.close(other)

    def restore() -> None:
        os.dup2(private, descriptor)
        os.close(private)

    cleanup.callback(restore)
    return lambda data: _write_all(private, data)


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def _write_stream(stream: TextIO, data: bytes) -> None:
    if hasattr(stream, "buffer"):
        stream.buffer.write(data)
    else:
        stream.write(data.decode())
    stream.flush()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True
