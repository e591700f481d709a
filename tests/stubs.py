"""Documents and engines that need no file and no model, for tests of what lies around them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from fastocr_cli.config import RunConfig
from fastocr_cli.pages.refs import BadInput, Document, PageRef, PageResult

Reply = Callable[[PageRef], PageResult]


def make_document(path: Path, num_pages: int, *, name: str = "", selected: Sequence[range] = ()) -> Document:
    """A document of which only the file's size and time matter; an absent file is made."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"stub of {num_pages} pages")
    chosen = tuple(selected) or (range(1, num_pages + 1),)
    return Document(path, name or path.stem, num_pages, chosen, source=str(path))


def refs_of(document: Document) -> list[PageRef]:
    return [PageRef(document, number) for number in document.page_numbers()]


def read_well(ref: PageRef) -> PageResult:
    """Each page has words of its own."""
    return PageResult(ref, markdown=f"Text of {ref.document.name}, page {ref.number}.", num_new_tokens=7)


def fail_on(*numbers: int) -> Reply:
    """Pages of these numbers fail."""

    def reply(ref: PageRef) -> PageResult:
        if ref.number in numbers:
            return PageResult(ref, error=f"page {ref.number} would not draw", finish_reason="error")
        return read_well(ref)

    return reply


class StubEngine:
    """Answers with `reply`; reads ahead by `batch` pages and gives each batch back in reverse."""

    def __init__(self, reply: Reply = read_well, *, batch: int = 1) -> None:
        self.reply = reply
        self.batch = batch
        self.num_opened = 0
        self.read_pages: list[str] = []

    def __call__(self, config: RunConfig) -> Self:
        return self

    def __enter__(self) -> Self:
        self.num_opened += 1
        return self

    def __exit__(self, *exc: object) -> None: ...

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]:
        waiting: list[PageRef] = []
        for ref in refs:
            waiting.append(ref)
            if len(waiting) == self.batch:
                yield from self._answer(waiting)
        yield from self._answer(waiting)

    def _answer(self, waiting: list[PageRef]) -> Iterator[PageResult]:
        while waiting:
            ref = waiting.pop()
            self.read_pages.append(f"{ref.document.name}:{ref.number}")
            yield self.reply(ref)


def find_stub(found: Sequence[Document | BadInput]) -> Callable[..., Iterator[PageRef | BadInput]]:
    """A `find_pages` that finds just these, sharded as the real one shards."""

    def find_pages(inputs: Sequence[str], config: RunConfig) -> Iterator[PageRef | BadInput]:
        index, num_shards = config.shard or (1, 1)
        position = 0
        for item in found:
            if isinstance(item, BadInput):
                yield item
                continue
            for ref in refs_of(item):
                if position % num_shards == index - 1:
                    yield ref
                position += 1

    return find_pages


class Watcher:
    """Events, as a list of words."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def on_page(self, result: PageResult) -> None:
        self.seen.append(f"page {result.ref.number}")

    def on_skip(self, ref: PageRef) -> None:
        self.seen.append(f"skip {ref.number}")

    def on_bad_input(self, bad: BadInput) -> None:
        self.seen.append(f"bad {bad.source}")


def install(monkeypatch: Any, engine: StubEngine, found: Sequence[Document | BadInput]) -> None:
    """Put an engine and what is found in place of the real ones."""
    monkeypatch.setattr("fastocr_cli.pipeline.open_engine", engine)
    monkeypatch.setattr("fastocr_cli.pipeline.find_pages", find_stub(found))
