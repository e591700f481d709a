"""Columns of a table are told by the white between them, where it is plain, and by nothing else on a page."""

import numpy as np
import pytest

from fastocr_cli.models.pocket.cells import CLASS_OF
from fastocr_cli.models.pocket.grid import grids

STEP, RIGHT = 3, 100
"""Rows of cells from line to line, and the half cell in which the page ends."""

Line = dict[int, str]
"""Text by the half cell where it begins; letters are two half cells apart."""


def tables(*lines: Line, rules: tuple[int, ...] = ()) -> list[str]:
    """The tables found: `|` before a cell as often as its column's number says, `/` between rows."""
    letters = sorted(
        (STEP * row + 2, half + 2 * number, char)
        for row, line in enumerate(lines)
        for half, text in line.items()
        for number, char in enumerate(text)
        if char != " "
    )
    line, half = (np.array([letter[i] for letter in letters], np.int64) for i in (0, 1))
    across = np.zeros((STEP * len(lines) + 20, RIGHT), bool)
    across[[STEP * row + 1 for row in rules]] = True
    found = []
    for inside, column in grids(line, half, np.array([CLASS_OF[letter[2]] for letter in letters]), across):
        rows: dict[int, str] = {}
        for row, number, (_, _, char) in zip(line[inside].tolist(), column.tolist(), letters[inside], strict=True):
            so_far = rows.get(row, "")
            rows[row] = so_far + "|" * (number - so_far.count("|")) + char
        found.append("/".join(rows.values()))
    return found


BILL: list[Line] = [
    {0: "Item", 40: "Qty", 60: "Price"},
    {0: "Milk", 40: "2", 60: "1.65"},
    {0: "Two eggs", 40: "12", 60: "3.10"},
    {40: "Sum", 60: "4.75"},
]


def test_cells_stand_below_each_other_and_may_be_missing() -> None:
    assert tables(*BILL) == ["Item|Qty|Price/Milk|2|1.65/Twoeggs|12|3.10/|Sum|4.75"]


def test_a_table_ends_where_prose_begins() -> None:
    prose: Line = {0: "all of this is due within one month please"}
    assert tables(prose, *BILL, prose) == tables(*BILL)


def test_few_rows_are_none() -> None:
    assert tables(*BILL[:3]) == []


def test_a_line_whose_words_lie_across_the_columns_is_none_of_it() -> None:
    assert tables({10: "our price list for this year"}, *BILL) == tables(*BILL)


def test_large_print_is_no_row_though_its_blanks_are_wide() -> None:
    spread = {6 * number: char for number, char in enumerate("all good things") if char != " "}
    assert tables(*BILL, spread) == tables(*BILL)


def test_lines_that_go_on_with_those_above_end_it() -> None:
    wrapped: list[Line] = [{0: "North", 40: "reads", 60: "every"}, {40: "meters", 60: "month"}]
    assert tables(*wrapped, *wrapped) == []
    assert tables(*BILL, *wrapped) == ["Item|Qty|Price/Milk|2|1.65/Twoeggs|12|3.10/|Sum|4.75/North|reads|every"]


@pytest.mark.parametrize(
    ("rules", "num_found"), [((), 1), ((1,), 1), ((1, 3), 1), ((0, 1, 2, 3, 4), 1), ((2,), 0), ((1, 2), 1)]
)
def test_lines_between_some_rows_but_not_all_part_rows_that_wrap(rules: tuple[int, ...], num_found: int) -> None:
    assert len(tables(*BILL, rules=rules)) == num_found


LABELS = ["Name", "Address", "Telephone", "Total"]


def test_two_columns_need_figures_or_drawn_lines() -> None:
    figures: list[Line] = [{0: label, 50: f"{number}.50"} for number, label in enumerate(LABELS)]
    words: list[Line] = [{0: label, 50: "some word"} for label in LABELS]
    assert len(tables(*figures)) == 1
    assert tables(*words) == []  # two addresses, side by side
    assert len(tables(*words, rules=(0, 1, 2, 3, 4))) == 1


def test_a_list_is_no_table() -> None:
    assert tables(*[{0: f"{number}.", 12: "2019"} for number in range(1, 7)]) == []


def test_a_page_without_letters_has_none() -> None:
    assert tables() == []
