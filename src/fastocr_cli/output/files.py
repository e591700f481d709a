"""Files that are either whole or absent: written beside their final name, then renamed.

Knows the file system and its failures; knows nothing of pages or documents.
"""

import errno
import hashlib
import json
import math
import os
import secrets
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from fastocr_cli.errors import OutputError

if sys.platform != "win32":
    import fcntl

PREFIX, SUFFIX = ".fastocr-", ".tmp"
STALE_AFTER_S = 3600.0
"""Age at which a temporary file counts as left behind where locks do not tell."""
NO_FSYNC = (errno.EINVAL, errno.ENOTSUP)


def write_atomically(
    path: Path, chunks: Iterable[str | bytes], before_rename: Callable[[str], None] | None = None
) -> str:
    """Write bytes, or text as UTF-8, under a temporary name, flush to disk, rename to `path`; return the SHA-256.

    `before_rename` is called with the SHA-256 once the content is complete. Lone surrogates, which UTF-8 cannot
    hold, become `\\udc80` escapes: readable in text and the same string again in JSON.

    Raises:
        OutputError: disk full, folder not writable and the like; nothing is left behind.
    """
    digest = hashlib.sha256()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with temporary_file(path.parent) as (temporary, file):
            for chunk in chunks:
                data = chunk if isinstance(chunk, bytes) else chunk.encode("utf-8", "backslashreplace")
                digest.update(data)
                file.write(data)
            flush_to_disk(file)
            if before_rename is not None:
                before_rename(digest.hexdigest())
            if os.name == "nt":  # Windows renames no open file; elsewhere the lock is held until the rename is done
                file.close()
            os.replace(temporary, path)
    except OSError as error:
        raise cannot_write(path, error) from error
    return digest.hexdigest()


def flush_to_disk(file: BinaryIO) -> None:
    """Survive a power cut, not only a killed process; some network file systems know no fsync."""
    file.flush()
    try:
        os.fsync(file.fileno())
    except OSError as error:
        if error.errno not in NO_FSYNC:
            raise


@contextmanager
def temporary_file(folder: Path) -> Iterator[tuple[Path, BinaryIO]]:
    """A new file in `folder`, locked while it lives so that no other run takes it for a leftover.

    It is removed at the end unless it was renamed.
    """
    while True:
        path = folder / f"{PREFIX}{secrets.token_hex(8)}{SUFFIX}"
        file = path.open("xb")
        _lock(file)
        if os.fstat(file.fileno()).st_nlink or os.name == "nt":
            break
        file.close()  # another run swept it between creation and lock
    try:
        yield path, file
    finally:
        with suppress(OSError):  # closing flushes: on a full disk it fails once more
            file.close()
        path.unlink(missing_ok=True)


def remove_stale(folder: Path) -> None:
    """Remove temporary files that a killed run left in `folder`; those of a living run stay."""
    with suppress(OSError):
        for entry in os.scandir(folder):
            if entry.name.startswith(PREFIX) and entry.name.endswith(SUFFIX) and _is_stale(Path(entry.path)):
                Path(entry.path).unlink(missing_ok=True)


def _is_stale(path: Path) -> bool:
    try:
        with path.open("rb+") as file:
            if _lock(file):
                return True
            return time.time() - os.fstat(file.fileno()).st_mtime > STALE_AFTER_S
    except OSError:
        return False


def _lock(file: BinaryIO) -> bool:
    """Whether this process now holds the file; False also where the file system has no locks."""
    if sys.platform == "win32":
        return False
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove(path: Path) -> None:
    """Remove a file that need not be there.

    Raises:
        OutputError: it is there and stays.
    """
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def to_json(value: Any) -> str:
    """JSON text. Numbers that JSON lacks (NaN, infinity) become null; objects that it lacks become their text."""
    return json.dumps(_finite(value), ensure_ascii=False, default=str, allow_nan=False)


def to_json_file(value: dict[str, Any]) -> str:
    """The same with each key on a line of its own, for people who look into the file."""
    return "{\n" + ",\n".join(f"{to_json(key)}: {to_json(item)}" for key, item in value.items()) + "\n}\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, dict):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def append_line(path: Path, value: dict[str, Any]) -> None:
    """Append one JSON line in a single write, so that a killed process leaves no half of it.

    Raises:
        OutputError: it cannot be written.
    """
    data = (to_json(value) + "\n").encode("utf-8", "backslashreplace")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab", buffering=0) as file:
            file.write(data)
    except OSError as error:
        raise cannot_write(path, error) from error


def read_json(path: Path) -> Any:
    """What the file holds; None if it is absent or no JSON."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON-lines file; an absent file has none, and a torn line is passed over."""
    with suppress(OSError), path.open("rb") as file:
        for line in file:
            with suppress(ValueError):
                value = json.loads(line)
                if isinstance(value, dict):
                    yield value


def file_sha256(path: Path) -> str | None:
    """SHA-256 of a file; None if it cannot be read."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return None


def check_writable(folder: Path) -> None:
    """Make `folder` and prove that files can be written there, before a model is loaded for nothing.

    Raises:
        OutputError: they cannot.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with temporary_file(folder) as (_, file):
            file.write(b"fastocr")
            file.flush()
    except OSError as error:
        raise cannot_write(folder, error) from error


def cannot_write(path: Path | str, error: OSError) -> OutputError:
    """The error that a user understands, with what to do next."""
    hint = "Choose another place with -o."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        hint = "Make room, then run the same command again: it goes on where it stopped."
    return OutputError(f"Cannot write {path}: {error.strerror or error}.", hint)
