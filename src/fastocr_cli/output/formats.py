"""FORMATS: how a document looks as one file. A format is fed page by page and holds none of them.

Knows Markdown and JSON (HTML has its own file); knows nothing of where the text goes.
"""

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import NamedTuple, Protocol

from fastocr_cli.output.files import to_json
from fastocr_cli.output.records import PageRecord
from fastocr_cli.pages.refs import Document

CUT = {"length": "the reply reached the token limit", "loop": "the reply began to repeat itself"}


class Format(Protocol):
    """One document being written: `head`, then `page` in page order, then `tail`."""

    def __init__(self, document: Document, *, page_marks: bool) -> None: ...

    def head(self) -> str: ...

    def page(self, number: int, record: PageRecord | None) -> str:
        """`record` is None for a page that has not been read."""
        ...

    def tail(self) -> str: ...


class FormatRow(NamedTuple):
    suffix: str
    where: str
    """`module:class`, imported when used."""
    summary: str


FORMATS: dict[str, FormatRow] = {
    "md": FormatRow(".md", "fastocr_cli.output.formats:Markdown", "Markdown, page numbers in comments"),
    "json": FormatRow(".json", "fastocr_cli.output.formats:Json", "one object with the document's pages and all facts"),
    "html": FormatRow(".html", "fastocr_cli.output.html:Html", "one self-contained file for a browser, offline"),
}


def open_format(name: str, document: Document, *, page_marks: bool) -> Format:
    """A format of this name, ready for its head."""
    module, _, cls = FORMATS[name].where.partition(":")
    made: Format = getattr(import_module(module), cls)(document, page_marks=page_marks)
    return made


def render(made: Format, pages: Iterable[tuple[int, PageRecord | None]]) -> Iterator[str]:
    """The whole document as text, piece by piece."""
    yield made.head()
    for number, record in pages:
        yield made.page(number, record)
    yield made.tail()


class Markdown:
    """Pages under comments that renderers hide. What went wrong with a page is said even without page marks."""

    def __init__(self, document: Document, *, page_marks: bool) -> None:
        self.page_marks = page_marks
        self.is_empty = True

    def head(self) -> str:
        return ""

    def page(self, number: int, record: PageRecord | None) -> str:
        text = "\n\n".join(self._parts(number, record))
        if not text:
            return ""
        gap = "" if self.is_empty else "\n"
        self.is_empty = False
        return f"{gap}{text}\n"

    def _parts(self, number: int, record: PageRecord | None) -> Iterator[str]:
        trouble = describe_trouble(record)
        if record is None or record.error is not None:
            yield comment(f"page {number} {trouble}")
            return
        if self.page_marks:
            yield comment(f"page {number}")
        if text := record.markdown.strip("\n"):
            yield text
        if trouble:
            yield comment(f"page {number} {trouble}")

    def tail(self) -> str:
        return ""


class Json:
    """One object; every page on its own line, with all that is known of it."""

    def __init__(self, document: Document, *, page_marks: bool) -> None:
        self.document = document
        self.num_pages = 0
        self.num_failed = 0

    def head(self) -> str:
        facts = {
            "name": self.document.name,
            "source": self.document.source or str(self.document.path),
            "num_pages": self.document.num_pages,
            "selected": ",".join(f"{r.start}-{r.stop - 1}" for r in self.document.selected),
        }
        return f'{{"document": {to_json(facts)},\n"pages": ['

    def page(self, number: int, record: PageRecord | None) -> str:
        if record is None:
            record = PageRecord({"page": number, "markdown": "", "error": describe_trouble(None)})
        gap = ",\n" if self.num_pages else "\n"
        self.num_pages += 1
        self.num_failed += record.error is not None
        return gap + record.to_json(bookkeeping=False)

    def tail(self) -> str:
        return f'\n],\n"num_failed": {self.num_failed}}}\n'


def describe_trouble(record: PageRecord | None) -> str:
    """What a reader must know before trusting the page; empty if there is nothing."""
    if record is None:
        return "not read yet"
    if record.error is not None:
        return f"failed: {record.error}"
    if record.finish_reason in CUT:
        return f"cut: {CUT[record.finish_reason]}"
    return ""


def comment(text: str) -> str:
    """An HTML comment on one line; `text` may hold anything and cannot end it early."""
    text = " ".join(text.split()).replace("--", "- -").replace("--", "- -").rstrip(" -")
    return f"<!-- {text} -->"
