"""pocket's network: what of a page is looked at, and where what was seen lies."""

import pytest
import torch
from PIL import Image, ImageDraw, ImageFont
from torch import Tensor

from fastocr_cli.models.pocket import Model, ink, network
from fastocr_cli.models.pocket.network import Area


def a_page() -> Tensor:
    image = Image.new("L", (960, 800), "white")
    draw = ImageDraw.Draw(image)
    for line in range(4):
        draw.text((420, 300 + 26 * line), "The body of the report.", fill="black", font=ImageFont.load_default(17))
    return ink(image, 16, 24)


def test_white_margins_are_not_looked_at_and_letters_stay_in_their_places(
    pocket: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, seen = pocket.network.vis.read, []
    monkeypatch.setattr(pocket.network.vis, "read", lambda pixels, *rest: seen.append(pixels) or read(pixels, *rest))
    with torch.inference_mode():
        embeds, positions, letters = pocket.network.prompt(a_page())
        monkeypatch.setattr(network, "MARGIN", 1000)
        whole_embeds, whole_positions, whole_letters = pocket.network.prompt(a_page())
    assert seen[0].numel() < seen[1].numel() / 3
    assert seen[0].sum() == seen[1].sum()
    assert torch.equal(positions, whole_positions)
    for place in ("row", "cell_row", "line", "half"):
        assert torch.equal(getattr(letters, place), getattr(whole_letters, place))
    assert torch.equal(letters.scores.argmax(-1), whole_letters.scores.argmax(-1))
    assert torch.nn.functional.cosine_similarity(embeds, whole_embeds).min() > 0.95


def test_an_empty_page_has_a_corner(pocket: Model) -> None:
    with torch.inference_mode():
        embeds, _, letters = pocket.network.prompt(torch.zeros(1, 1, 160, 240))
    assert len(embeds) == 3
    assert letters.num_letters == 0


def test_an_area_begins_where_the_page_from_afar_has_a_token() -> None:
    kept = torch.tensor([10 * 40 + 7, 10 * 40 + 30, 21 * 40 + 12])  # of 40 columns
    area = Area.of(kept, (50, 40))
    assert area == Area(8, 4, 23, 32)
    page = torch.arange(50 * 40).view(50, 40)
    part = area.cut(page, (1, 1)).flatten()
    assert torch.equal(part[area.numbers(kept, 40)], kept)


def test_an_area_ends_with_the_page() -> None:
    assert Area.of(torch.tensor([0, 99]), (10, 10)) == Area(0, 0, 10, 10)
