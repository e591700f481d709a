"""Random tables: small ones, and the large ones of statistics. Typst source, and HTML as the target."""

import random
from dataclasses import dataclass, field, replace

from training.blocks import Block, Segment, markup, text
from training.content import Content, quoted

NARROWEST, LOWEST = 36, 17
"""Points of a column and of a row at least, where many are wanted."""

LONG, SHORT = 40, 12
"""Characters of a label at most, in most tables and in those whose every row is one line."""

SENTENCE = 160
"""Characters of a cell of prose at most."""

FULL_GRID = "0.5pt"
STROKES = [
    FULL_GRID, FULL_GRID, "none", "(x, y) => (bottom: 0.6pt)", "(x, y) => if y == 0 { (top: 0.8pt, bottom: 0.5pt) }",
    "(x, y) => (left: 0.5pt, right: 0.5pt)",
]  # fmt: skip
EMPTY = ["", "", "", "", "—", "-", "n/a", "..."]


@dataclass
class Grid:
    """A table in the making; `taken` are the cells that a span covers."""

    num_rows: int
    num_columns: int
    num_header_rows: int
    taken: set[tuple[int, int]] = field(default_factory=set)

    def span(self, row: int, column: int, columns: int, rows: int) -> str:
        """Let a cell reach over others if there is room: the attribute of HTML and Typst, or nothing."""
        covered = {(r, c) for r in range(row, row + rows) for c in range(column, column + columns)}
        inside = row + rows <= self.num_rows and column + columns <= self.num_columns
        filled = self.taken | covered
        empties_a_row = any(  # every row keeps a cell of its own
            all((below, c) in filled for c in range(self.num_columns)) for below in range(row + 1, row + rows)
        )
        if not inside or covered & self.taken or empties_a_row:
            return ""
        self.taken |= covered - {(row, column)}
        return f"colspan={columns}" if columns > 1 else f"rowspan={rows}"


@dataclass(frozen=True)
class Habits:
    """How a table is filled."""

    lined: bool
    """Every cell is drawn: spans can be seen anywhere."""
    labelled: bool
    longest: int
    """Characters of a label at most."""
    longest_head: int
    """Characters of a column's name at most; long ones wrap."""
    num_empty: float
    """Share of the figures that are missing."""
    num_sections: float
    """Share of the rows that are a label alone."""
    num_prose: float = 0.0
    """Share of the columns whose cells are sentences, several lines each."""

    @classmethod
    def drawn(cls, rng: random.Random, large: bool, lined: bool) -> "Habits":
        labelled = rng.random() < 0.7
        longest = SHORT if not large and rng.random() < 0.5 else LONG
        return cls(
            lined,
            labelled,
            longest,
            LONG if rng.random() < 0.3 else min(longest, 22),
            rng.uniform(0.1, 0.5) if rng.random() < 0.35 else 0.04,
            rng.uniform(0.05, 0.2) if labelled and rng.random() < 0.25 else 0.0,
        )


def table(content: Content, rng: random.Random, width: float, height: float) -> Block:
    """A table for a column of text so wide on a page so high, in points; some have a caption above or a note below."""
    wordy = width > 240 and rng.random() < 0.25
    large = not wordy and width > 330 and rng.random() < 0.45
    grid = _wordy_grid(width, rng) if wordy else _grid(width, height, large, rng)
    stroke = rng.choice(STROKES)
    habits = Habits.drawn(rng, large, stroke == FULL_GRID)
    habits = replace(habits, num_prose=rng.uniform(0.3, 1.0)) if wordy else habits
    cells, segments = _cells(grid, content, rng, habits)
    size = rng.uniform(0.7, 0.9) if large or grid.num_columns > 6 else rng.uniform(0.85, 1)
    fill = "none" if rng.random() < 0.8 else "(x, y) => if calc.odd(y) { luma(230) }"
    inset = rng.uniform(2.5, 6) * (0.7 if large else 1) + (1.5 if wordy else 0)
    look = f"columns: {_widths(grid, habits, rng)}, stroke: {stroke}, align: {_align(grid, rng)}, fill: {fill}"
    bold = "#show table.cell.where(y: 0): strong\n" if rng.random() < 0.4 else ""
    typeset = f"#table({look}, inset: {inset:.1f}pt, {', '.join(cells)})"
    body = f"#set text(size: {size:.2f}em, hyphenate: false)\n{bold}{typeset}"
    side = "center" if rng.random() < 0.4 else "left"
    return _captioned(Block(f"#align({side}, block(breakable: false)[{body}])", segments), content, rng)


def _grid(width: float, height: float, large: bool, rng: random.Random) -> Grid:
    most_columns = max(2, min(12 if large else 6, int(width / NARROWEST)))
    return Grid(
        rng.randint(5, max(6, min(32, int(0.7 * height / LOWEST)))) if large else rng.randint(2, 8),
        rng.randint(2, most_columns if width > 330 else min(4, most_columns)),
        2 if rng.random() < 0.2 else 1,
    )


def _wordy_grid(width: float, rng: random.Random) -> Grid:
    return Grid(rng.randint(3, 7), rng.randint(2, 4 if width > 330 else 3), 1)


def _widths(grid: Grid, habits: Habits, rng: random.Random) -> str:
    """Typst's widths of the columns."""
    if habits.num_prose:
        return "(" + ", ".join(f"{rng.uniform(1, 3):.1f}fr" for _ in range(grid.num_columns)) + ")"
    even = habits.longest == SHORT and rng.random() >= 0.6
    return f"(1fr,) * {grid.num_columns}" if even else str(grid.num_columns)


def _align(grid: Grid, rng: random.Random) -> str:
    """Where text stands in its cell; heads of several lines often end on one line, at the bottom."""
    across = rng.choice(["left", "center", "if x == 0 { left } else { right }"])
    if rng.random() < 0.6:
        return f"(x, y) => {across}"
    head = rng.choice(["center", "center", "left", across])
    return f"(x, y) => if y < {grid.num_header_rows} {{ ({{ {head} }}) + bottom }} else {{ {across} }}"


def _captioned(block: Block, content: Content, rng: random.Random) -> Block:
    """With a caption before it, a note after it, or neither, as paragraphs of their own."""
    source, segments = block.source, block.segments
    if rng.random() < 0.25:
        number = f"Table {rng.randint(1, 30)}{rng.choice(['.', ':', ' –', ''])}"
        caption = f"{number} {' '.join(content.words(3, 16))}"
        strong = rng.choice(["", "#strong"])
        source = f"{strong}[{quoted(caption)}]\n\n{source}" if strong else f"{quoted(caption)}\n\n{source}"
        segments = [text(caption), markup("\n\n"), *segments]
    if rng.random() < 0.15:
        note = f"{rng.choice(['Source:', 'Note:', '* ', 'Notes.'])} {' '.join(content.words(3, 24))}"
        source = f"{source}\n\n#text(size: {rng.uniform(0.75, 1):.2f}em)[{quoted(note)}]"
        segments = [*segments, markup("\n\n"), text(note)]
    return Block(f"#block(breakable: false, width: 100%)[{source}]", segments) if source != block.source else block


def _cells(grid: Grid, content: Content, rng: random.Random, habits: Habits) -> tuple[list[str], list[Segment]]:
    """The cells as Typst and as HTML."""
    numeric = [not (habits.labelled and column == 0) and rng.random() < 0.65 for column in range(grid.num_columns)]
    prose = [rng.random() < habits.num_prose for _ in range(grid.num_columns)]
    cells: list[str] = []
    segments = [markup("<table>")]
    for row in range(grid.num_rows):
        head = row < grid.num_header_rows
        section = not head and rng.random() < habits.num_sections
        segments.append(markup("<tr>"))
        for column in range(grid.num_columns):
            if (row, column) in grid.taken:
                continue
            span = "" if section else _span(grid, row, column, rng, habits.lined)
            most = habits.longest_head if head else habits.longest
            most = min(most, 24) if grid.num_columns > 6 and column else most
            value = _value(content, rng, numeric[column] and not head, most, 0.04 if head else habits.num_empty)
            if prose[column] and not head:
                value = " ".join(content.words(4, 24))[:SENTENCE].strip()
            nameless = head and not column and habits.labelled and rng.random() < 0.3
            if nameless or (section and column):
                value = ""
            if span and not habits.lined:
                value = value or content.label(most)
                cells += _group(column, int(span.partition("=")[2]), rng)
            cells.append(f"table.cell({span.replace('=', ': ')})[{quoted(value)}]" if span else f"[{quoted(value)}]")
            name, _, number = span.partition("=")
            opening = f'<td {name}="{number}">' if span else "<td>"
            segments += [markup(opening), text(value), markup("</td>")]
        segments.append(markup("</tr>"))
    segments.append(markup("</table>"))
    return cells, segments


def _group(column: int, num_columns: int, rng: random.Random) -> list[str]:
    """The rule below the name of a group of columns, now and then missing."""
    rule = f"table.hline(y: 1, start: {column}, end: {column + num_columns}, stroke: 0.5pt)"
    return [rule] if rng.random() < 0.8 else []


def _span(grid: Grid, row: int, column: int, rng: random.Random, lined: bool) -> str:
    """A span here, or nothing. Without lines only the names of groups of columns are seen to span."""
    dice = rng.random()
    if row + 1 < grid.num_header_rows and dice < (0.4 if lined else 0.6) and (lined or column):
        return grid.span(row, column, rng.choice([2, 2, 2, 3, 3, 4]), 1)
    if not lined:
        return ""
    if dice < 0.03:
        return grid.span(row, column, rng.choice([2, 2, 2, 3]), 1)
    if dice > 0.975:
        return grid.span(row, column, 1, rng.choice([2, 2, 2, 3]))
    return ""


def _value(content: Content, rng: random.Random, numeric: bool, most: int, num_empty: float) -> str:
    if rng.random() < (num_empty if numeric else min(num_empty, 0.1)):
        return rng.choice(EMPTY)
    if numeric:
        return content.number()
    return content.label(most if rng.random() < 0.25 else min(most, 22))
