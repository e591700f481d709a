"""A page whose hidden text says something else than its ink is read by its ink."""

from itertools import pairwise
from pathlib import Path

import pymupdf
import pytest
from made import SIXTY_WORDS, draw, pdf, text_of, write

TRUTH = SIXTY_WORDS.replace("\n", "").replace(" ", "")
LIE = "\n".join(["Nine red cats never run along that narrow hedge without a hat"] * 6)
WHITE = (1, 1, 1)


def layer(tmp_path: Path, *painters) -> str | None:
    return text_of(draw(pdf(tmp_path / "a.pdf", lambda page: [paint(page) for paint in painters]), characters=True))


def cover(color=WHITE, **options):
    return lambda page: page.draw_rect(pymupdf.Rect(60, 60, 560, 300), color=None, fill=color, **options)


def scan_of(*painters, dpi: int = 150):
    """The picture of a page on a page."""

    def paint(page: pymupdf.Page) -> None:
        with pymupdf.open() as document:
            source = document.new_page(width=595, height=842)
            for painter in painters:
                painter(source)
            page.insert_image(page.rect, pixmap=source.get_pixmap(dpi=dpi))

    return paint


def outlines(text: str):
    """Text whose letters are drawn as shapes, so that no layer knows them."""

    def paint(page: pymupdf.Page) -> None:
        with pymupdf.open() as document:
            source = document.new_page(width=595, height=842)
            write(text)(source)
            svg = source.get_svg_image(text_as_path=True)
            drawing = pymupdf.open(stream=svg.encode(), filetype="svg").convert_to_pdf()
        with pymupdf.open(stream=drawing, filetype="pdf") as shapes:
            page.show_pdf_page(page.rect, shapes, 0)

    return paint


@pytest.mark.parametrize("font", ["helv", "tiro", "cour"])
@pytest.mark.parametrize("size", [6, 9, 13])
def test_plain_text_is_known(tmp_path: Path, font: str, size: int) -> None:
    assert layer(tmp_path, write(SIXTY_WORDS, fontname=font, fontsize=size)) == TRUTH


@pytest.mark.parametrize("font", ["helv", "tiro", "cour"])
@pytest.mark.parametrize("size", [6, 9, 13])
def test_blanks_are_where_they_are_printed(tmp_path: Path, font: str, size: int) -> None:
    page = draw(pdf(tmp_path / "a.pdf", write(SIXTY_WORDS, fontname=font, fontsize=size)), characters=True)
    before = {True: " ", False: "", None: "\n"}
    assert "".join(before[c.blank] + c.char for c in page.characters or ()) == "\n" + SIXTY_WORDS


def test_places_are_those_of_training(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", write("il", y=100, x=72, fontsize=12))
    width = pymupdf.get_text_length("i", fontsize=12)
    for character, start in zip(draw(path, characters=True).characters or (), (72, 72 + width), strict=True):
        assert character.x == pytest.approx((start + width / 2) * 120 / 72, abs=0.1)
        assert character.y == pytest.approx((100 - 0.3 * 12) * 120 / 72, abs=0.1)


def test_nobody_asked(tmp_path: Path) -> None:
    assert draw(pdf(tmp_path / "a.pdf", write(SIXTY_WORDS))).characters is None


@pytest.mark.parametrize(
    "painters",
    [
        pytest.param([write(LIE), cover()], id="covered"),
        pytest.param([write(LIE), cover((0, 0, 0))], id="blacked out"),
        pytest.param([write(LIE), cover(), outlines(SIXTY_WORDS)], id="covered, other shapes on top"),
        pytest.param([write(LIE), scan_of(write(SIXTY_WORDS))], id="under a scan"),
        pytest.param([scan_of(write(SIXTY_WORDS)), write(LIE, render_mode=3)], id="invisible over a scan"),
        pytest.param([scan_of(write(SIXTY_WORDS)), write(SIXTY_WORDS, render_mode=3)], id="honest OCR layer"),
        pytest.param([scan_of(write(SIXTY_WORDS)), write(LIE, color=WHITE, fill_opacity=0)], id="clear over a scan"),
        pytest.param([write(LIE, color=WHITE)], id="white on white"),
        pytest.param([write(LIE, fontsize=1)], id="as fine as dust"),
        pytest.param([write(LIE, color=(0.99,) * 3), outlines(SIXTY_WORDS)], id="nearly white"),
        pytest.param([outlines(SIXTY_WORDS), write(LIE, render_mode=7)], id="as a clip"),
        pytest.param([write(LIE, x=700)], id="beside the page"),
        pytest.param([write(SIXTY_WORDS), write(LIE, render_mode=0, color=WHITE)], id="white over the truth"),
        pytest.param([write(LIE), cover(), write(SIXTY_WORDS)], id="covered, other text on top"),
    ],
)
def test_hidden_text_is_no_text(tmp_path: Path, painters) -> None:
    assert layer(tmp_path, *painters) is None


@pytest.mark.parametrize(
    "painters",
    [
        pytest.param([write(SIXTY_WORDS), write(LIE, y=900)], id="other text below the page"),
        pytest.param([write(SIXTY_WORDS), write(LIE, render_mode=3)], id="invisible"),
        pytest.param([write(LIE, y=400), lambda page: page.draw_rect((60, 380, 560, 600), color=None, fill=WHITE),
                      write(SIXTY_WORDS), write(SIXTY_WORDS, y=650)][:3], id="covered elsewhere"),
        pytest.param([cover((1, 1, 0.4)), write(SIXTY_WORDS)], id="on yellow"),
        pytest.param([cover((0, 0, 0.4)), write(SIXTY_WORDS, color=WHITE)], id="white on blue"),
        pytest.param([write(SIXTY_WORDS), cover((1, 1, 0), fill_opacity=0.3)], id="under a marker"),
        pytest.param([write(SIXTY_WORDS), write(SIXTY_WORDS, x=72.3)][:1], id="once"),
        pytest.param([write(SIXTY_WORDS, color=(0.7, 0.7, 0.7))], id="pale"),
        pytest.param([write(SIXTY_WORDS, render_mode=2)], id="outlined"),
    ],
)  # fmt: skip
def test_visible_text_is_known_whatever_lies_beside_it(tmp_path: Path, painters) -> None:
    text = layer(tmp_path, *painters)
    assert text is not None
    assert text in (TRUTH, TRUTH[: len(text)]) or _share_of(text, TRUTH) > 0.95


def _share_of(text: str, truth: str) -> float:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, text, truth, autojunk=False).ratio()


def test_text_drawn_twice_is_still_text(tmp_path: Path) -> None:
    text = layer(tmp_path, write(SIXTY_WORDS), write(SIXTY_WORDS, x=72.3))
    assert text is not None
    assert set(text) == set(TRUTH)


def test_a_rule_close_below_takes_no_comma_away(tmp_path: Path) -> None:
    """Its box reaches over the rule of the table, its ink does not."""
    figures = [f"{number},{number + 111},000 (2)" for number in range(1, 10)]

    def table(page: pymupdf.Page) -> None:
        for row, text in enumerate(figures):
            page.insert_text((72, 100 + 12.3 * row), text, fontsize=8)
            page.draw_line((60, 102.3 + 12.3 * row), (300, 102.3 + 12.3 * row), width=1)

    assert layer(tmp_path, table) == "".join(figures).replace(" ", "")


def test_an_underline_above_takes_no_letter_away(tmp_path: Path) -> None:
    """It lies within the boxes of the letters below."""
    lines = ["Events Trends and Issues", "United States and Canada"]

    def paint(page: pymupdf.Page) -> None:
        for row, text in enumerate(lines * 5):
            y, width = 100 + 10.5 * row, pymupdf.get_text_length(text, fontsize=10)
            page.insert_text((72, y), text, fontsize=10)
            if row % 2 == 0:
                page.draw_line((72, y + 1), (72 + width, y + 1), width=1.6)

    assert layer(tmp_path, paint) == "".join(lines * 5).replace(" ", "")


def test_one_changed_word_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"

    def paint(page: pymupdf.Page) -> None:
        page.insert_text((72, 100), SIXTY_WORDS)
        page.insert_text((72, 300), "Total due: 1234 crowns")
        hidden = page.search_for("1234")[0]
        page.draw_rect(hidden, color=None, fill=WHITE)
        with pymupdf.open() as document:
            source = document.new_page(width=hidden.width, height=hidden.height)
            source.insert_text((0, hidden.height * 0.8), "8967")
            page.insert_image(hidden, pixmap=source.get_pixmap(dpi=300))

    text = text_of(draw(pdf(path, paint), characters=True)) or ""
    assert "Totaldue:" in text
    assert "crowns" in text
    assert not set("1234") & set(text)


def test_a_stamp_on_a_scan_is_not_the_page(tmp_path: Path) -> None:
    assert layer(tmp_path, scan_of(write(SIXTY_WORDS)), write("Downloaded today", y=30)) is None


def test_half_a_clipped_line(tmp_path: Path) -> None:
    def paint(page: pymupdf.Page) -> None:
        page.insert_text((72, 100), "The visible half and the half that is clipped away from sight")
        (stream,) = page.get_contents()
        content = page.parent.xref_stream(stream)
        page.parent.update_stream(stream, b"q 72 700 160 100 re W n\n" + content + b"\nQ\n")

    text = layer(tmp_path, paint, write(SIXTY_WORDS, y=300)) or ""
    assert "Thevisible" in text
    assert "sight" not in text


def mapped(path: Path, change, text: str = SIXTY_WORDS) -> Path:
    """A PDF with an embedded subset font whose map to Unicode `change(code point)` has altered."""
    with pymupdf.open() as document:
        page = document.new_page(width=595, height=842)
        writer = pymupdf.TextWriter(page.rect)
        for number, line in enumerate(text.splitlines()):
            writer.append((72, 100 + 20 * number), line, font=pymupdf.Font("tiro"))
        writer.write_text(page)
        for xref in range(1, document.xref_length()):
            if (kind := document.xref_get_key(xref, "ToUnicode"))[0] == "xref":
                stream = int(kind[1].split()[0])
                document.update_stream(stream, _altered(document.xref_stream(stream).decode(), change).encode())
        document.save(path)
    return path


def _altered(cmap: str, change) -> str:
    import re

    pair = re.compile(r"(<[0-9a-fA-F]+>)\s*<([0-9a-fA-F]{4})>(?=\s*$)", re.MULTILINE)
    return pair.sub(lambda match: f"{match[1]}<{change(int(match[2], 16)):04x}>", cmap)


def test_a_true_map_is_believed(tmp_path: Path) -> None:
    assert text_of(draw(mapped(tmp_path / "a.pdf", lambda code: code), characters=True)) == TRUTH


@pytest.mark.parametrize(
    ("sign", "code"),
    [("-", 0x00AD), ("•", 0xF0B7), ("•", 0xF0A7)],
    ids=["soft hyphen", "bullet of Symbol", "bullet of Wingdings"],
)
def test_hyphens_and_bullets_are_known_by_all_their_names(tmp_path: Path, sign: str, code: int) -> None:
    """What most PDFs of word processors call them; who drops them writes 'drwxr xr x', and lists without points."""
    text = SIXTY_WORDS.replace(" ", f" {sign}", 9)
    path = mapped(tmp_path / "a.pdf", lambda own: code if own == ord(sign) else own, text)
    assert text_of(draw(path, characters=True)) == "".join(text.split())


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda code: 0xFFFD, id="unknown"),
        pytest.param(lambda code: 0xE000 + code, id="private use"),
        pytest.param(lambda code: 1 + code % 8, id="control characters"),
        pytest.param(lambda code: code + 1 if code != 32 else 32, id="shifted by one"),
        pytest.param(lambda code: code if code == 32 else 0x61 + (code * 7 + 3) % 26, id="shuffled"),
    ],
)
def test_a_font_without_a_true_map_has_no_text(tmp_path: Path, change) -> None:
    assert draw(mapped(tmp_path / "a.pdf", change), characters=True).characters is None


def test_what_a_glyph_stands_for_by_decree_is_not_its_ink(tmp_path: Path) -> None:
    def paint(page: pymupdf.Page) -> None:
        page.insert_text((72, 100), SIXTY_WORDS)
        (stream,) = page.get_contents()
        content = page.parent.xref_stream(stream)
        page.parent.update_stream(stream, b"/Span <</ActualText (a lie)>> BDC\n" + content + b"\nEMC\n")

    assert layer(tmp_path, paint) == TRUTH


def test_ligatures_come_as_letters(tmp_path: Path) -> None:
    """A narrow letter behind one stands near where MuPDF puts the ligature's last letter, and is not that letter."""

    def paint(page: pymupdf.Page) -> None:
        writer = pymupdf.TextWriter(page.rect)
        words = "of\ufb01ce \ufb02oor \ufb01le \ufb01rst di\ufb00er words"
        writer.append((72, 100), words, font=pymupdf.Font("tiro"))
        writer.write_text(page)

    page = draw(pdf(tmp_path / "a.pdf", paint), characters=True)
    assert text_of(page) == "officefloorfilefirstdifferwords"
    places = [character.x for character in page.characters or ()]
    assert all(right - left > 2 for left, right in pairwise(places))
