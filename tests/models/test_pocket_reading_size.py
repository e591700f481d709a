"""Pages in large print are read from further away; others stay as they are."""

import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from fastocr_cli.models.pocket import Model
from fastocr_cli.models.pocket.cells import CHARACTERS
from fastocr_cli.models.pocket.letters import Letters
from fastocr_cli.models.pocket.reading_size import (
    AROUND,
    BODY,
    WIDEST,
    are_seen_better,
    named_too_large,
    not_too_wide,
    seen_too_large,
)
from fastocr_cli.pages import Character, PageImage

LINES = ["Results of the northern region", "Revenue grew by 12 percent", "Costs fell for the third time"]


def drawn(lines: list[tuple[str, int]], step: int = 0) -> PageImage:
    """Lines of text, each with its em in pixels."""
    image = Image.new("L", (1200, 900), "white")
    draw, y = ImageDraw.Draw(image), 60
    for text, em in lines:
        for number, piece in enumerate(text if step else [text]):
            draw.text((80 + step * number, y), piece, fill="black", font=ImageFont.load_default(em))
        y += 2 * em
    return PageImage(image.convert("RGB"))


def named(sizes: list[float]) -> PageImage:
    characters = tuple(Character("a", 100.0 + 20 * i, 200.0, False, size) for i, size in enumerate(sizes))
    return PageImage(Image.new("RGB", (1000, 800), "white"), characters)


def test_own_characters_in_large_print_are_brought_to_the_size_of_body_text() -> None:
    page = named_too_large(named([2 * BODY] * 5 + [20]))
    assert page is not None
    assert page.image.size == (500, 400)
    assert page.characters is not None
    assert page.characters[1] == Character("a", 60.0, 100.0, False, BODY)
    assert page.characters[-1].size == 10


@pytest.mark.parametrize(
    "sizes", [[], [18] * 9, [18] * 9 + [60] * 8, [0] * 9], ids=["none", "text", "title", "unknown"]
)
def test_other_pages_stay_as_they_are(sizes: list[float]) -> None:
    assert named_too_large(named(sizes)) is None


@pytest.mark.parametrize("em", [40, 56, 72])
def test_a_picture_of_a_slide_is_read(pocket: Model, em: int) -> None:
    with torch.inference_mode():
        letters: Letters = pocket.encode(drawn([(line, em) for line in LINES])).memory[0]
    which = letters.scores[0, : letters.num_letters].argmax(-1).tolist()
    assert "".join(CHARACTERS[index - 1] for index in which) == "".join(LINES).replace(" ", "")


def letters_at(pitch: int, lines: int, sure: float = 1.0) -> Letters:
    row = torch.arange(lines).repeat_interleave(20)[None]
    half = (pitch * torch.arange(20)).repeat(lines)[None]
    scores = torch.full((1, 20 * lines, 3), sure).log()
    return Letters(row, 2 * row, 2 * row, half, scores)


def test_a_page_with_small_print_beside_its_titles_is_not_read_from_further_away() -> None:
    page = drawn([])
    large, small = letters_at(6, 4), letters_at(2, 4)
    assert seen_too_large(page, large) is not None
    assert seen_too_large(page, small) is None
    both = Letters(*(torch.cat([getattr(large, name), getattr(small, name)], 1) for name in
                     ("row", "cell_row", "line", "half", "scores")))  # fmt: skip
    both.line[0, -80:] += 99
    assert seen_too_large(page, both) is None
    assert seen_too_large(named([18] * 9), large) is None  # it names its characters


def test_what_is_seen_from_further_away_must_be_as_many_letters() -> None:
    assert are_seen_better(letters_at(2, 9), letters_at(6, 10))
    assert not are_seen_better(letters_at(2, 7), letters_at(6, 10))
    assert not are_seen_better(letters_at(2, 10, sure=0.5), letters_at(6, 10))


def test_a_table_of_single_figures_is_read_from_where_it_was(pocket: Model) -> None:
    page = drawn([("7410852963741085296374", 17)] * 8, step=40)
    with torch.inference_mode():
        letters: Letters = pocket.encode(page).memory[0]
    assert letters.num_letters > 160
    assert float(letters.gap()[0].median()) > 8


def printed_between(left: int, right: int, width: int) -> PageImage:
    image = Image.new("RGB", (width, 300), "white")
    ImageDraw.Draw(image).rectangle((left, 100, right - 1, 120), fill="black")
    return PageImage(image, (Character("a", float(left), 110.0, None, 20.0), Character("b", right - 1.0, 110.0)))


def test_a_wide_page_loses_its_white_and_then_size() -> None:
    page = not_too_wide(printed_between(300, 1200, 1400))
    assert abs(page.image.width - (900 + 2 * AROUND)) < 8
    assert page.image.height == 300
    assert page.characters is not None
    assert abs(page.characters[0].x - AROUND) < 4
    assert page.characters[1].x - page.characters[0].x == 899
    page = not_too_wide(printed_between(100, 2100, 2200))
    assert page.image.width == WIDEST
    assert abs(page.image.height / 300 - WIDEST / (2000 + 2 * AROUND)) < 0.01
    assert page.characters is not None
    assert page.characters[1].x < WIDEST - 10
    assert page.characters[0].size == pytest.approx(20 * page.image.height / 300)


@pytest.mark.parametrize("width", [WIDEST, 1500])
def test_a_page_that_fits_or_has_no_print_is_not_made_smaller(width: int) -> None:
    page = PageImage(Image.new("RGB", (width, 3000), "white"))
    assert not_too_wide(page).image.size == (WIDEST, 3000)
