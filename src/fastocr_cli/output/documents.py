"""DocumentFile: `<name>.md` (or .json, .html), assembled from the pages on disk, one page in memory at a time.

Knows when the file is out of date and whether it is ours to replace; knows nothing of models or engines.
"""

import hashlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from fastocr_cli.output.files import append_line, file_sha256, read_lines, write_atomically
from fastocr_cli.output.formats import FORMATS, open_format, render
from fastocr_cli.output.page_folder import PageFolder
from fastocr_cli.output.records import PageRecord


class DocumentFile:
    """What was written is noted in `written.jsonl` beside the pages, before each rename.

    So a file whose content is not in that list was never written by us, or was changed since.
    """

    def __init__(self, path: Path, pages: PageFolder, format_name: str, *, page_marks: bool) -> None:
        self.path = path
        self.pages = pages
        self.format_name = format_name
        self.page_marks = page_marks
        self._written = pages.path / "written.jsonl"

    def is_foreign(self) -> bool:
        """There is a file under our name that is not our work."""
        if not os.path.lexists(self.path):
            return False
        content = file_sha256(self.path)
        return all(line.get("sha256") != content for line in self._lines())

    def is_current(self, digests: dict[int, str]) -> bool:
        """The file holds just these pages; a copy that someone corrected by hand counts, and is left alone."""
        lines = list(self._lines())
        if not lines or lines[-1].get("pages") != self._snapshot(digests) or not self.path.exists():
            return False
        return file_sha256(self.path) == lines[-1].get("sha256") or self.is_foreign()

    def assemble(self) -> None:
        """Write the document from what is on disk now; pages that are not there leave a mark.

        Raises:
            OutputError: it cannot be written.
        """
        while True:
            before = self.pages.stamp()
            digests: dict[int, str] = {}
            made = open_format(self.format_name, self.pages.document, page_marks=self.page_marks)
            write_atomically(self.path, render(made, self._records(digests)), partial(self._note, digests))
            # another process may have put a page there meanwhile, and its document may lie under ours
            if self.pages.stamp() == before:
                return

    def _records(self, digests: dict[int, str]) -> Iterator[tuple[int, PageRecord | None]]:
        for number in self.pages.document.page_numbers():
            stored = self.pages.load(number)
            if stored is not None:
                digests[number] = stored.digest
            yield number, stored.record.seen_from(self.pages.path.name) if stored else None

    def _note(self, digests: dict[int, str], sha256: str) -> None:
        line = {"file": self.path.name, "sha256": sha256, "pages": self._snapshot(digests)}
        append_line(self._written, line)

    def _lines(self) -> Iterator[dict[str, str]]:
        return (line for line in read_lines(self._written) if line.get("file") == self.path.name)

    def _snapshot(self, digests: dict[int, str]) -> str:
        """A hash of all that decides the content."""
        digest = hashlib.sha256(f"{FORMATS[self.format_name].where} {self.page_marks}".encode())
        for number in self.pages.document.page_numbers():
            digest.update(f"\n{number} {digests.get(number)}".encode())
        return digest.hexdigest()
