"""Standard output carries results and nothing else, whatever a library prints. Knows nothing of what is written."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TextIO

from fastocr_cli.errors import OutputError

_kept: TextIO | None = None


def results() -> TextIO:
    """Where results go: standard output as UTF-8, or what `results_only` kept of it.

    Raises:
        OutputError: standard output is closed.
    """
    stream = _kept or sys.stdout
    if stream is None:
        raise OutputError("Standard output is closed.", "Name a folder with -o DIR.")
    return stream


@contextmanager
def results_only() -> Iterator[None]:
    """Within, `print` and C libraries write to standard error; only `results()` reaches standard output.

    Raises:
        OutputError: what was written could not be delivered, for example to a full disk.
        BrokenPipeError: the reader of standard output has gone.
    """
    global _kept  # the process has one standard output
    shown = sys.stdout
    _kept, restore = _keep_standard_output()
    sys.stdout = sys.stderr
    try:
        yield
        if _kept is not None:
            _kept.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.filename is not None:  # some other file's trouble
            raise
        raise OutputError(
            f"Standard output cannot be written: {error.strerror}.", "Name a folder with -o DIR."
        ) from error
    finally:
        restore()
        sys.stdout, _kept = shown, None


def _keep_standard_output() -> tuple[TextIO | None, Callable[[], None]]:
    """The stream for results, and how to put things back."""
    try:
        number = sys.stdout.fileno()
        copy = os.dup(number)
    except (AttributeError, OSError):  # closed, or replaced by something that is no file
        return sys.stdout, lambda: None
    sys.stdout.flush()
    os.dup2(2, number)  # C libraries write to the number, not to the Python object
    stream = open(os.dup(copy), "w", encoding="utf-8", errors="replace", newline="\n")  # noqa: SIM115

    def restore() -> None:
        with suppress(OSError):  # reported where it was flushed
            stream.close()
        os.dup2(copy, number)
        os.close(copy)

    return stream, restore
