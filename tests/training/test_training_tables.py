"""Random tables are tables: every place in the grid has one cell, every row one of its own."""

import random
import re
from pathlib import Path

import pytest
from training.content import Content
from training.tables import Grid, table

CELL = re.compile(r'<td(?: (colspan|rowspan)="(\d)")?>(.*?)</td>')


@pytest.mark.parametrize("seed", range(40))
def test_cells_fill_the_grid_once(data: Path, seed: int) -> None:
    rng = random.Random(seed)
    html = "".join(segment.text for segment in table(Content(data, rng), rng, 480, 740).segments)
    rows = re.findall(r"<tr>(.*?)</tr>", html)
    taken: set[tuple[int, int]] = set()
    for number, row in enumerate(rows):
        cells = CELL.findall(row)
        assert cells
        column = 0
        for name, size, _ in cells:
            while (number, column) in taken:
                column += 1
            down, across = (int(size or 1) if name == kind else 1 for kind in ("rowspan", "colspan"))
            covered = {(number + r, column + c) for r in range(down) for c in range(across)}
            assert not covered & taken
            taken |= covered
    num_columns = 1 + max(column for _, column in taken)
    assert taken == {(row, column) for row in range(len(rows)) for column in range(num_columns)}


def test_a_cell_reaches_only_over_free_ones() -> None:
    grid = Grid(3, 3, 1)
    assert grid.span(0, 0, 2, 1) == "colspan=2"
    assert grid.span(0, 2, 2, 1) == ""  # beyond the edge
    assert grid.span(1, 0, 1, 2) == "rowspan=2"
    assert grid.span(1, 1, 1, 2) == "rowspan=2"
    assert grid.span(1, 2, 1, 2) == ""  # nothing would be left in the last row
    grid = Grid(3, 2, 1)
    assert grid.span(0, 0, 1, 2) == "rowspan=2"
    assert grid.span(0, 1, 1, 3) == ""  # nothing would be left in the middle one


def test_large_pages_have_large_tables(data: Path) -> None:
    sizes = []
    for seed in range(60):
        rng = random.Random(seed)
        html = "".join(segment.text for segment in table(Content(data, rng), rng, 480, 740).segments)
        sizes.append(html.count("<tr>"))
    assert max(sizes) > 15
    assert min(sizes) <= 4


def test_some_tables_hold_sentences_and_some_have_captions_and_notes(data: Path) -> None:
    written = []
    for seed in range(60):
        rng = random.Random(seed)
        written.append("".join(segment.text for segment in table(Content(data, rng), rng, 480, 740).segments))
    longest = [max(len(value) for _, _, value in CELL.findall(html)) for html in written]
    assert max(longest) > 60
    assert min(longest) < 30
    before, after = ([html.partition(tag)[part] for html in written] for tag, part in (("<table>", 0), ("</table>", 2)))
    assert any(text.startswith("Table ") for text in before)
    assert any(after)
    assert not all(before)
    assert not all(after)
