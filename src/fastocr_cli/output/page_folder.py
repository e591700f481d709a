"""PageFolder: `<name>.pages/`, the pages of one document that are on disk. A page is finished when its JSON is.

Knows file names, the order of writes and what makes a page out of date; knows nothing of documents' formats.
"""

import hashlib
import json
import os
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from fastocr_cli.output.files import file_sha256, read_json, remove, remove_stale, to_json_file, write_atomically
from fastocr_cli.output.records import PageRecord, figure_path, make_bookkeeping
from fastocr_cli.pages.refs import Document, PageResult


class Stored(NamedTuple):
    """A page on disk, and a digest that changes when it does."""

    record: PageRecord
    digest: str


def source_signature(document: Document) -> dict[str, Any]:
    """What tells whether the input is still the one that was read.

    Standard input and pipes are read from a copy whose path and time mean nothing: there it is the content.
    """
    if document.source and os.path.realpath(document.source) != os.path.realpath(document.path):
        return {"path": None, "sha256": file_sha256(document.path)}
    path = str(document.path.absolute())
    with suppress(OSError):
        status = document.path.stat()
        return {"path": path, "size": status.st_size, "mtime_ns": status.st_mtime_ns}
    return {"path": path}


def same_source(one: Any, other: Any) -> bool:
    """The same content; its path may have moved."""
    return _without_path(one) == _without_path(other)


def _without_path(source: Any) -> dict[str, Any]:
    return {key: value for key, value in source.items() if key != "path"} if isinstance(source, dict) else {}


class PageFolder:
    """Loads and saves pages. `settings` is the hash of what they are read with."""

    def __init__(self, path: Path, document: Document, settings: str) -> None:
        self.path = path
        self.document = document
        self.settings = settings
        self.source = source_signature(document)
        self._taken = False
        remove_stale(path)

    def other_owner(self) -> str | None:
        """The path of another input whose pages lie here (`-` for standard input); None if there is none."""
        owner = read_json(self._owner)
        if not isinstance(owner, dict) or "source" not in owner or same_source(owner["source"], self.source):
            return None
        path = owner["source"].get("path")
        return None if path is not None and path == self.source["path"] else path or "-"

    def load(self, number: int) -> Stored | None:
        """The page as it was read from this source with these settings; None if it must be read."""
        markdown, path = self._files(number)
        try:
            data = path.read_bytes()
            record = PageRecord.from_json(json.loads(data))
        except (OSError, ValueError):
            return None
        if record is None or record.data.get("settings") != self.settings:
            return None
        if not same_source(record.data.get("source"), self.source):
            return None
        if record.error is None and not all(p.exists() for p in (markdown, *map(self.path.joinpath, record.figures))):
            return None
        return Stored(record, hashlib.sha256(data).hexdigest())

    def save(self, result: PageResult) -> str:
        """Put a page on disk, failed or not; return the digest that `load` will give.

        Raises:
            OutputError: it cannot be written.
        """
        self._take_over()
        record = PageRecord.from_result(result, with_figures=True, **make_bookkeeping(self.settings, self.source))
        markdown, path = self._files(result.ref.number)
        if result.error is None:
            if self.load(result.ref.number) is not None:
                remove(path)  # killed after the next line, the page must count as unread
            self._save_figures(result)
            write_atomically(markdown, [record.markdown.strip("\n") + "\n"])
        digest = write_atomically(path, [to_json_file(record.data)])
        if result.error is not None:
            remove(markdown)
            self._remove_figures(result.ref.number)
        return digest

    def _save_figures(self, result: PageResult) -> None:
        files = {self.path / figure_path(result.ref.number, f.number): f.png for f in result.figures}
        for path, png in files.items():
            write_atomically(path, [png])
        self._remove_figures(result.ref.number, keep=files)

    def _remove_figures(self, number: int, keep: Collection[Path] = ()) -> None:
        folder = (self.path / figure_path(number, 0)).parent
        for path in folder.glob(f"{number:04}-*.png"):
            if path not in keep:
                remove(path)

    def stamp(self) -> list[tuple[int, int] | None]:
        """Changes when any selected page is written anew: cheaper than reading them all."""
        return [self._stamp_of(self._files(number)[1]) for number in self.document.page_numbers()]

    def _stamp_of(self, path: Path) -> tuple[int, int] | None:
        with suppress(OSError):
            status = os.stat(path)
            return status.st_mtime_ns, status.st_ino
        return None

    @property
    def _owner(self) -> Path:
        return self.path / "document.json"

    def _files(self, number: int) -> tuple[Path, Path]:
        return self.path / f"{number:04}.md", self.path / f"{number:04}.json"

    def _take_over(self) -> None:
        """Write down whose pages these are; pages of what was here before go away."""
        if self._taken:
            return
        before = read_json(self._owner)
        if isinstance(before, dict) and not same_source(before.get("source"), self.source):
            self._discard_other_sources()
        facts = {"source": self.source, "name": self.document.name, "num_pages": self.document.num_pages}
        write_atomically(self._owner, [to_json_file(facts)])
        self._taken = True

    def _discard_other_sources(self) -> None:
        for path in self.path.glob("*.json"):
            if path.stem.isdigit():
                page = read_json(path)  # another process may have written a page of the new source by now
                if not (isinstance(page, dict) and same_source(page.get("source"), self.source)):
                    remove(path)
                    remove(path.with_suffix(".md"))
                    self._remove_figures(int(path.stem))
