"""From a model's raw page text to clean Markdown. Each page is made safe on its own: whatever a page leaves open
or prints, the pages after it are complete.

page ─▶ outer fence off ─▶ code | tables (HTML, LaTeX, pipes) | prose ─▶ joined by blank lines
"""

import re
from collections.abc import Iterator

from fastocr_cli.markdown import fences, html_tables, latex_tables, pipe_tables
from fastocr_cli.markdown.prose import clean_prose
from fastocr_cli.markdown.spans import code_end
from fastocr_cli.markdown.tables import Table

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ufeff\ufffe\uffff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TABLE = re.compile(rf"(?P<code>`+)|(?P<latex>{latex_tables.STARTS.pattern})|(?P<html>{html_tables.STARTS.pattern})",
                    html_tables.STARTS.flags)  # fmt: skip
MAX_ROUNDS = 6
"""Taking one thing away may bring two others together; after the second round hardly ever."""


def clean_page(text: str, tables: str = "html") -> str:
    """Clean Markdown with tables as `tables` says (`html`, or `markdown` where no cell spans) and LaTeX in dollars.

    Never raises, keeps every printed letter, and leaves clean text as it is.
    """
    text = _SURROGATE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))
    text = _CONTROL.sub("", text)
    for _ in range(MAX_ROUNDS):
        before, text = text, _clean_once(text, tables)
        if text == before:
            break
    return text


def _clean_once(text: str, tables: str) -> str:
    pieces: list[str] = []
    for is_code, part in fences.split(fences.unwrap(text)):
        if is_code:
            pieces.append(part)
            continue
        for is_table, stretch in _split_tables(part, tables):
            pieces.append(stretch if is_table else clean_prose(stretch).lstrip("\n").rstrip())
    return "\n\n".join(piece for piece in pieces if piece.strip()).strip()


def _split_tables(text: str, tables: str) -> Iterator[tuple[bool, str]]:
    """Finished tables and the prose between them."""
    position = last = 0
    while found := _TABLE.search(text, position):
        if found["code"]:
            position = max(code_end(text, found.start()), found.end())
            continue
        result: html_tables.Found | latex_tables.Found | None = (
            html_tables.read_table(text, found.start())
            if found["html"] is not None
            else latex_tables.read_table(text, found.start())
        )
        if result is None:
            position = found.end()
            continue
        yield from _split_pipes(text[last : found.start()], tables)
        yield False, result.stray
        if result.table.rows:
            yield True, _write(result.table, tables)
        position = last = result.end
    yield from _split_pipes(text[last:], tables)


def _split_pipes(text: str, tables: str) -> Iterator[tuple[bool, str]]:
    for is_table, stretch in pipe_tables.split(text):
        if not is_table:
            yield False, stretch
        elif tables == "html":
            yield True, pipe_tables.to_table(pipe_tables.rows_of(stretch)).to_html()
        else:
            yield True, pipe_tables.tidy(pipe_tables.rows_of(stretch))


def _write(table: Table, tables: str) -> str:
    return pipe_tables.from_table(table) if tables == "markdown" and table.simple else table.to_html()
