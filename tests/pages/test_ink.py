"""Case FL-20: what counts as an empty page."""

import numpy as np
import pytest
from made import SIXTY_WORDS, draw, pdf, write
from PIL import Image, ImageDraw, ImageOps

from fastocr_cli.pages.ink import is_blank

LETTER = (1020, 1320)
WHITE = Image.new("RGB", LETTER, "white")


def noisy(kind: str) -> Image.Image:
    random = np.random.default_rng(0)
    paper = np.full((1320, 1020), 245.0)
    if kind == "uniform":
        paper -= random.uniform(0, 5.1, paper.shape)
    elif kind == "gauss":
        paper += random.normal(0, 5.1, paper.shape)
    else:
        paper[random.random(paper.shape) < 0.02] = 128
    return Image.fromarray(paper.clip(0, 255).astype(np.uint8))


@pytest.mark.parametrize("kind", ["uniform", "gauss", "specks"])
def test_two_percent_noise_is_blank(kind: str) -> None:
    assert is_blank(noisy(kind))


@pytest.mark.parametrize("shade", [0, 90, 128, 200, 255])
def test_even_paper_is_blank(shade: int) -> None:
    assert is_blank(Image.new("RGB", LETTER, (shade,) * 3))


def test_a_shadow_across_the_sheet_is_blank() -> None:
    assert is_blank(Image.linear_gradient("L").resize(LETTER))


def test_show_through_is_blank_and_the_text_itself_is_not(tmp_path) -> None:
    text = draw(pdf(tmp_path / "a.pdf", write(SIXTY_WORDS))).image
    assert not is_blank(text)
    assert is_blank(Image.blend(Image.new("RGB", text.size, "white"), ImageOps.mirror(text), 0.04))


@pytest.mark.parametrize("word", ["word", "of", "7", "A-1"])
def test_one_small_word_is_not_blank(tmp_path, word: str) -> None:
    assert not is_blank(draw(pdf(tmp_path / "a.pdf", write(word, fontsize=6))).image)


def test_white_and_pale_words_are_not_blank() -> None:
    for paper, ink in (("black", "white"), ("white", (200, 200, 200))):
        image = Image.new("RGB", LETTER, paper)
        ImageDraw.Draw(image).text((300, 300), "two words", fill=ink)
        assert not is_blank(image)


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (27, 27), (28, 28), (29, 29), (31, 31), (33, 33), (5, 3000)])
@pytest.mark.parametrize("dot", [False, True])
def test_tiny_pictures_are_blank_with_and_without_a_dot(size: tuple[int, int], dot: bool) -> None:
    image = Image.new("L", size, 255)
    if dot:
        image.putpixel((size[0] // 2, size[1] // 2), 0)
    assert is_blank(image)


def test_dust_on_a_large_scan_is_blank_and_a_word_is_not() -> None:
    scan = Image.new("L", (2550, 3300), 250)
    ImageDraw.Draw(scan).rectangle((1000, 1000, 1003, 1003), fill=0)
    assert is_blank(scan)
    ImageDraw.Draw(scan).text((600, 600), "word", fill=0, font_size=25)
    assert not is_blank(scan)
