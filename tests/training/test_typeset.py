"""What a page says about itself agrees with its ink."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typst")

from training.blocks import Block, Document, Segment, markup, text
from training.content import Content
from training.degrade import turned
from training.document import Writer
from training.formulas import printed_places
from training.page import Page, blanks, cells, halves
from training.typeset import SCALE, align, compile_pdf, flatten, leaves_columns, numbered_pages, typeset


def some_pages(data: Path, seed: int, shape: tuple[int, int] = (48, 24)) -> list[Page]:
    """Of the first document that has one: of some every page is too full or too empty."""
    rng = random.Random(seed)
    writer = Writer(Content(data, rng), rng)
    while not (pages := list(typeset(writer.document(*shape, num_pages=4), *shape))):
        pass
    return pages


def has_ink(page: Page, x: float, y: float) -> bool:
    column, row = int(x), int(y)
    return bool(page.image[max(0, row - 9) : row + 10, max(0, column - 5) : column + 6].min() < 200)


def test_every_character_lies_on_ink(data: Path) -> None:
    page = some_pages(data, seed=1)[0]
    assert np.mean([has_ink(page, x, y) for x, y in page.glyph_centres]) > 0.99


def test_target_characters_are_the_printed_ones(data: Path) -> None:
    words = []
    for page in some_pages(data, seed=2) + some_pages(data, seed=3):
        at = {(round(float(x)), round(float(y))): c for c, (x, y) in zip(page.glyphs, page.glyph_centres, strict=True)}
        words += [
            at.get((round(float(x)), round(float(y)))) == char
            for char, (x, y) in zip(page.target, page.centres, strict=True)
            if char.isalpha() and not np.isnan(x) and "$" not in page.target
        ]
    assert len(words) > 100
    assert np.mean(words) > 0.98


def test_a_turned_page_carries_its_centres_along(data: Path) -> None:
    page = turned(some_pages(data, seed=4)[0], 1.5)
    inside = [(x, y) for x, y in page.glyph_centres if 0 < x < page.image.shape[1] and 0 < y < page.image.shape[0]]
    assert np.mean([has_ink(page, x, y) for x, y in inside]) > 0.97


def test_running_heads_are_on_the_page_and_not_in_the_target() -> None:
    words = "Plain words that fill the page until it is full and a second page begins. " * 40
    source = f'#set page(width: 460.8pt, height: 345.6pt, header: [RUNNINGHEAD])\n#"{words.strip()}"\n'
    page = next(typeset(Document(source, [Block("", [text(words.strip())])]), 32, 36))
    assert "RUNNINGHEAD" in page.glyphs
    assert "RUNNINGHEAD" not in page.target
    assert page.target.startswith("Plain words")


@pytest.mark.parametrize(("heading", "readable"), [("Words that break", True), ("W" * 60, False)])
def test_a_page_whose_columns_run_into_each_other_is_no_page(heading: str, readable: bool) -> None:
    words = ("Plain words that fill two columns of the page until a second page begins. " * 60).strip()
    source = (
        f'#set page(width: 460.8pt, height: 345.6pt, columns: 2)\n#set text(size: 9pt)\n= #"{heading}"\n#"{words}"\n'
    )
    blocks = [Block("", [markup("# "), text(heading)]), Block("", [text(words)])]
    document = Document(source, blocks)
    numbers = [number for number, _ in numbered_pages(compile_pdf(document), document, 32, 36)]
    assert (0 in numbers) == readable


def test_a_page_whose_words_leave_their_column_is_no_page(data: Path) -> None:
    rng = random.Random(7)
    writer, shape = Writer(Content(data, rng), rng), (43, 83)
    documents = (document for _ in range(40) if len((document := writer.document(*shape, num_pages=2)).columns) == 2)
    document, pages = next((found, pages) for found in documents if (pages := list(typeset(found, *shape))))
    (left, right), (second, _) = document.columns
    assert 0 < left < right < second
    for x, leaves in ((right - 1, False), (right + 3, True), (second + 2, False), (left - 3, True), (np.nan, False)):
        assert leaves_columns(np.array([left + 5, x], np.float32) * SCALE, document.columns) == leaves
    assert not leaves_columns(np.array([1.0], np.float32), ())  # nobody said where columns are
    assert pages
    outside = replace(document, columns=((0.0, 1.0),))
    assert not list(typeset(outside, *shape))


@pytest.mark.parametrize("seed", range(6))
def test_running_heads_of_all_kinds_are_set(data: Path, seed: int) -> None:
    rng = random.Random(seed)
    shape = (43, 83)
    pdf = compile_pdf(Writer(Content(data, rng), rng).document(*shape, num_pages=2))
    assert len(pdf) > 1


def test_alignment_skips_what_is_not_in_the_target() -> None:
    target = flatten([Block("", [text("one two")]), Block("", [text("three four")])])
    where = align(target, "onetwoPAGE7threefour")
    assert [int(where[i]) for i in (0, 4, target.text.index("three"))] == [0, 3, 11]


@pytest.mark.parametrize(
    ("latex", "printed", "signs"),
    [
        (r"$x_{1}^{2} = n$", "𝑥21=𝑛", "𝑥12=𝑛"),
        (r"$$ \frac{a}{b} $$", "𝑎𝑏", "𝑎𝑏"),
        (r"$\sum_{i=1}^{n} 3 n$", "∑𝑛𝑖=13𝑛", "∑𝑖=1𝑛3𝑛"),
        (r"$\sin \alpha \leq - \sqrt{2}$", "sin𝛼≤−√2", "s𝛼≤−√2"),
        (r"$a_{1} + b_{22}$", "𝑎𝑏22", "𝑎𝑏22"),
    ],
)
def test_latex_lies_on_what_it_prints(latex: str, printed: str, signs: str) -> None:
    where = printed_places(latex, printed)
    assert "".join(printed[place] for place in where if place >= 0) == signs
    assert len(set(where[where >= 0])) == len(signs)


def test_formulas_of_a_page_lie_on_their_print() -> None:
    formula = Segment("formula", r"$\omega_{k}^{2} = \frac{n}{\mu}$")
    body = "Words before $omega_k^2 = n / mu$ and after."
    source = f"#set page(width: 460.8pt, height: 345.6pt)\n{body}\n#pagebreak()\nmore"
    blocks = [Block("", [text("Words before "), formula, text(" and after.")]), Block("", [text("more")])]
    page = next(typeset(Document(source, blocks), 32, 36))
    at = {(float(x), float(y)): char for char, (x, y) in zip(page.glyphs, page.glyph_centres, strict=True)}
    on = [(i, at[float(x), float(y)]) for i, (x, y) in enumerate(page.centres) if not np.isnan(x)]
    start = page.target.index("$")
    inside = "".join(char for i, char in on if start < i < page.target.rindex("$"))
    assert inside == "𝜔𝑘2=𝑛𝜇"


def test_blanks_lie_before_the_letters_that_have_them() -> None:
    target = "an old  $a b$ **so**-so"
    printed = [i for i, char in enumerate(target) if char not in " $*"]
    centres = np.full((len(target), 2), np.nan, np.float32)
    centres[printed] = [(6 + 8 * place, 12) for place in range(len(printed))]
    page = Page(np.full((32, 96), 255, np.uint8), target, centres, "", np.empty((0, 2), np.float32))
    grid = blanks(page)
    assert grid.shape == (4, 24)
    found = [int(grid[1, 1 + 2 * place]) for place in range(1, len(printed))]
    assert "".join(target[i] for i in printed[1:]) == "noldabso-so"
    assert found == [-1, 1, -1, -1, 0, 0, 0, -1, -1, -1, -1]
    assert np.count_nonzero(grid) == np.count_nonzero(found)


def test_places_and_cells_are_where_the_characters_are() -> None:
    centres = np.array([[20.0, 30.0], [np.nan, np.nan]], np.float32)
    page = Page(np.full((48, 72), 255, np.uint8), "A ", centres, "A", centres[:1])
    assert halves(page).tolist() == [3 * 18 + 5, -1]  # the fourth row of cells, the sixth half cell
    assert cells(page)[1, 3, 2] == ord("A") - 32  # right half of the third cell of the fourth row
