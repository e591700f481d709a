"""Large print is looked at from afar."""

from collections.abc import Iterable

import pytest
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from fastocr_cli.models.pocket import Model, ink
from fastocr_cli.models.pocket.afar import from_afar, with_large_print
from fastocr_cli.models.pocket.cells import CHARACTERS, CLASS_OF, NUM_CLASSES
from fastocr_cli.models.pocket.letters import letters_of

BODY, TITLE = "so the body is set in ten points", "Annual"


def seen(rows: int, columns: int, lines: Iterable[tuple[str, int, int, int, float]]) -> Tensor:
    """Classes of a page (1, rows, columns, 2, classes): text, row, first half cell, half cells each, probability."""
    classes = torch.zeros(1, rows, 2 * columns, NUM_CLASSES)
    classes[..., 0] = 1
    for text, row, half, step, sure in lines:
        for number, char in enumerate(text.replace(" ", "")):
            classes[0, row, half + step * number, 0] = 1 - sure
            classes[0, row, half + step * number, CLASS_OF[char]] = sure
    return classes.unflatten(2, (-1, 2))


def read(classes: Tensor) -> dict[int, str]:
    """The letters of each row of cells."""
    letters, found = letters_of(classes, 2), dict[int, str]()
    for row, which in zip(letters.cell_row[0].tolist(), letters.scores[0].argmax(-1).tolist(), strict=True):
        found[row] = found.get(row, "") + CHARACTERS[which - 1]
    return found


STROKES = ("l(-1", 8, 9, 5, 0.6)
NEAR = [STROKES, (BODY, 20, 4, 2, 0.95)]


def test_a_page_from_afar_is_half_as_large_and_made_of_whole_visual_tokens() -> None:
    page = torch.rand(1, 1, 96, 120)
    smaller = from_afar(page, (16, 24))
    assert smaller.shape == (1, 1, 48, 72)
    assert torch.allclose(smaller[..., 0, 0], page[..., :2, :2].mean())
    assert not smaller[..., 60:].any()


def test_a_line_of_large_print_is_taken_from_afar_and_what_was_seen_of_its_strokes_is_not() -> None:
    near = seen(32, 60, NEAR)
    afar = seen(16, 36, [(TITLE, 4, 4, 3, 0.9), ("sotmebny", 10, 3, 3, 0.45)])
    found = with_large_print(near, afar, 2)
    assert read(found) == {9: TITLE, 20: BODY.replace(" ", "")}
    assert torch.equal(found[:, 16:], near[:, 16:])
    (halves,) = found[0, 9].flatten(0, 1)[:, 0].lt(0.5).nonzero(as_tuple=True)
    assert halves.tolist() == [9 + 6 * number for number in range(len(TITLE))]


@pytest.mark.parametrize(
    ("line", "nearer"),
    [
        pytest.param((TITLE, 4, 4, 3, 0.6), STROKES, id="unsure"),
        pytest.param(("-----a-=", 4, 4, 3, 0.9), STROKES, id="lines that look like dashes"),
        pytest.param((TITLE, 4, 4, 1, 0.9), STROKES, id="small"),
        pytest.param(("An", 4, 4, 3, 0.9), STROKES, id="two letters"),
        pytest.param((TITLE, 4, 4, 2, 0.9), (TITLE, 9, 9, 4, 0.95), id="surer from near"),
    ],
)
def test_a_page_without_large_print_stays_as_it_is(
    line: tuple[str, int, int, int, float], nearer: tuple[str, int, int, int, float]
) -> None:
    near = seen(32, 60, [nearer, NEAR[1]])
    assert with_large_print(near, seen(16, 36, [line]), 2) is near


@pytest.mark.parametrize("em", [40, 56, 90])
def test_a_title_in_large_print_is_read(pocket: Model, em: int) -> None:
    """24, 34 and 54 points: from near, pocket sees none of them."""
    image = Image.new("L", (960, 600), "white")
    draw = ImageDraw.Draw(image)
    draw.text((60, 60), "Annual Report", fill="black", font=ImageFont.load_default(em))
    for line in range(12):
        draw.text((60, 240 + 26 * line), "This is the body of the report. " * 2, font=ImageFont.load_default(17))
    with torch.inference_mode():
        _, _, letters = pocket.network.prompt(ink(image, 16, 24))
    text = "".join(CHARACTERS[which - 1] for which in letters.scores[0].argmax(-1).tolist())
    assert text.startswith("AnnualReportThisisthebody")
