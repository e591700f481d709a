"""Words divided at the end of a line: their hyphens are seen, and where they go on is known."""

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFont

from fastocr_cli.models.pocket import Model, ink
from fastocr_cli.models.pocket.cells import CHARACTERS, CLASS_OF, NUM_CLASSES
from fastocr_cli.models.pocket.hyphens import second_halves, strengthen_hyphens
from fastocr_cli.models.pocket.letters import letters_of
from fastocr_cli.models.weights import load_model


@pytest.mark.parametrize(
    ("lines", "begins"),
    [
        (["com-", "mon"], [4]),
        (["a-b"], []),  # in the middle of a line
        (["com-", "Mon"], []),  # a name of its own
        (["1-", "two"], []),  # a range
        (["--", "x"], []),  # an option, a dash
        (["a-", "b-", "c"], [2, 4]),
        (["a-"], []),
        ([], []),
    ],
)
def test_second_halves(lines: list[str], begins: list[int]) -> None:
    classes = np.array([CLASS_OF[char] for line in lines for char in line], np.int64)
    line = np.array([number for number, text in enumerate(lines) for _ in text], np.int64)
    assert np.flatnonzero(second_halves(line, classes)).tolist() == begins


def strengthened(classes: torch.Tensor) -> torch.Tensor:
    changed = classes.clone()
    strengthen_hyphens(changed, 2)
    return changed


def read(classes: torch.Tensor) -> str:
    return "".join(CHARACTERS[which - 1] for which in letters_of(classes, 2).scores[0].argmax(-1).tolist())


@pytest.mark.parametrize(
    ("before", "likely", "distance", "after", "seen"),
    [
        pytest.param("in", 0.05, 2, "", "in-", id="at the end of a line"),
        pytest.param("in", 0.05, 5, "", "in-", id="not quite beside it"),
        pytest.param("in", 0.05, 2, "formation", "in-formation", id="at the end of a column"),
        pytest.param("in", 0.01, 2, "", "in", id="too faint"),
        pytest.param("in", 0.05, 9, "", "in", id="too far away"),
        pytest.param("19", 0.05, 2, "", "19", id="after a figure"),
        pytest.param("", 0.05, 2, "", "", id="alone"),
    ],
)
def test_a_faint_hyphen_counts_at_the_end_of_a_line(
    before: str, likely: float, distance: int, after: str, seen: str
) -> None:
    classes = torch.zeros(1, 8, 60, NUM_CLASSES)
    classes[..., 0] = 1
    places = [(char, 10 + 2 * number) for number, char in enumerate(before)]
    places += [(char, 30 + 2 * number) for number, char in enumerate(after)]
    for char, half in places:
        classes[0, 3, half, 0], classes[0, 3, half, CLASS_OF[char]] = 0.1, 0.9
    faint = 10 + 2 * len(before) - 2 + distance
    classes[0, 3, faint, 0], classes[0, 3, faint, CLASS_OF["-"]] = 1 - likely, likely
    classes = classes.unflatten(2, (-1, 2))
    found = strengthened(classes)
    assert (read(found) if before else "") == seen
    assert torch.equal(found, classes) == ("-" not in seen)


def test_a_faint_hyphen_within_a_line_stays_faint() -> None:
    classes = torch.zeros(1, 8, 60, NUM_CLASSES)
    classes[..., 0] = 1
    for half, char, likely in ((10, "a", 0.9), (12, "-", 0.2), (14, "b", 0.9)):
        classes[0, 3, half, 0], classes[0, 3, half, CLASS_OF[char]] = 1 - likely, likely
    classes = classes.unflatten(2, (-1, 2))
    assert read(strengthened(classes)) == "ab"


@pytest.mark.parametrize("em", [16, 19])
def test_words_divided_in_a_picture_are_read_as_such(em: int) -> None:
    torch.set_num_threads(1)
    pocket = load_model("pocket", device="cpu", dtype="float32")
    assert isinstance(pocket, Model)
    image = Image.new("L", (480, 240), "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(["We have no infor-", "mation about any", "of the measure-", "ments that follow."]):
        draw.text((40, 40 + 28 * number), line, fill="black", font=ImageFont.load_default(em))
    with torch.inference_mode():
        _, _, letters = pocket.network.prompt(ink(image, 16, 24))
    text = "".join(CHARACTERS[which - 1] for which in letters.scores[0].argmax(-1).tolist())
    assert "infor-mation" in text
    assert "measure-ments" in text
