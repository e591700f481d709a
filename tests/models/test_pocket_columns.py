"""Columns of prose are read one after the other, tables row by row, and no letter is lost."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray

from fastocr_cli.models.pocket.columns import MIN_LINES, begins_cell, reading_order

Ints = NDArray[np.int64]
Block = tuple[int, int, int, int]  # first line, number of lines, first half cell, letters in a line


def printed(*blocks: Block) -> tuple[Ints, Ints, Ints]:
    """Line, half cell and block of every letter, line by line; a letter every two half cells, a line every other one."""
    letters = sorted(
        (first + 2 * number, start + 2 * letter, block)
        for block, (first, num_lines, start, num_letters) in enumerate(blocks)
        for number in range(num_lines)
        for letter in range(num_letters)
    )
    line, half, block = np.array(letters).T
    return line, half, block


def ruled_at(*rows: int) -> NDArray[np.bool_]:
    """Lines drawn across the whole page in these rows of cells."""
    ruled = np.zeros((140, 200), bool)
    ruled[list(rows)] = True
    return ruled


def blocks_in_order(*blocks: Block, rules: tuple[int, ...] = ()) -> list[int]:
    line, half, block = printed(*blocks)
    order = reading_order(line, line, half, ruled_at(*rules))
    assert sorted(order) == list(range(len(line)))
    read = block[order]
    return [int(read[0]), *(int(b) for a, b in pairwise(read) if a != b)]


LEFT, RIGHT = (10, 20, 0, 30), (10, 20, 66, 30)


def test_a_single_column_is_read_line_by_line() -> None:
    line, half, _ = printed((0, 30, 0, 50))
    assert reading_order(line, line, half, ruled_at()).tolist() == list(range(1500))


def test_two_columns_are_read_one_after_the_other() -> None:
    assert blocks_in_order(LEFT, RIGHT) == [0, 1]


def test_columns_need_not_share_their_lines() -> None:
    assert blocks_in_order(LEFT, (11, 18, 66, 30)) == [0, 1]


@pytest.mark.parametrize(("down", "is_column"), [(1, True), (0, False)])
def test_short_lines_are_a_column_where_they_do_not_stand_beside_those_of_the_text(down: int, is_column: bool) -> None:
    line, half, block = printed((0, 14, 0, 8), (0, 14, 60, 40))
    row = line + np.where((block == 0) & (line % 4 == 0) | (block == 0) & (line > 14), down, 0)
    read = block[reading_order(line, row, half, ruled_at())]
    assert (np.count_nonzero(np.diff(read)) == 1) == is_column


def test_a_title_above_columns_is_not_cut_between_its_letters() -> None:
    title = np.array([[0, 40 + 5 * number, 0] for number in range(12)])  # the white between the columns begins at 58
    columns = np.stack(printed((2, 12, 0, 28), (2, 12, 64, 28)), axis=1)
    line, half, block = np.concatenate([title, columns + np.array([0, 0, 1])]).T
    assert block[reading_order(line, line, half, ruled_at())].tolist() == sorted(block)


def test_three_columns() -> None:
    assert blocks_in_order((0, 20, 0, 20), (0, 20, 46, 20), (0, 20, 92, 20)) == [0, 1, 2]


def test_what_goes_across_both_columns_comes_before_and_between_and_after() -> None:
    title, figure, foot = (4, 2, 20, 40), (52, 2, 20, 40), (100, 1, 20, 40)
    lower_left, lower_right = (58, 20, 0, 30), (58, 20, 66, 30)
    assert blocks_in_order(title, LEFT, RIGHT, figure, lower_left, lower_right, foot) == [0, 1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("num_letters", [1, 5, 10])
def test_a_table_is_read_row_by_row(num_letters: int) -> None:
    blocks = [(0, 12, start, num_letters) for start in (0, 40, 80)]
    assert blocks_in_order(*blocks) == [0, 1, 2] * 12


def test_cells_of_running_text_between_rules_are_a_table() -> None:
    assert blocks_in_order(LEFT, RIGHT, rules=(9, 51)) == [0, 1] * 20
    upper, lower = [(10, 10, 0, 30), (10, 10, 66, 30)], [(34, 10, 0, 30), (34, 10, 66, 30)]
    assert blocks_in_order(*upper, *lower, rules=(9, 32, 55)) == [0, 1] * 10 + [2, 3] * 10


def test_rules_above_and_below_a_page_make_no_table() -> None:
    assert blocks_in_order((10, 40, 0, 30), (10, 40, 66, 30), rules=(8, 91)) == [0, 1]


def test_a_rule_ends_columns() -> None:
    upper, lower = [(10, 12, 0, 30), (10, 12, 66, 30)], [(38, 12, 0, 30), (38, 12, 66, 30)]
    assert blocks_in_order(*upper, *lower) == [0, 2, 1, 3]
    assert blocks_in_order(*upper, *lower, rules=(35,)) == [0, 1, 2, 3]


def test_numbers_beside_long_labels_are_a_table() -> None:
    labels, numbers = (0, 20, 0, 14), [(0, 20, start, 5) for start in (50, 75, 100, 125)]
    assert blocks_in_order(labels, *numbers) == [0, 1, 2, 3, 4] * 20


def test_a_heading_below_columns_is_no_part_of_the_left_one() -> None:
    below, across = (52, 1, 0, 12), (54, 6, 0, 80)
    assert blocks_in_order(LEFT, RIGHT, below, across) == [0, 1, 2, 3]
    longer = (10, 24, 0, 30)  # a left column that ends later is one
    assert blocks_in_order(longer, RIGHT, (62, 6, 0, 80)) == [0, 1, 2]


def test_a_line_above_columns_is_no_part_of_the_right_one() -> None:
    assert blocks_in_order((0, 2, 0, 80), (4, 1, 66, 12), LEFT, RIGHT) == [0, 1, 2, 3]


def test_a_table_in_two_halves_is_read_row_by_row() -> None:
    blocks = [(0, 20, start, 5) for start in (0, 22, 44, 80, 102, 124)]
    assert blocks_in_order(*blocks) == [0, 1, 2, 3, 4, 5] * 20


def test_tables_beside_a_column_of_prose_are_read_after_it() -> None:
    assert blocks_in_order(LEFT, *((10, 20, start, 8) for start in (66, 94, 122))) == [0, *[1, 2, 3] * 20]


def test_a_cell_begins_after_white_and_below_such_a_line_but_not_in_prose() -> None:
    line, half, block = printed((0, 2, 0, 5), (0, 2, 40, 5), (4, 2, 0, 30))
    first = np.diff(block, prepend=-1) != 0
    assert begins_cell(line, half)[1:].tolist() == (first & (line <= 4))[1:].tolist()
    assert not begins_cell(np.zeros(0, np.int64), np.zeros(0, np.int64)).any()


def test_a_few_lines_are_no_column() -> None:
    num_lines = MIN_LINES - 1
    assert blocks_in_order((0, num_lines, 0, 30), (0, num_lines, 66, 30)) == [0, 1] * num_lines


def test_a_page_without_letters_has_an_order() -> None:
    assert reading_order(*np.zeros((3, 0), np.int64), ruled_at()).tolist() == []
