"""An engine that reads nothing: what a page gives depends on words in its document's name. For tests of the command.

Run as a program it is the `fastocr` command with this engine, for tests that need a process of their own.
"""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from typing import Any, Self

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ModelError
from fastocr_cli.pages.refs import PageRef, PageResult


class StubEngine:
    """`fail`, `cut`, `warn`, `print`, `boom`, `stop`, `term`, `slow` in a document's name make its pages do so."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]:
        for ref in refs:
            yield self.read_page(ref)

    def read_page(self, ref: PageRef) -> PageResult:
        name = ref.document.name
        if "print" in name:
            print("a library chats")
            os.write(1, b"a C library chats\n")
        if "boom" in name:
            raise RuntimeError("the stub was told to break")
        if "stop" in name and ref.number == 3:
            raise KeyboardInterrupt
        if "term" in name and ref.number == 3:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(5)
        if "fail" in name:
            return PageResult(ref, error="the stub was told to fail", finish_reason="error")
        return PageResult(
            ref,
            markdown=f"text of page {ref.number} ✓ 中\n",
            finish_reason="length" if "cut" in name else "stop",
            warnings=("half of it is missing",) if "warn" in name else (),
            num_new_tokens=7,
            visual_kv_read=0.25,
        )


class MissingModel(StubEngine):
    """An engine whose weights are not here."""

    def __enter__(self) -> Self:
        raise ModelError("The weights of stub are not on this machine.", "Run: fastocr models download stub")


def install(engine: Any = StubEngine) -> None:
    from fastocr_cli import pipeline

    pipeline.open_engine = engine


if __name__ == "__main__":
    from fastocr_cli.cli import main

    install()
    main()
