"""From what the user typed to a list of files: folders walked, globs expanded, the same file once.

Looks at names, and at the first bytes of files whose name says nothing. Opens no document.

The rules: hidden files and folders are passed over unless named outright; links to folders are followed, but no
folder is entered twice; a file in a folder that is no document is passed over and counted; endings and globs know
no case; what fastocr itself wrote is no input.
"""

import fnmatch
import glob
import os
import stat
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fastocr_cli.errors import InputError
from fastocr_cli.pages.kinds import has_document_ending, kind_of
from fastocr_cli.pages.refs import BadInput

STDIN = "-"


@dataclass(frozen=True)
class Candidate:
    """A file that should be a document, and the name it would like for its results."""

    path: str
    """Absolute; `-` for standard input."""
    name: str
    """Relative to the output folder, without ending, `/` between parts."""
    source: str
    """As the user gave it."""
    piped: bool = False
    """Standard input or a named pipe: can be read only once."""

    @property
    def ending(self) -> str:
        return Path(self.path).suffix


@dataclass
class Found:
    """Everything that the inputs name, in order."""

    items: list[Candidate | BadInput] = field(default_factory=list)
    passed_over: Counter[str] = field(default_factory=Counter)
    """Number of files in folders that are no documents, by ending."""
    num_twice: int = 0
    """Files that came up a second time, by another path or a link."""
    seen: set[str] = field(default_factory=set, repr=False)
    real_folders: dict[str, str] = field(default_factory=dict, repr=False)

    def add(self, path: str, name: str, source: str, *, piped: bool = False) -> None:
        if path != STDIN and not os.path.isabs(path):
            path = os.path.join(os.getcwd(), path)  # abspath would cut `link/..` short and arrive at another file
        real = self._real_path(path) if path != STDIN else STDIN
        if real in self.seen:
            self.num_twice += 1
            return
        self.seen.add(real)
        self.items.append(Candidate(path, name, source, piped))

    def _real_path(self, path: str) -> str:
        """As os.path.realpath, but the file system is asked for a folder only once: there may be a million files."""
        if os.path.islink(path):
            return os.path.realpath(path)
        folder, name = os.path.split(path)
        if folder not in self.real_folders:
            self.real_folders[folder] = os.path.realpath(folder)
        return os.path.join(self.real_folders[folder], name)

    def reject(self, source: str, message: str, hint: str) -> None:
        self.items.append(BadInput(source, InputError(message, hint)))


def find_files(inputs: Sequence[str]) -> Found:
    """Every file that `inputs` name, in order, and what is wrong with the rest."""
    found = Found()
    for given in inputs:
        if given == STDIN:
            found.add(STDIN, "stdin", STDIN, piped=True)
        elif os.path.isdir(given):
            _add_folder(found, given)
        elif os.path.lexists(given):
            _add_file(found, given)
        elif glob.has_magic(given):
            _add_glob(found, given)
        else:
            found.reject(given, f"{given} does not exist.", "Check the path.")
    return found


def _add_file(found: Found, given: str) -> None:
    try:
        mode = os.stat(given).st_mode
    except OSError as error:
        found.reject(given, f"{given} cannot be read: {error.strerror}.", "Check the path.")
        return
    if stat.S_ISREG(mode) or stat.S_ISFIFO(mode):
        found.add(given, Path(given).stem, given, piped=stat.S_ISFIFO(mode))
    else:
        found.reject(given, f"{given} is not a regular file.", "Give a PDF, an image or a folder.")


def _add_folder(found: Found, folder: str, inside: str = "") -> None:
    """Add the documents below `folder`; their names begin with `inside`."""
    num_before = len(found.items) + found.num_twice
    for relative in _walk(found, folder):
        path = os.path.join(folder, relative)
        if _looks_like_document(path):
            found.add(path, os.path.join(inside, os.path.splitext(relative)[0]), path)
        else:
            found.passed_over[Path(relative).suffix.lower() or "no ending"] += 1
    if len(found.items) + found.num_twice == num_before:
        found.reject(folder, f"{folder} holds no PDF or image.", "Hidden files are not looked at: name them outright.")


def _add_glob(found: Found, pattern: str) -> None:
    """Expand a pattern that the shell left alone; names mirror the tree below its fixed part."""
    parts = Path(pattern).parts
    num_fixed = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    base = os.path.join(*parts[:num_fixed]) if num_fixed else os.curdir
    matches = sorted(set(_match(found, base, parts[num_fixed:])))
    for match in matches:
        relative = _below(base, match)
        path = match if num_fixed else relative
        if os.path.isdir(path):
            _add_folder(found, path, relative)
        elif os.path.isfile(path) and _looks_like_document(path):
            found.add(path, os.path.splitext(relative)[0], path)
        else:
            found.passed_over[Path(path).suffix.lower() or "no ending"] += 1
    if not matches:
        found.reject(pattern, f"No file matches {pattern}.", "Check the pattern.")


def _match(found: Found, folder: str, parts: Sequence[str]) -> Iterator[str]:
    """Paths below `folder` that match `parts`. Python's own glob would follow links in circles under `**`."""
    part, rest = parts[0], parts[1:]
    if part == "**":
        if not rest:
            yield from (os.path.join(folder, relative) for relative in _walk(found, folder))
            return
        for inner in _folders(found, folder):
            yield from _match(found, inner, rest)
        return
    if not glob.has_magic(part):
        names: Iterable[str] = [part] if os.path.lexists(os.path.join(folder, part)) else []
    else:
        names = (entry.name for entry in _entries(found, folder, hidden=part.startswith(".")))
        names = [name for name in names if fnmatch.fnmatchcase(name.lower(), part.lower())]
    for name in names:
        path = os.path.join(folder, name)
        if not rest:
            yield path
        elif os.path.isdir(path):
            yield from _match(found, path, rest)


def _walk(found: Found, top: str) -> list[str]:
    """Files below `top`, relative to it, sorted part by part."""
    files = []
    for folder in _folders(found, top):
        for entry in _entries(found, folder):
            if not _is_folder(entry):
                files.append(_below(top, entry.path))
    return sorted(files, key=lambda path: path.split(os.sep))


def _folders(found: Found, top: str) -> Iterator[str]:
    """`top` and all folders below it. Real folders come before links, each real folder once: no endless loops."""
    queue, links, seen = deque([top]), deque[str](), set[str]()
    while queue or links:
        folder = (queue or links).popleft()
        real = os.path.realpath(folder)
        if real in seen:
            continue
        seen.add(real)
        yield folder
        for entry in _entries(found, folder, report=False):
            if _is_folder(entry) and not _is_ours(entry.path):
                (links if entry.is_symlink() else queue).append(entry.path)


def _entries(found: Found, folder: str, *, hidden: bool = False, report: bool = True) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            listed = [entry for entry in entries if hidden or not entry.name.startswith(".")]
    except OSError as error:
        if report:
            found.reject(folder, f"{folder} cannot be listed: {error.strerror}.", "Check its permissions.")
        return []
    return sorted(listed, key=lambda entry: entry.name)


def _is_ours(folder: str) -> bool:
    """Pages that an earlier run wrote: the figures among them are no documents."""
    return folder.endswith(".pages") and os.path.isfile(os.path.join(folder, "document.json"))


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that goes in a circle
        return False


def _below(top: str, path: str) -> str:
    """`path` without the `top` that it was joined to."""
    return path[len(os.path.join(top, "")) :]


def _looks_like_document(path: str) -> bool:
    """By its ending, else by its first bytes; a file with the right ending is judged when it is opened."""
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            return False
        return has_document_ending(path) or kind_of(path) is not None
    except OSError:
        return has_document_ending(path)
