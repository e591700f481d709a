"""A table as rows of cells, and how it's written: HTML, or pipes where nothing spans.

Cells hold finished HTML for their content; where it came from (HTML, pipes, LaTeX) is not known here.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_SPAN = 100
"""Columns or rows. A model that writes more has lost count."""


@dataclass
class Cell:
    """`content` is well-formed inline HTML, or a nested table."""

    content: str = ""
    header: bool = False
    colspan: int = 1
    rowspan: int = 1


@dataclass
class Table:
    """Rows of cells. `rowspan` reaches no further than the last row once `settle` has run."""

    rows: list[list[Cell]] = field(default_factory=list)

    def settle(self) -> "Table":
        """Drop rows that hold no cell and are covered by none, cut spans that reach beyond the table."""
        rows: list[list[Cell]] = []
        reach = 0
        for row in self.rows:
            if row or reach > len(rows):
                reach = max([reach, *(len(rows) + cell.rowspan for cell in row)])
                rows.append(row)
        while rows and not rows[-1]:
            rows.pop()
        for index, row in enumerate(rows):
            for cell in row:
                cell.rowspan = max(1, min(cell.rowspan, len(rows) - index))
        self.rows = rows
        return self

    def widths(self) -> list[int]:
        """Columns that each row covers, cells that reach down from above included."""
        below: list[int] = []
        widths = []
        for row in self.rows:
            column = 0
            current, below = below, [max(0, left - 1) for left in below]
            for cell in row:
                while column < len(current) and current[column] > 0:
                    column += 1
                for _ in range(cell.colspan):
                    below.extend([0] * (column + 1 - len(below)))
                    below[column] = max(below[column], cell.rowspan - 1)
                    column += 1
            widths.append(max(column, _last(current)))
        return widths

    @property
    def simple(self) -> bool:
        """Nothing spans, nothing is nested: pipes can say it."""
        cells = [cell for row in self.rows for cell in row]
        return all(c.colspan == c.rowspan == 1 and "<table>" not in c.content for c in cells)

    def to_html(self) -> str:
        return "<table>" + "".join(f"<tr>{''.join(map(_cell_html, row))}</tr>" for row in self.rows) + "</table>"


def _last(current: list[int]) -> int:
    return max((index + 1 for index, left in enumerate(current) if left > 0), default=0)


def _cell_html(cell: Cell) -> str:
    name = "th" if cell.header else "td"
    spans = "".join(f' {key}="{n}"' for key, n in (("colspan", cell.colspan), ("rowspan", cell.rowspan)) if n > 1)
    return f"<{name}{spans}>{cell.content}</{name}>"


def write_pipes(rows: list[list[str]]) -> str:
    """A pipe table of Markdown cells, the first row as its head; short rows are filled up."""
    columns = max(map(len, rows))
    lines = ["| " + " | ".join(row + [""] * (columns - len(row))) + " |" for row in rows]
    lines.insert(1, "|" + " --- |" * columns)
    return "\n".join(lines)


def ragged_tables(markdown: str) -> list[int]:
    """Numbers (from 1, in order) of the HTML tables in clean Markdown whose rows cover unequal numbers of columns.

    A nested table counts as one of its own, before the one around it.
    """
    numbers = []
    for number, table in enumerate(_finished(markdown), start=1):
        if len(set(table.widths())) > 1:
            numbers.append(number)
    return numbers


def _finished(markdown: str) -> Iterator[Table]:
    """The tables that `to_html` wrote, inner ones first."""
    innermost = re.compile(r"<table>((?:(?!</?table>).)*)</table>", re.DOTALL)
    while found := innermost.search(markdown):
        table = Table()
        for row in re.findall(r"<tr>(.*?)</tr>", found[1], re.DOTALL):
            cells = re.findall(r"<t[dh]((?: (?:col|row)span=\"\d+\")*)>", row)
            table.rows.append([Cell(colspan=span(a, "colspan"), rowspan=span(a, "rowspan")) for a in cells])
        yield table
        markdown = markdown[: found.start()] + markdown[found.end() :]


def span(attrs: str, name: str) -> int:
    """The value of `colspan` or `rowspan` in a tag's attributes, whatever the model made of it."""
    found = re.search(rf"\b{name}\s*=\s*[\"']?\s*(\d{{1,6}})", html.unescape(attrs), re.IGNORECASE)
    return max(1, min(int(found[1]), MAX_SPAN)) if found else 1
