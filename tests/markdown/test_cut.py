"""Replies that end before their page (cases FL-22, FL-24)."""

import pytest

from fastocr_cli.markdown import clean_page, cut_page

ROW = "<tr><td></td><td></td></tr>"


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ("Good text. " + "The same sentence. " * 200, "Good text. The same sentence."),
        ("Good. " + "ab" * 100, "Good. ab"),
        ("Good. " + "".join(chr(97 + n) * 2 + " " for n in range(13)) * 9 + "aa b", None),
        ("text\n\n```python\nx = 1", "text\n\n```python\nx = 1\n```"),
        ("text $$ \\frac{a}{", "text"),
        ("text\n\n\\[ x = \\sq", "text"),
        ("a <tag that broke", "a"),
        ("whole text", "whole text"),
    ],
)
def test_the_good_part_is_kept(raw: str, kept: str | None) -> None:
    cut = cut_page(raw)
    assert cut == kept if kept else len(cut) < 60
    assert cut_page(cut) == cut


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        (f"<table><tr><td>a</td><td>b</td></tr>{ROW * 400}", f"<table><tr><td>a</td><td>b</td></tr>{ROW}</table>"),
        ("<table><tr><td>a</td><td colsp", "<table><tr><td>a</td></tr></table>"),
    ],
)
def test_tables_are_closed(raw: str, clean: str) -> None:
    cut = cut_page(raw)
    assert cut.endswith("</table>")
    assert clean_page(cut) == clean


def test_numbered_lines_are_no_repetition() -> None:
    lines = "\n".join(f"line {n:02d}" for n in range(1, 96))
    assert cut_page(lines) == lines


def test_a_cut_table_is_whole_after_cleaning() -> None:
    cleaned = clean_page(cut_page("<table><tr><td>a</td></tr><tr><td>b</td><td><b>c"))
    assert cleaned == "<table><tr><td>a</td></tr><tr><td>b</td><td>&lt;b&gt;c</td></tr></table>"
