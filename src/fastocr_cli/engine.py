"""Where readers run. An engine places readers and knows nothing of models."""

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Protocol, Self

from fastocr_cli.config import RunConfig
from fastocr_cli.engine_processes import ProcessEngine
from fastocr_cli.models import hub
from fastocr_cli.pages import PageRef, PageResult


class Engine(Protocol):
    """Turns page references into results; their order is free, each carries its reference."""

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]: ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class LocalEngine:
    """One reader in this process."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config

    def __enter__(self) -> Self:
        hub.require_folder(hub.find_checkpoint(self.config.model))  # missing weights are said before torch is loaded
        from fastocr_cli.reader import Reader  # imports torch: not before a page is to be read

        self.reader = Reader(self.config)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self.reader

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]:
        return self.reader.read(refs)


def open_engine(config: RunConfig) -> Engine:
    """The engine that `config` asks for."""
    return LocalEngine(config) if config.gpus is None else ProcessEngine(config)
