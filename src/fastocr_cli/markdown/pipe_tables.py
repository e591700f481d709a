"""Pipe tables in a model's reply, and the way of a cell between Markdown and HTML."""

import html
import re
from collections.abc import Iterator

from fastocr_cli.markdown import tags
from fastocr_cli.markdown.prose import clean_prose
from fastocr_cli.markdown.spans import scan
from fastocr_cli.markdown.tables import Cell, Table, write_pipes

_DELIMITER = re.compile(r"^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")


def split(text: str) -> Iterator[tuple[bool, str]]:
    """Stretches of `text`, and whether each is a pipe table: a head, dashes, rows up to a line without a pipe."""
    lines = text.split("\n")
    pending: list[str] = []
    index = 0
    while index < len(lines):
        after = lines[index + 1] if index + 1 < len(lines) else ""
        if "|" not in lines[index] or "|" not in after or not _DELIMITER.match(after) or _DELIMITER.match(lines[index]):
            pending.append(lines[index])
            index += 1
            continue
        end = index + 2
        while end < len(lines) and "|" in lines[end]:
            end += 1
        if pending:
            yield False, "\n".join(pending)
            pending = []
        yield True, "\n".join(lines[index:end])
        index = end
    if pending:
        yield False, "\n".join(pending)


def rows_of(text: str) -> list[list[str]]:
    """The cells of a pipe table as Markdown, without the line of dashes."""
    lines = text.split("\n")
    return [_cells(line) for line in (lines[0], *lines[2:])]


def _cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    cells = re.split(r"(?<!\\)\|", line)
    if len(cells) > 1 and not cells[-1].strip():
        cells.pop()
    return [cell.strip() for cell in cells]


def to_table(rows: list[list[str]]) -> Table:
    """The same table in HTML; the first row is its head. A head without a word is left out."""
    table = Table()
    literal = any(tags.prints_tags(cell) for row in rows for cell in row)
    for number, row in enumerate(rows):
        if number or any(row):
            table.rows.append([Cell(tags.clean_cell(_to_html(cell), literal), header=not number) for cell in row])
    return table


def tidy(rows: list[list[str]]) -> str:
    """The table as pipes again, each cell cleaned as prose."""
    return write_pipes([[clean_prose(cell, everywhere=True).replace("\n", " ") for cell in row] for row in rows])


def from_table(table: Table) -> str:
    """A simple HTML table as pipes."""
    return write_pipes([[_to_markdown(cell.content) for cell in row] for row in table.rows])


def _to_html(cell: str) -> str:
    """Markdown inside a cell as HTML: escapes resolved, emphasis as tags, code as plain text, formulas as they are."""
    parts: list[str] = []
    for kind, text in scan(cell):
        if kind == "code":
            parts.append(html.escape(text.strip("`").strip(), quote=False))
        elif kind == "escape":
            parts.append(html.escape(text[1:], quote=False))
        else:
            parts.append(text)
    joined = "".join(parts)
    joined = re.sub(r"\*\*(?=\S)([^*$]+?)(?<=\S)\*\*", r"<b>\1</b>", joined)
    return re.sub(r"(?<![\w*])\*(?=\S)([^*$]+?)(?<=\S)\*(?![\w*])", r"<i>\1</i>", joined)


def _to_markdown(content: str) -> str:
    """The HTML of a cell as Markdown: pipes and marks escaped, formulas with `<` and `\\vert` instead of entities."""
    parts: list[str] = []
    for kind, text in scan(content):
        if kind in ("inline", "display"):
            body = html.unescape(text).replace("\\|", "\\Vert ").replace("|", "\\vert ")
            parts.append(re.sub(r"<(?=[A-Za-z/!?])", "< ", body))
        elif kind == "dollar":
            parts.append(text.replace("$", r"\$"))
        elif kind in ("text", "code", "ticks"):
            parts.append(re.sub(r"[|*`]|\[(?=[^\]]*\]\()|(?<!\w)_|_(?!\w)", r"\\\g<0>", text))
        elif kind == "escape":
            parts.append("\\" + text.replace("|", "\\|"))
        else:
            parts.append(text)
    return "".join(parts)
