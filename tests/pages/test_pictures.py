"""Cases FL-06 c, FL-11, FL-13, FL-14, FL-16..18: image files."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from made import DPI, brightness, difference, draw, pages, pdf, picture
from PIL import Image, TiffImagePlugin

from fastocr_cli.errors import PageError
from fastocr_cli.pages import Resolution, render
from fastocr_cli.pages.ink import is_blank


@pytest.mark.parametrize("ending", ["tif", "gif", "webp", "png"])
def test_every_frame_is_a_page_in_order(tmp_path: Path, ending: str) -> None:
    frames = [picture(text) for text in ("P1", "P2", "P3")]
    path = tmp_path / f"m.{ending}"
    frames[0].save(path, save_all=True, append_images=frames[1:], **({"lossless": True} if ending == "webp" else {}))
    found = pages(path)
    assert [ref.number for ref in found] == [1, 2, 3]
    for ref in (found[2], found[0], found[1]):
        image = render(ref, DPI, characters=True).image
        errors = [difference(image, frame.resize(image.size)) for frame in frames]
        assert errors.index(min(errors)) == ref.number - 1


def test_a_tiff_of_mixed_sizes_and_modes(tmp_path: Path) -> None:
    frames = [picture("A", (600, 300), "1"), picture("B", (300, 500), "L"), picture("C", (400, 400), "RGB")]
    frames[0].save(tmp_path / "m.tif", save_all=True, append_images=frames[1:])
    for number, frame in enumerate(frames, 1):
        image = draw(tmp_path / "m.tif", number).image
        assert image.mode == "RGB"
        assert difference(image, frame.convert("L").resize(image.size)) < 4


def test_thumbnails_in_a_tiff_are_no_pages(tmp_path: Path) -> None:
    small = picture("A", (60, 30))
    small.encoderinfo = {"tiffinfo": {254: 1}}
    picture("A").save(tmp_path / "m.tif", save_all=True, append_images=[small, picture("B")])
    assert len(pages(tmp_path / "m.tif")) == 2
    assert draw(tmp_path / "m.tif", 2).image.size == (750, 375)


TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_90,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_270,
}


@pytest.mark.parametrize("ending", ["jpg", "tif", "png", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_applied_once(tmp_path: Path, ending: str, orientation: int) -> None:
    upright = picture("TOP-LEFT")
    stored = upright.transpose(TURNS[orientation]) if orientation in TURNS else upright
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"o.{ending}"
    stored.save(path, exif=exif, dpi=(120, 120), quality=95)
    for _ in range(2):  # also the second time the open file is asked
        image = draw(path).image
        if ending != "webp":  # which has no dpi
            assert image.size == upright.size
        assert difference(image, upright.resize(image.size)) < 3


def test_a_tagged_photo_in_a_pdf_lies_as_a_viewer_shows_it(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6
    picture("TOP-LEFT").save(tmp_path / "o.jpg", exif=exif)
    path = pdf(tmp_path / "o.pdf", lambda page: page.insert_image(page.rect, filename=tmp_path / "o.jpg"))
    image = draw(path).image
    assert image.size == (992, 1404)
    assert not is_blank(image)


def clear_text(ink: str, hidden: bool = False) -> Image.Image:
    letters = picture("TEXT", (800, 200), "L").point([255 - value for value in range(256)])
    image = Image.new("RGBA", letters.size, ink)
    if hidden:
        noise = np.random.default_rng(0).integers(0, 256, (200, 800, 3), dtype=np.uint8)
        image.paste(Image.fromarray(noise), mask=letters.point([255 * (value == 0) for value in range(256)]))
    image.putalpha(letters)
    return image


@pytest.mark.parametrize("kind", ["black", "hidden", "palette", "LA", "white"])
def test_text_on_clear_ground_is_seen(tmp_path: Path, kind: str) -> None:
    image = clear_text("white" if kind == "white" else "black", hidden=kind == "hidden")
    if kind == "palette":
        image = picture("TEXT", (800, 200), "P")
        image.info["transparency"] = image.getpixel((799, 199))
    if kind == "LA":
        image = image.convert("LA")
    image.save(tmp_path / "a.png")
    seen = draw(tmp_path / "a.png").image
    expected = picture("TEXT", (800, 200)).resize(seen.size)
    if kind == "white":
        expected = expected.point([255 - value for value in range(256)] * 3)
    assert difference(seen, expected) < 3


def sixteen_bits(path: Path, top: int, inverted: bool = False) -> None:
    values = (np.asarray(picture("DEEP", mode="L")).astype(np.uint32) * top // 255).astype(np.uint16)
    image = Image.fromarray(top - values if inverted else values)
    tags = TiffImagePlugin.ImageFileDirectory_v2()
    if inverted:
        tags[262] = 0  # white is zero
    image.save(path, **({"tiffinfo": tags} if inverted else {}))


@pytest.mark.parametrize(("ending", "top"), [("png", 65535), ("tif", 65535), ("tif", 4095)])
def test_sixteen_bits(tmp_path: Path, ending: str, top: int) -> None:
    sixteen_bits(tmp_path / f"a.{ending}", top)
    image = draw(tmp_path / f"a.{ending}").image
    assert difference(image, picture("DEEP").resize(image.size)) < 3


def test_sixteen_bits_where_white_is_zero(tmp_path: Path) -> None:
    sixteen_bits(tmp_path / "a.tif", 65535, inverted=True)
    image = draw(tmp_path / "a.tif").image
    assert difference(image, picture("DEEP").resize(image.size)) < 3


@pytest.mark.parametrize(
    ("mode", "ending"),
    [("1", "png"), ("P", "png"), ("L", "jpg"), ("CMYK", "jpg"), ("CMYK", "tif"), ("YCbCr", "tif"), ("LAB", "tif"),
     ("F", "tif"), ("I", "tif"), ("1", "tif"), ("L", "bmp"), ("RGBA", "webp"), ("P", "gif")],
)  # fmt: skip
def test_dark_text_on_light_ground_in_every_colour_model(tmp_path: Path, mode: str, ending: str) -> None:
    if mode == "LAB":
        from PIL import ImageCms

        lab = ImageCms.buildTransform(ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB")
        image = ImageCms.applyTransform(picture("INK"), lab)
    else:
        image = picture("INK", mode="L" if mode in "FI" else "RGB").convert(mode)
    path = tmp_path / f"c.{ending}"
    image.save(path)
    seen = draw(path).image
    twin = picture("INK").resize(seen.size)
    assert brightness(seen) == pytest.approx(brightness(twin), rel=0.1)
    assert difference(seen, twin) < 6


@pytest.mark.parametrize("ending", ["jpg", "tif"])
def test_cmyk_in_a_pdf_looks_like_the_image_itself(tmp_path: Path, ending: str) -> None:
    image = picture("INK")
    image.convert("CMYK").save(tmp_path / f"c.{ending}", quality=95)
    place = lambda page: page.insert_image(page.rect, filename=tmp_path / f"c.{ending}")  # noqa: E731
    seen = draw(pdf(tmp_path / "c.pdf", place, width=600, height=300)).image
    direct = draw(tmp_path / f"c.{ending}").image
    assert brightness(seen) == pytest.approx(brightness(direct), rel=0.1)
    assert brightness(direct) == pytest.approx(brightness(image), rel=0.1)


@pytest.mark.parametrize("ending", ["jpg", "png", "tif", "gif", "webp", "bmp"])
def test_a_cut_off_image_is_an_error(tmp_path: Path, ending: str) -> None:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 256, (300, 300, 3), dtype=np.uint8))
    path = tmp_path / f"b.{ending}"
    noise.save(path)
    draw(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 6 // 10])
    with pytest.raises(PageError, match=r"decoded|damaged"):
        draw(path)


@pytest.mark.parametrize("size", [(1, 1), (1, 40), (27, 27), (28, 28), (29, 29), (31, 31), (33, 33)])
@pytest.mark.parametrize("resolution", [DPI, Resolution(longest_side=1288)])
def test_tiny_images(tmp_path: Path, size: tuple[int, int], resolution: Resolution) -> None:
    Image.new("L", size, 255).save(tmp_path / "t.png")
    image = draw(tmp_path / "t.png", resolution=resolution).image
    assert min(image.size) >= 1
    assert max(image.size) <= 2 * max(size)


def test_one_page_of_a_phone_jpeg_with_several_pictures(tmp_path: Path) -> None:
    picture("A").save(tmp_path / "m.jpg", "MPO", save_all=True, append_images=[picture("B")])
    assert len(pages(tmp_path / "m.jpg")) == 1
    draw(tmp_path / "m.jpg")


@pytest.mark.parametrize("ending", ["jpg", "png", "tif"])
def test_a_second_look_at_another_resolution(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    picture("A", (2550, 3300)).save(path, dpi=(300, 300))
    for dpi, size in ((60, (510, 660)), (300, (2550, 3300)), (120, (1020, 1320))):
        assert draw(path, resolution=Resolution(dpi=dpi)).image.size == size


def test_fax_lines_are_stretched(tmp_path: Path) -> None:
    picture("FAX", (1728, 1100), "1").save(tmp_path / "f.tif", dpi=(204, 98))
    width, height = draw(tmp_path / "f.tif").image.size
    assert width / height == pytest.approx(1728 / 1100 * 98 / 204, rel=0.01)


def test_the_file_dpi_leads_where_it_can_be_true(tmp_path: Path) -> None:
    picture("A", (2550, 3300)).save(tmp_path / "a.png", dpi=(300, 300))
    seen = draw(tmp_path / "a.png")
    assert seen.image.size == (1020, 1320)
    assert seen.warnings == ()


POSTER = """
import resource, sys
from pathlib import Path
from made import draw
from fastocr_cli.pages import Resolution
from PIL import Image
Image.new("L", (10, 10)).save(sys.argv[2])
draw(Path(sys.argv[2]))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
page = draw(Path(sys.argv[1]), resolution=Resolution(dpi=120))
print(page.image.width, page.image.height, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
print(page.warnings)
"""


def test_a_poster_scan_is_shrunk_in_bounded_memory(tmp_path: Path) -> None:
    image = Image.new("1", (16_000, 12_000), 1)
    image.paste(0, (8_000, 6_000, 8_400, 6_400))
    image.save(tmp_path / "poster.png", dpi=(120, 120))
    del image
    done = subprocess.run(
        [sys.executable, "-c", POSTER, tmp_path / "poster.png", tmp_path / "small.png"],
        env={"PYTHONPATH": f"{Path(__file__).parent}:{Path(__file__).parents[2] / 'src'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    width, height, num_mebibytes = map(int, done.stdout.splitlines()[0].split())
    assert width * height <= Resolution().max_pixels
    assert min(width, height) > 2000
    assert num_mebibytes < 400
    assert "shrunk from 16000 x 12000" in done.stdout


def test_an_image_beyond_all_bounds_is_refused_before_it_is_decoded(tmp_path: Path) -> None:
    header = bytearray()
    picture("x", (8, 8)).save(tmp_path / "x.bmp")
    header[:] = (tmp_path / "x.bmp").read_bytes()
    header[18:26] = (100_000).to_bytes(4, "little") * 2
    (tmp_path / "x.bmp").write_bytes(header)
    with pytest.raises(PageError, match="too large"):
        draw(tmp_path / "x.bmp")
    assert Image.MAX_IMAGE_PIXELS is not None
