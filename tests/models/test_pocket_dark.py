"""Light print on dark ground is read as dark print on white; everything else stays as it is."""

import pytest
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from fastocr_cli.models.pocket import ink
from fastocr_cli.models.pocket.dark import on_white


def page(paper: int, print_: int, em: int = 18, box: tuple[int, int, int, int] | None = None) -> Tensor:
    """Two words, on a page or in a box of it."""
    image = Image.new("L", (480, 320), 255 if box else paper)
    draw = ImageDraw.Draw(image)
    if box:
        draw.rectangle(box, fill=paper)
    draw.text((60, 100), "Annual Report", fill=print_, font=ImageFont.load_default(em))
    return ink(image, 16, 24)


DARK_ON_WHITE = page(255, 0)


@pytest.mark.parametrize(("paper", "print_"), [(0, 255), (40, 255), (90, 255)])
@pytest.mark.parametrize("box", [None, (30, 88, 450, 132)], ids=["page", "band"])
def test_light_print_on_dark_ground_looks_as_dark_print_on_white(
    paper: int, print_: int, box: tuple[int, int, int, int] | None
) -> None:
    found = page(paper, print_, box=box)
    assert (found - DARK_ON_WHITE).abs()[..., 96:124, 48:432].max() < 0.1


@pytest.mark.parametrize("em", [12, 18, 40, 90])
@pytest.mark.parametrize("paper", [255, 200])
def test_dark_print_stays_as_it_is(em: int, paper: int) -> None:
    image = Image.new("L", (960, 320), paper)
    ImageDraw.Draw(image).text((20, 60), "THE FLEET", fill=0, font=ImageFont.load_default(em), stroke_width=em // 30)
    grey = 1 - torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(1, 1, 320, 960) / 255
    assert torch.equal(on_white(grey), grey)


def test_a_thick_rule_stays() -> None:
    rule = torch.zeros(1, 1, 160, 480)
    rule[..., 80:90, 20:460] = 1
    assert torch.equal(on_white(rule), rule)
