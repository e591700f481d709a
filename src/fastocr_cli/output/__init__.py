"""Where results go: a folder that resumes, one named file, or standard output.

Knows how `-o` chooses among them; formats are rows of `FORMATS`.
"""

import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ConfigError, OutputError
from fastocr_cli.output.folder import FolderWriter, RefusedError
from fastocr_cli.output.formats import FORMATS
from fastocr_cli.output.stdout import OutputClosed, StdoutWriter
from fastocr_cli.pages.refs import BadInput, PageRef, PageResult

__all__ = ["FORMATS", "OutputClosed", "RefusedError", "Writer", "open_writer"]


class Writer(Protocol):
    """Takes results in any order. Leaving the context completes what can be completed."""

    def done(self, ref: PageRef) -> str | None:
        """How an earlier run finished this page (its finish reason); None if it is to be read."""
        ...

    def write(self, result: PageResult) -> None: ...

    def note_bad_input(self, bad: BadInput) -> None: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def open_writer(config: RunConfig, inputs: Sequence[str]) -> Writer:
    """The writer that `config.output` asks for.

    Raises:
        ConfigError: several documents for standard output or for one file; a file's ending against the format.
        OutputError: a file where the folder should be.
    """
    if config.output is None or str(config.output) == "-":
        if config.shard:
            raise ConfigError("--shard splits a run among processes; standard output is one.", "Give a folder with -o.")
        _check_single(inputs, "Standard output takes one document", "Give a folder with -o.")
        return StdoutWriter(config)
    output = Path(config.output)  # from Python it may come as text
    format_name = _format_of(output)
    is_folder = os.path.isdir(output)
    if format_name is None or is_folder:
        if os.path.exists(output) and not is_folder:
            raise OutputError(f"{output} is a file.", "Give a folder with -o, or a file that ends in .md.")
        return FolderWriter(config, output, config.format)
    if config.format not in (RunConfig.format, format_name):
        raise ConfigError(f"{output} does not end like --format {config.format}.", "Leave one of them out.")
    _check_single(inputs, f"{output} is one file", "Give a folder: -o out/")
    return FolderWriter(config, output.parent, format_name, single=output.stem)


def _format_of(path: Path) -> str | None:
    """The format whose ending `path` has; None if it reads like a folder."""
    return next((name for name, row in FORMATS.items() if row.suffix == path.suffix.lower()), None)


def _check_single(inputs: Sequence[str], why: str, hint: str) -> None:
    """Whether a command is right must not depend on how many files a folder happens to hold today."""
    if len(inputs) > 1:
        raise ConfigError(f"{why}, but there are {len(inputs)} inputs.", hint)
    for name in inputs:
        if os.path.isdir(name) or (not os.path.exists(name) and any(c in name for c in "*?[")):
            raise ConfigError(f"{why}, but {name} may hold many.", hint)
