"""Rules that write Markdown from the characters of a real page."""

import numpy as np
import pymupdf
import pytest

pytest.importorskip("typst")

from training.page import Page
from training.realpages import Style, make_page, markdown
from training.realset import pack, unpack


def a_document() -> pymupdf.Document:
    """Two pages with a running head, a heading, a paragraph broken by a hyphen, a list and code."""
    document = pymupdf.open()
    for number in (1, 2):
        page = document.new_page(width=612, height=792)
        page.insert_text((72, 40), "The Running Head", fontsize=9)
        page.insert_text((72, 100), f"{number} A Heading", fontsize=16, fontname="hebo")
        lines = [
            "A paragraph of which the first line ends in a hy-",
            "phenated word, and that goes on for a while",
            "until",
        ]
        for row, line in enumerate(lines * 3):
            page.insert_text((72, 130 + 13 * row), line, fontsize=11)
        for row in range(2):
            page.insert_text((72, 280 + 13 * row), f"- item {row}", fontsize=11)
        for row, line in enumerate(["def f():", "    return 1"]):
            page.insert_text((72, 340 + 13 * row), line, fontsize=11, fontname="cour")
        page.insert_text((300, 770), str(number), fontsize=9)
    return document


def test_markdown_of_a_page() -> None:
    document = a_document()
    glyphs = markdown(document[0], Style.of(document))
    assert glyphs is not None
    text = "".join(glyph[0] for glyph in glyphs)
    assert text.startswith("## 1 A Heading\n\nA paragraph")
    assert "a hyphenated word" in text
    assert "- item 0\n- item 1" in text
    assert "```\ndef f():\n    return 1\n```" in text
    assert "Running" not in text


def test_two_columns_are_left_out() -> None:
    document = a_document()
    document[0].insert_text((400, 130), "a second column", fontsize=11)
    assert markdown(document[0], Style.of(document)) is None


def test_the_page_holds_every_printed_character() -> None:
    document = a_document()
    glyphs = markdown(document[0], Style.of(document))
    assert glyphs is not None
    page = make_page(document[0], glyphs)
    assert page.image.shape == (1328, 1032)
    assert "TheRunningHead" in page.glyphs
    assert len(page.centres) == len(page.target)


def test_a_blank_line_does_not_end_a_listing() -> None:
    document = a_document()
    for row, line in enumerate(["x = 1", "y = 2"]):
        document[0].insert_text((72, 379 + 13 * row), line, fontsize=11, fontname="cour")
    glyphs = markdown(document[0], Style.of(document))
    assert glyphs is not None
    text = "".join(glyph[0] for glyph in glyphs)
    assert "```\ndef f():\n    return 1\n\nx = 1\ny = 2\n```" in text


def test_a_packed_page_comes_back_in_whole_visual_tokens() -> None:
    centres = np.zeros((3, 2), np.float32)
    page = Page(np.full((20, 30), 255, np.uint8), "abc", centres, "abc", centres)
    read = unpack(pack(page))
    assert read.target == "abc"
    assert read.image.shape == (32, 48)
