"""How many pixels a page gets."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.pages.refs import Resolution
from fastocr_cli.pages.size import page_scale, picture_dpi, picture_scale

_points = st.floats(0.1, 20_000)


@given(_points, _points, st.floats(10, 1200), st.integers(1_000, 20_000_000))
def test_no_page_is_larger_than_the_caps(width: float, height: float, dpi: float, max_pixels: int) -> None:
    resolution = Resolution(dpi=dpi, max_pixels=max_pixels)
    scale, capped = page_scale(width, height, resolution)
    pixels = math.ceil(width * scale), math.ceil(height * scale)
    assert pixels[0] * pixels[1] <= max_pixels
    assert max(pixels) <= resolution.max_side
    assert capped or scale == pytest.approx(dpi / 72, rel=0.02)


def test_longest_side() -> None:
    scale, capped = page_scale(612, 792, Resolution(longest_side=1288))
    assert 792 * scale == pytest.approx(1288)
    assert not capped


@pytest.mark.parametrize(
    ("size", "tag", "dpi"),
    [
        ((2550, 3300), 300, 300),  # a tag that can be true
        ((4032, 3024), 72, 3024 / 8.27),  # a phone photo would be 56 inches long
        ((2480, 3508), None, 2480 / 8.27),  # an A4 scan
        ((2480, 3508), 1, 2480 / 8.27),
        ((1000, 4000), None, 4000 / 17),  # a receipt
        ((1920, 1080), None, 1920 / 17),  # a screen
        ((600, 300), None, 96),
        ((1, 1), None, 96),
        ((16_000, 12_000), None, 600),
        ((20_000, 5_000), None, 600),
    ],
)
def test_how_dense_an_image_is(size: tuple[int, int], tag: float | None, dpi: float) -> None:
    assert picture_dpi(*size, tag) == pytest.approx(dpi)


def test_images_are_enlarged_at_most_twice() -> None:
    assert picture_scale(10, 10, None, Resolution(longest_side=1288)) == (2.0, False)
    assert picture_scale(100, 140, None, Resolution(dpi=1200))[0] == 2.0


def test_a_resolution_must_say_something() -> None:
    with pytest.raises(ValueError, match="dpi or longest_side"):
        page_scale(1, 1, Resolution())
