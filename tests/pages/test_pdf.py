"""Cases FL-02, FL-05, FL-06, FL-09, FL-11: PDF pages as a viewer shows them, or a plain word on why not."""

import subprocess
import sys
from pathlib import Path

import pymupdf
import pytest
from made import DPI, SIXTY_WORDS, difference, draw, pages, pdf, text_of, write

from fastocr_cli.errors import PageError
from fastocr_cli.pages import Resolution, render
from fastocr_cli.pages.ink import is_blank


def broken(path: Path, breaking) -> Path:
    """A PDF of three pages whose bytes `breaking(document)` has changed."""
    with pymupdf.open(pdf(path, write("one"), write(SIXTY_WORDS), write("three"))) as document:
        breaking(document)
        data = document.tobytes()
    path.write_bytes(data)
    return path


def put_a_font_among_the_pages(document: pymupdf.Document) -> None:
    (font, *_) = document[1].get_fonts()[0]
    tree = int(document.xref_get_key(document.pdf_catalog(), "Pages")[1].split()[0])
    numbers = [document.page_xref(number) for number in range(3)]
    numbers[1] = font
    document.xref_set_key(tree, "Kids", "[" + " ".join(f"{number} 0 R" for number in numbers) + "]")


def cut_content(num_bytes: int):
    def cut(document: pymupdf.Document) -> None:
        (stream,) = document[1].get_contents()
        document.update_stream(stream, document.xref_stream(stream)[:num_bytes])

    return cut


@pytest.mark.parametrize("breaking", [put_a_font_among_the_pages, cut_content(20), cut_content(30), cut_content(40)])
def test_a_page_that_cannot_be_drawn_fails_alone(tmp_path: Path, breaking, capfd: pytest.CaptureFixture[str]) -> None:
    path = broken(tmp_path / "a.pdf", breaking)
    found = pages(path)
    assert [ref.number for ref in found] == [1, 2, 3]
    with pytest.raises(PageError):
        render(found[1], DPI, characters=True)
    for ref, word in ((found[0], "one"), (found[2], "three")):
        page = render(ref, DPI, characters=True)
        assert text_of(page) == word
        assert page.warnings == ()
    assert capfd.readouterr() == ("", "")


def test_a_page_that_half_draws_has_a_warning(tmp_path: Path) -> None:
    path = broken(tmp_path / "a.pdf", cut_content(200))
    page = draw(path, 2)
    assert not is_blank(page.image)
    assert any("incomplete" in warning for warning in page.warnings)


def test_a_broken_picture_on_a_page_is_told_of(tmp_path: Path) -> None:
    def paint(page: pymupdf.Page) -> None:
        page.insert_text((72, 72), "words")
        page.insert_image(pymupdf.Rect(100, 200, 300, 400), pixmap=pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 90, 90), 0))

    path = pdf(tmp_path / "a.pdf", paint)
    with pymupdf.open(path) as document:
        stream = document[0].get_images()[0][0]
        document.update_stream(stream, b"\xff\xd8\xff\xe0 no jpeg", compress=False)
        document.xref_set_key(stream, "Filter", "/DCTDecode")
        data = document.tobytes()
    path.write_bytes(data)
    assert draw(path).warnings


def test_an_empty_page_is_no_error(tmp_path: Path) -> None:
    page = draw(pdf(tmp_path / "a.pdf", lambda page: None))
    assert page.warnings == ()
    assert is_blank(page.image)


def boxed(path: Path, **boxes: str) -> Path:
    def paint(page: pymupdf.Page) -> None:
        page.insert_text((200, 400), "INSIDE", fontsize=30)
        page.insert_text((200, 40), "OUTSIDE", fontsize=30)

    with pymupdf.open(pdf(path, paint)) as document:
        for key, value in boxes.items():
            document.xref_set_key(document[0].xref, key, value)
        data = document.tobytes()
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("boxes", "size", "text"),
    [
        ({"CropBox": "[60 60 535 700]"}, (475, 640), "INSIDE"),
        ({"CropBox": "[-50 -50 650 900]"}, (595, 842), "INSIDEOUTSIDE"),
        ({"MediaBox": "[-30 -20 565 822]"}, (595, 842), "INSIDEOUTSIDE"),
        ({"CropBox": "[700 900 900 1200]"}, (595, 842), "INSIDEOUTSIDE"),
        ({"MediaBox": "[595 842 0 0]"}, (595, 842), "INSIDEOUTSIDE"),
        ({"UserUnit": "2"}, (1190, 1684), "INSIDEOUTSIDE"),
    ],
)
def test_boxes_as_a_viewer_shows_them(tmp_path: Path, boxes, size, text) -> None:
    page = draw(boxed(tmp_path / "a.pdf", **boxes), characters=True, resolution=Resolution(dpi=72))
    assert page.image.size == size
    assert sorted(text_of(page) or "") == sorted(text)


def test_rotation_is_applied_once(tmp_path: Path) -> None:
    """The four pages look alike, though each is stored turned by another angle."""
    with pymupdf.open() as document:
        for angle in (0, 90, 180, 270):
            upright = angle % 180 == 0
            page = document.new_page(width=595 if upright else 842, height=842 if upright else 595)
            page.set_rotation(angle)
            for number, line in enumerate(SIXTY_WORDS.splitlines()):
                point = pymupdf.Point(72, 100 + 20 * number) * page.derotation_matrix
                page.insert_text(point, line, rotate=angle)
        document.save(tmp_path / "a.pdf")
    plain = draw(tmp_path / "a.pdf", 1, characters=True)
    for number in (2, 3, 4):
        turned = draw(tmp_path / "a.pdf", number, characters=True)
        assert turned.image.size == plain.image.size
        assert difference(turned.image, plain.image) < 3
        assert text_of(turned) == text_of(plain)
        for one, other in zip(turned.characters or (), plain.characters or (), strict=True):
            assert abs(one.x - other.x) < 2
            assert abs(one.y - other.y) < 2


def test_a_poster_is_scaled_down_before_it_is_drawn(tmp_path: Path) -> None:
    corners = [write("WORD", y, x, fontsize=200) for x in (100, 13_000) for y in (300, 14_000)]
    path = pdf(tmp_path / "a.pdf", lambda page: [corner(page) for corner in corners], width=14_400, height=14_400)
    page = draw(path)
    assert page.image.width * page.image.height <= Resolution().max_pixels
    assert any("scaled down to 17 dpi" in warning or "scaled down to 18 dpi" in warning for warning in page.warnings)
    assert not is_blank(page.image)


def test_a_small_page_with_a_monstrous_picture(tmp_path: Path) -> None:
    from PIL import Image

    Image.new("1", (9_000, 9_000)).save(tmp_path / "m.png")
    path = pdf(
        tmp_path / "a.pdf",
        lambda page: page.insert_image(page.rect, filename=tmp_path / "m.png"),
        width=200,
        height=200,
    )
    assert draw(path).image.size == (334, 334)


@pytest.mark.parametrize("size", [(3, 3), (1, 500), (14_400, 3)])
@pytest.mark.parametrize("resolution", [DPI, Resolution(longest_side=1288)])
def test_tiny_pages(tmp_path: Path, size: tuple[int, int], resolution: Resolution) -> None:
    page = draw(pdf(tmp_path / "a.pdf", lambda page: None, width=size[0], height=size[1]), resolution=resolution)
    assert min(page.image.size) >= 1


def test_form_fields_and_notes_are_drawn(tmp_path: Path) -> None:
    def paint(page: pymupdf.Page) -> None:
        widget = pymupdf.Widget()
        widget.field_name, widget.field_type = "n", pymupdf.PDF_WIDGET_TYPE_TEXT
        widget.rect, widget.field_value = pymupdf.Rect(72, 72, 300, 100), "FILLED"
        page.add_widget(widget)

    page = draw(pdf(tmp_path / "a.pdf", paint), characters=True)
    assert text_of(page) == "FILLED"


def test_the_message_has_no_engine_numbers(tmp_path: Path) -> None:
    path = broken(tmp_path / "a.pdf", put_a_font_among_the_pages)
    with pytest.raises(PageError) as caught:
        draw(path, 2)
    assert "code=" not in str(caught.value)
    with pytest.raises(PageError, match="no page 9"):
        draw(path, 9)


def test_no_runtime_comes_along_that_keeps_records_of_its_use() -> None:
    code = (
        "import sys, fastocr_cli.pages.pdf\n"
        "unwanted = {'onnxruntime', 'pymupdf.layout', 'pymupdf4llm'} & set(sys.modules)\n"
        "sys.exit(str(unwanted) if unwanted else 0)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
