"""The table that is being written: which tags may come next, so that rows and cells are well-formed and as printed.

Knows tokens by the tags in them, and where the letters of a page are.
"""

import re
from dataclasses import dataclass, replace

import torch

from fastocr_cli.models.pocket.printed import Printed
from fastocr_cli.models.pocket.wording import Ints

NOWHERE = -1

NONE = ""
"""Before the first table."""

END = "</table"
FOLLOWING = {
    NONE: ("<table",),
    "<table": ("<tr",),
    "<tr": ("<td", "<th"),
    "<td": ("</td",),
    "<th": ("</th",),
    "</td": ("<td", "<th", "</tr"),
    "</th": ("<td", "<th", "</tr"),
    "</tr": ("<tr", END),
    END: ("<table",),
}
"""What comes after each tag."""

TEXT_AFTER = {NONE, "<td", "<th", END}


class Tags:
    """The tags of a vocabulary."""

    def __init__(self, vocabulary: dict[str, int], vocab_size: int) -> None:
        names = {i: re.findall(r"</?t\w+", token) for token, i in vocabulary.items() if token[:1] == "<"}
        names = {i: found for i, found in names.items() if found}
        self.last = {i: found[-1] for i, found in names.items()}
        """Of each token of tags, the name of its last one."""
        self.rows = {i for i, found in names.items() if "<tr" in found}
        """Tokens that begin a row."""
        self.next_cell = torch.zeros(vocab_size, dtype=torch.bool)
        """Tokens (vocabulary,) that end a cell, but no row."""
        self.next_cell[[i for i, found in names.items() if found[0] == "</td" and "</tr" not in found]] = True
        self.tokens = torch.zeros(vocab_size, dtype=torch.bool)
        self.tokens[list(names)] = True
        self.unfit = {}
        """Of each tag, the tokens (vocabulary,) that cannot follow it."""
        for tag, following in FOLLOWING.items():
            fit = [i for i, found in names.items() if found[0] in following]
            self.unfit[tag] = self.tokens.clone() if tag in TEXT_AFTER else torch.ones(vocab_size, dtype=torch.bool)
            self.unfit[tag][fit] = False


@dataclass(frozen=True)
class Table:
    """The one that is being written, if any is."""

    tag: str = NONE
    """The last one."""
    last_letter: int | None = None
    """Of the cell, if anything is written in it."""
    left_edge: int = NOWHERE
    """Half cell in which the cells before in this row end."""
    right_edge: int = NOWHERE
    """The same of this cell."""
    cell: int = 0
    """The number of this cell in its row."""
    row: int = NOWHERE
    """Of the page's tables whose columns the print shows, which row this is."""
    num_cells: int = 0
    """How many cells that has."""

    @property
    def is_open(self) -> bool:
        return is_open(self.tag)

    def after(self, tag: str, begins_row: bool) -> "Table":
        if begins_row or tag == END:
            return Table(tag)
        left, cell = max(self.left_edge, self.right_edge), self.cell + (tag in {"<td", "<th"})
        return replace(self, tag=tag, last_letter=None, left_edge=left, right_edge=NOWHERE, cell=cell)

    def with_letters(self, page: Printed, path: Ints) -> "Table":
        """The table after letters of the page were written."""
        last, right = int(path[-1]), max(self.right_edge, int(page.half[path].max()))
        row = int(page.table_row[last]) if page.num_cells[last] else NOWHERE
        return replace(self, last_letter=last, right_edge=right, row=row, num_cells=int(page.num_cells[last]))

    def num_cells_due(self, page: Printed, letter: int) -> int | None:
        """How many cells are to begin before this letter or, where it is in another row, before this one ends; None
        where the print does not show columns."""
        if self.has_ended(page, letter):
            return self.num_cells - 1 - self.cell
        is_empty = max(self.left_edge, self.right_edge) == NOWHERE
        if letter < len(page) and page.num_cells[letter] and (self.num_cells or is_empty):
            return int(page.table_cell[letter]) - self.cell
        return None

    def has_ended(self, page: Printed, letter: int) -> bool:
        """Whether the row's columns are shown, and the letter is in none of them."""
        return self.num_cells > 0 and (letter >= len(page) or bool(page.table_row[letter] != self.row))

    def leaves_cell(self, page: Printed, letter: int) -> bool:
        """Whether a letter is in another cell than the last one: a line lies between them, or it stands left of where
        the cell before ends."""
        if not self.is_open or self.last_letter is None or letter >= len(page):
            return False
        return bool((page.own and page.half[letter] <= self.left_edge) or page.are_parted(self.last_letter, letter))

    def row_goes_on(self, page: Printed, letter: int) -> bool:
        """Whether the print says that a letter is in the row in which the one before it is."""
        return self.is_open and page.row_goes_on(letter)

    def is_cell_to_begin(self, page: Printed, letter: int) -> bool:
        """Whether a cell of such a row begins with a letter, and its tag is not written."""
        return self.last_letter is not None and bool(page.next_cell[letter])

    def is_row_full(self, page: Printed) -> bool:
        """Whether the last letter is in a row whose cells the print shows."""
        return self.last_letter is not None and bool(page.table_cell[self.last_letter] >= 0)


def is_open(tag: str) -> bool:
    """Whether a table goes on after its tag."""
    return tag not in {NONE, END}
