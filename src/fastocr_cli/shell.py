"""Around every command: `convert` need not be named, a failure becomes a sentence and an exit code.

Knows Typer; knows no command.
"""

import errno
import logging
import os
import sys
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from fastocr_cli.errors import ExitCode, FastOCRError, ModelError, OutputError

log = logging.getLogger("fastocr")


class Commands(TyperGroup):
    """The commands; `convert` need not be named, and what any of them raises becomes a sentence and an exit code."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        with failures_told():
            return super().make_context(*args, **more)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`fastocr report.pdf` means `fastocr convert report.pdf`; so it is with `fastocr -f html x.pdf` and a typo."""
        if args and not set(args) & set(self.commands) and (self._is_convert_option(ctx, args[0]) or _is_path(args[0])):
            args = ["convert", *args]
        return super().parse_args(ctx, args)

    def _is_convert_option(self, ctx: Any, word: str) -> bool:
        ours = {name for parameter in self.get_params(ctx) for name in parameter.opts}
        return len(word) > 1 and word.startswith("-") and word.partition("=")[0] not in ours

    def invoke(self, ctx: Any) -> Any:
        with failures_told():
            return super().invoke(ctx)


def _is_path(word: str) -> bool:
    """There is such a file, or only a path looks like this."""
    return word == "-" or os.path.lexists(word) or any(c in word for c in "./\\*?[")


@contextmanager
def failures_told() -> Iterator[None]:
    """The one place where a failure becomes a sentence and an exit code."""
    try:
        yield
    except (typer.Exit, typer.Abort, typer.TyperException):
        raise
    except KeyboardInterrupt:
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except Exception as error:
        fail(error)


def fail(error: Exception) -> NoReturn:
    """Say what happened and what to do, and leave with the exit code."""
    if log.isEnabledFor(logging.INFO):
        traceback.print_exception(error, file=sys.stderr)
    if isinstance(error, BrokenPipeError):  # `| head` has seen enough
        raise typer.Exit(ExitCode.DONE)
    if isinstance(error, ImportError) and error.name and not error.name.startswith("fastocr_cli"):
        error = ModelError(f"The library {error.name} is missing or broken: {error}.", "Run: fastocr doctor")
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        error = OutputError(f"Cannot write {error.filename or 'standard output'}: {error.strerror}.", "Make room.")
    if isinstance(error, FastOCRError):
        say(f"Error: {error}")
        raise typer.Exit(error.exit_code)
    say(f"Unexpected error: {type(error).__name__}: {error}", "Run it again with -v and report what it shows.")
    raise typer.Exit(ExitCode.UNEXPECTED)


def say(*lines: str) -> None:
    """Messages go to standard error."""
    for line in lines:
        print(line, file=sys.stderr)


class ToStandardError(logging.Handler):
    """Looks standard error up for each record, so that a running bar can step aside."""

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record))


def set_up_logging(verbose: int, quiet: bool = False) -> None:
    """-v and -vv tell more, -q tells only errors."""
    log.setLevel(logging.ERROR if quiet else (logging.WARNING, logging.INFO, logging.DEBUG)[min(verbose, 2)])
    if not log.handlers:
        log.addHandler(ToStandardError())


def print_table(rows: Iterable[Sequence[str]]) -> None:
    """Aligned columns on standard output, the last one as long as it likes."""
    lines = [[str(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
