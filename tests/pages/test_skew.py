"""Scans that lie askew are turned level; what lies level, or has no lines of print, is left alone."""

import random
from pathlib import Path

import numpy as np
import pytest
from made import DPI, pages
from PIL import Image, ImageDraw

from fastocr_cli.pages.render import draw
from fastocr_cli.pages.skew import LEAST, MOST, level, skew

WHITE = (255, 255, 255)


def printed(angle: float = 0.0, seed: int = 0) -> Image.Image:
    """A page of print, its letters bars of random heights that stand on lines."""
    rng = random.Random(seed)
    page = Image.new("RGB", (800, 1000), WHITE)
    draw = ImageDraw.Draw(page)
    for line in range(120, 880, 22):
        for x in range(90, rng.randint(300, 710), 9):
            if rng.random() < 0.85:
                draw.rectangle([x, line - rng.choice([8, 8, 12]), x + 4, line], fill=(20, 20, 20))
    return page.rotate(angle, Image.Resampling.BICUBIC, fillcolor=WHITE)


@pytest.mark.parametrize("angle", [-8.0, -2.3, -0.8, 0.8, 1.5, 6.0])
def test_the_angle_is_found_and_the_page_turned_back(angle: float) -> None:
    page = printed(angle)
    assert skew(page) == pytest.approx(-angle, abs=0.15)
    assert abs(skew(level(page))) < LEAST
    assert level(page).size == page.size


def test_a_level_page_is_left_as_it_is() -> None:
    page = printed()
    assert level(page) is page


@pytest.mark.parametrize("seed", range(5))
def test_what_has_no_lines_of_print_is_left_as_it_is(seed: int) -> None:
    rng = np.random.default_rng(seed)
    noise = Image.fromarray(rng.integers(0, 256, (60, 50, 3), np.uint8)).resize((800, 960), Image.Resampling.BICUBIC)
    assert level(noise) is noise
    blank = Image.new("RGB", (800, 960), WHITE)
    assert level(blank) is blank


def test_more_than_a_scanner_does_is_not_turned() -> None:
    assert abs(skew(printed(25))) <= MOST + 0.5


def test_the_corners_take_the_colour_of_the_paper() -> None:
    page = Image.composite(
        Image.new("RGB", (800, 1000), (240, 230, 200)),
        printed(3),
        printed(3).convert("L").point(lambda v: 255 * (v > 200)),
    )
    assert level(page).getpixel((2, 2)) == (240, 230, 200)


def test_a_scan_is_drawn_level(tmp_path: Path) -> None:
    printed(2).save(tmp_path / "scan.png")
    assert abs(skew(draw(pages(tmp_path)[0], DPI, True, None).image)) < LEAST


@pytest.mark.parametrize("size", [(1, 1), (8, 3000), (3000, 8)])
def test_odd_sizes_do_no_harm(size: tuple[int, int]) -> None:
    assert level(Image.new("RGB", size, WHITE)).size == size
