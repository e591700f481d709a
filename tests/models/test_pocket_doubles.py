"""Two thin letters beside each other, or one on the border of two half cells: the white between them tells."""

import pytest
import torch

from fastocr_cli.models.pocket.cells import CHARACTERS, CLASS_OF, NUM_CLASSES
from fastocr_cli.models.pocket.doubles import part_doubles
from fastocr_cli.models.pocket.letters import letters_of


def read(classes: torch.Tensor) -> str:
    return "".join(CHARACTERS[which - 1] for which in letters_of(classes, 2).scores[0].argmax(-1).tolist())


def parted(classes: torch.Tensor, pixels: torch.Tensor) -> torch.Tensor:
    changed = classes.clone()
    part_doubles(changed, pixels)
    return changed


def a_pair(char: str, likely: float) -> torch.Tensor:
    """A letter that is seen in two neighbouring half cells."""
    classes = torch.zeros(1, 4, 12, NUM_CLASSES)
    classes[..., 0] = 1
    classes[0, 2, 5:7, 0], classes[0, 2, 5:7, CLASS_OF[char]] = 1 - likely, likely
    return classes.unflatten(2, (-1, 2))


def strokes(*columns: int, bar: bool = False) -> torch.Tensor:
    """Upright strokes two pixels wide, within the two half cells from pixel 20 on."""
    pixels = torch.zeros(1, 1, 32, 48)
    for column in columns:
        pixels[..., 14:25, 20 + column : 22 + column] = 0.8
    if bar:
        pixels[..., 16:18, 18:30] = 0.8
    return pixels


@pytest.mark.parametrize("bar", [False, True])
def test_two_strokes_are_two_letters_and_one_is_one(bar: bool) -> None:
    seen = a_pair("t", 0.75)
    assert read(seen) == "t"
    assert read(parted(seen, strokes(0, 5, bar=bar))) == "tt"
    assert read(parted(seen, strokes(3, bar=bar))) == "t"


@pytest.mark.parametrize(
    ("char", "likely"),
    [pytest.param("n", 0.75, id="a letter of two strokes"), pytest.param("l", 0.5, id="one letter's probability")],
)
def test_others_stay_as_they_are(char: str, likely: float) -> None:
    seen = a_pair(char, likely)
    assert torch.equal(parted(seen, strokes(0, 5)), seen)


def test_a_page_without_print_stays_as_it_is() -> None:
    classes = torch.zeros(1, 4, 6, 2, NUM_CLASSES)
    classes[..., 0] = 1
    assert torch.equal(parted(classes, torch.zeros(1, 1, 32, 48)), classes)
