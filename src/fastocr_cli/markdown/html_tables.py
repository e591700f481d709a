"""From a model's HTML table, however broken, to a Table. Stray text beside the cells is handed back, never lost."""

import re
from dataclasses import dataclass, field

from fastocr_cli.markdown import tags
from fastocr_cli.markdown.spans import scan
from fastocr_cli.markdown.tables import Cell, Table, span

_NAMES = "table|thead|tbody|tfoot|tr|td|th|caption|colgroup|col"
_CUT = (  # a tag that lost its `>`; a word without `=` is the page's
    r"(?>(?:\s+[\w-]+=(?:\"[^\"<>]{0,40}\"?|'[^'<>]{0,40}'?|[\w%;:.-]{0,40}))*+\s*)(?=<|\Z)"
)
TABLE_TAG = re.compile(rf"<(/?)({_NAMES})(?![\w-])(?:([^<>]*)>|{_CUT})", re.IGNORECASE)
STARTS = re.compile(
    rf"<table(?![\w-])(?:[^<>]*>|{_CUT})(?=\s*(?:</?(?:{_NAMES})(?![\w-])|<!--|\Z))"
    rf"|^[ \t]*<(?:thead|tbody|tr|td|th)(?![\w-])(?:\s[^<>]*)?>(?=[^\n]*(?:\n[^\n]*){{0,3}}?</?t[rdh](?![\w-]))",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a table begins: `<table>` before a part of a table, or a row whose `<table>` was lost; not a printed tag."""
_BLANK = re.compile(r"\n[ \t]*\n")
MAX_DEPTH = 8
"""Tables inside tables; deeper ones are taken apart into their text."""


@dataclass
class Found:
    """What was read: the table, text that stood in none of its cells, and where reading stopped."""

    table: Table
    stray: str
    end: int


@dataclass
class _Frame:
    """A table that is being read. `cell` is the open cell's content so far: raw text and finished tables."""

    rows: list[list[Cell]] = field(default_factory=list)
    cell: list[str | Table] | None = None
    row_open: bool = False


class _Reader:
    """Reads tag by tag. A patient reader trusts that the table will be closed; an impatient one stops where
    text that looks like the page's goes on, so that an open table takes no paragraph with it."""

    def __init__(self, text: str, start: int, literal: bool, patient: bool) -> None:
        self.text, self.position, self.literal, self.patient = text, start, literal, patient
        self.frames: list[_Frame] = []
        self.stray: list[str] = []
        self.too_deep = 0
        self.closed = False

    def read(self) -> Found:
        for found in TABLE_TAG.finditer(self.text, self.position):
            if not self._take_text(found.start()) or not self._take_tag(found):
                break
            self.position = found.end()
            if self.closed:
                break
        else:
            self._take_text(len(self.text))
        table = Table()
        while self.frames:
            table = self._finish()
        return Found(table, "\n\n".join(self.stray), self.position)

    def _take_text(self, end: int) -> bool:
        """The text up to `end` into the open cell, or to the strays; False where the table ends before it."""
        text = self.text[self.position : end]
        frame = self.frames[-1] if self.frames else None
        if frame is None or frame.cell is None:
            if not (words := tags.COMMENT.sub("", text).strip()):
                return True
            if not self.patient:
                return False
            self.stray.append(words)
            return True
        stop = None if self.patient else _BLANK.search(text)
        if stop is not None and text[stop.end() :].strip():
            frame.cell.append(text[: stop.start()])
            self.position += stop.start()
            return False
        frame.cell.append(text)
        self.position = end
        return True

    def _take_tag(self, found: re.Match[str]) -> bool:
        """Act on one tag; False where it begins another table after this one."""
        closing, name, attrs = bool(found[1]), found[2].lower(), found[3] or ""
        if not self.frames:
            self.frames.append(_Frame())
            if name == "table":
                return True
        frame = self.frames[-1]
        if name == "table":
            return self._close_table() if closing else self._open_table(frame)
        if self.too_deep:
            return True
        if name in ("td", "th"):
            self._end_cell(frame)
            if not closing:
                self._open_cell(frame, name == "th", attrs)
        elif name == "tr":
            self._end_cell(frame)
            frame.row_open = not closing
            if not closing:
                frame.rows.append([])
        elif name != "caption":
            self._end_cell(frame)
        return True

    def _open_table(self, frame: _Frame) -> bool:
        if frame.cell is None:
            return not frame.rows  # `<table><table>`: one table; between rows: the next one
        if len(self.frames) < MAX_DEPTH and not self.too_deep:
            self.frames.append(_Frame())
        else:
            self.too_deep += 1
        return self.too_deep < MAX_DEPTH  # nothing on paper nests like that: tables were opened and never closed

    def _close_table(self) -> bool:
        if self.too_deep:
            self.too_deep -= 1
            return True
        table = self._finish()
        if not self.frames:
            self.frames = [_Frame(rows=table.rows)]
            self.closed = True
        return True

    def _open_cell(self, frame: _Frame, header: bool, attrs: str) -> None:
        if not frame.row_open:
            frame.rows.append([])
            frame.row_open = True
        cell = Cell(header=header, colspan=span(attrs, "colspan"), rowspan=span(attrs, "rowspan"))
        frame.rows[-1].append(cell)
        frame.cell = []

    def _end_cell(self, frame: _Frame) -> None:
        if frame.cell is not None:
            parts = [p.to_html() if isinstance(p, Table) else self._clean(p) for p in frame.cell]
            frame.rows[-1][-1].content = "".join(parts)
        frame.cell = None

    def _clean(self, text: str) -> str:
        return tags.clean_cell("".join(part.text for part in scan(text)), self.literal)

    def _finish(self) -> Table:
        """Close the innermost table and put it into the cell around it, if there is one."""
        frame = self.frames.pop()
        self._end_cell(frame)
        table = Table(frame.rows).settle()
        if self.frames and table.rows:
            outer = self.frames[-1].cell
            assert outer is not None, "a nested table begins inside a cell"
            outer.append(table)
        return table


def read_table(text: str, start: int) -> Found:
    """The table that begins at `start`, a place that STARTS matched."""
    reader = _Reader(text, start, literal=False, patient=True)
    found = reader.read()
    patient = reader.closed
    if not patient:
        found = _Reader(text, start, literal=False, patient=False).read()
    if tags.prints_tags(text[start : found.end]):
        found = _Reader(text, start, literal=True, patient=patient).read()
    return found
