"""FolderWriter: results as files that survive a kill at any moment and resume page by page.

Knows which documents are open and when one is complete; pages and documents write themselves.
"""

import errno
import hashlib
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from types import TracebackType
from typing import Any, Self

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ConfigError, FastOCRError, OutputError
from fastocr_cli.output.documents import DocumentFile
from fastocr_cli.output.files import (
    append_line,
    cannot_write,
    check_writable,
    read_json,
    remove,
    remove_stale,
    to_json,
    to_json_file,
    write_atomically,
)
from fastocr_cli.output.formats import FORMATS
from fastocr_cli.output.page_folder import PageFolder
from fastocr_cli.pages.refs import BadInput, Document, PageRef, PageResult

logger = logging.getLogger("fastocr")

DOOMING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""Failures that the next document would meet too."""


class RefusedError(OutputError):
    """One document cannot be written where it belongs; the others can."""


@dataclass
class OpenDocument:
    """A document of which some pages are still to come."""

    pages: PageFolder
    file: DocumentFile
    digests: dict[int, str] = field(default_factory=dict)
    """Pages known to be on disk."""
    is_vetted: bool = False
    """The file under its name is ours, or there is none."""
    _waiting: Iterator[int] = field(init=False)
    _next: int | None = field(init=False)

    def __post_init__(self) -> None:
        self._waiting = self.pages.document.page_numbers()
        self._next = next(self._waiting, None)

    def is_complete(self, *, look_on_disk: bool) -> bool:
        """Every selected page is on disk. Other processes' pages are seen only if asked for."""
        while self._next is not None:
            if self._next not in self.digests:
                stored = self.pages.load(self._next) if look_on_disk else None
                if stored is None:
                    return False
                self.digests[self._next] = stored.digest
            self._next = next(self._waiting, None)
        return True


class FolderWriter:
    """`root/<name>.pages/` and `root/<name>.md` for each document; with `single`, one document under that name."""

    def __init__(self, config: RunConfig, root: Path, format_name: str, single: str | None = None) -> None:
        self.config = config
        self.root = root
        self.format_name = format_name
        self.single = single
        fingerprint = to_json(config.fingerprint())
        self.fingerprint: dict[str, Any] = json.loads(fingerprint)  # as it would come back from disk
        self.settings = hashlib.sha256(fingerprint.encode("utf-8", "backslashreplace")).hexdigest()[:16]
        self._home = root / f"{single}.pages" if single else root
        self._open: dict[str, OpenDocument] = {}
        self._swept: set[Path] = set()
        self._settings_noted = False
        self._single_seen: str | None = None

    def __enter__(self) -> Self:
        check_writable(self._home)
        self._check_settings()
        remove(self._failures)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, OutputError) or self.config.shard:  # other shards hold the missing pages
            return
        try:
            for opened in list(self._open.values()):
                if opened.digests:
                    self._vet(opened)
                    opened.file.assemble()
        except FastOCRError as second:
            if error is None:
                raise
            logger.warning("%s", second)

    def done(self, ref: PageRef) -> str | None:
        """How an earlier run finished this page; None if it is to be read.

        Raises:
            RefusedError: its document cannot be written.
            ConfigError: a second document where there is room for one.
        """
        opened = self._opened(ref.document)
        stored = None if self.config.overwrite else opened.pages.load(ref.number)
        if stored is None or stored.record.error is not None:
            if not opened.is_vetted:
                self._vet(opened)
                self._make_folder(opened)
                opened.is_vetted = True
            return None
        opened.digests[ref.number] = stored.digest
        self._finish_if_complete(opened)
        return stored.record.finish_reason

    def write(self, result: PageResult) -> None:
        """Put a page on disk, and its document as soon as all its pages are there.

        Raises:
            OutputError: disk full and the like.
            RefusedError: its document's file became someone else's.
            ConfigError: another process reads the same folder with other settings.
        """
        opened = self._opened(result.ref.document)
        if result.error is None:
            self._note_settings()
        earlier = None if self.config.overwrite else opened.pages.load(result.ref.number)
        if earlier is not None and earlier.record.error is None:  # another run was faster
            opened.digests[result.ref.number] = earlier.digest
        else:
            opened.digests[result.ref.number] = opened.pages.save(result)
        if result.error is not None:
            source = result.ref.document.source or str(result.ref.document.path)
            append_line(self._failures, {"source": source, "page": result.ref.number, "error": result.error})
        self._finish_if_complete(opened)

    def note_bad_input(self, bad: BadInput) -> None:
        """List an input that gave no pages with what failed."""
        append_line(self._failures, {"source": bad.source, "page": None, "error": str(bad.error)})

    @property
    def _failures(self) -> Path:
        """What this run left unread, one line each; begun anew by every run, one file for each shard."""
        shard = self.config.shard
        return self._home / (f"failed-{shard[0]}-of-{shard[1]}.jsonl" if shard else "failed.jsonl")

    @property
    def _settings_path(self) -> Path:
        return self._home / ".fastocr.json"

    def _check_settings(self) -> None:
        before = read_json(self._settings_path)
        if self.config.overwrite or not isinstance(before, dict):
            return
        default = json.loads(to_json(RunConfig().fingerprint()))  # a setting that an older version did not have
        changes = [
            f"{name} was {to_json(old)}, is now {to_json(new)}"
            for name, new in self.fingerprint.items()
            if (old := before.get(name, default[name])) != new
        ]
        if changes:
            raise ConfigError(
                f"{self._home} holds pages read with other settings: {'; '.join(changes)}.",
                "Add --overwrite to read them again, or choose another place with -o.",
            )

    def _note_settings(self) -> None:
        """Only when a page succeeds: a run that failed for its settings must not stand in the way of better ones."""
        if not self._settings_noted:
            self._check_settings()
            write_atomically(self._settings_path, [to_json_file(self.fingerprint)])
            self._settings_noted = True

    def _opened(self, document: Document) -> OpenDocument:
        if document.name not in self._open:
            base = self._base(document)
            if base.parent not in self._swept:
                self._swept.add(base.parent)
                remove_stale(base.parent)
            pages = PageFolder(base.with_name(f"{base.name}.pages"), document, self.settings)
            path = base.with_name(base.name + FORMATS[self.format_name].suffix)
            file = DocumentFile(path, pages, self.format_name, page_marks=self.config.page_marks)
            if not self.config.overwrite and (owner := pages.other_owner()):
                raise RefusedError(
                    f"{pages.path} holds the pages of {owner}, not of {document.source or document.path}.",
                    "Choose another place with -o, or add --overwrite.",
                )
            self._open[document.name] = OpenDocument(pages, file)
        return self._open[document.name]

    def _base(self, document: Document) -> Path:
        """Output path without ending."""
        if self.single is not None:
            if self._single_seen not in (None, document.name):
                raise ConfigError("The input holds several documents; -o names one file.", "Give -o a folder.")
            self._single_seen = document.name
            return self.root / self.single
        name = PurePath(document.name)
        if name.is_absolute() or ".." in name.parts:
            raise RefusedError(f"{document.name} lies outside {self.root}.")
        return self.root / name

    def _vet(self, opened: OpenDocument) -> None:
        """Never replace what someone else wrote, unless told to."""
        if not self.config.overwrite and opened.file.is_foreign():
            del self._open[opened.pages.document.name]
            raise RefusedError(
                f"{opened.file.path} was not written by fastocr, or was changed since.",
                "Move it away, choose another place with -o, or add --overwrite.",
            )

    def _make_folder(self, opened: OpenDocument) -> None:
        """Meet a name too long or a file in the way before the page is read, and for this document alone."""
        try:
            opened.pages.path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            del self._open[opened.pages.document.name]
            failure = cannot_write(opened.pages.path, error)
            raise failure if error.errno in DOOMING else RefusedError(failure.message, failure.hint) from error

    def _finish_if_complete(self, opened: OpenDocument) -> None:
        if not opened.is_complete(look_on_disk=self.config.shard is not None):
            return
        if not opened.file.is_current(opened.digests):
            self._vet(opened)
            opened.file.assemble()
        del self._open[opened.pages.document.name]
