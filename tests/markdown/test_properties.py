"""What holds for any string: no error, clean text stays, no letter is lost, nothing active gets out."""

import re

import lxml.html
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from fastocr_cli.markdown import clean_page, cut_page

NOISE = [
    *("$", "$$", "\\(", "\\)", "\\[", "\\]", "`", "```", "```python", "~~~", "```markdown", "\\", "|", "*", "_"),
    *("<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", '<td colspan="2">', "<th rowspan=3>", "<td", "<br>"),
    *("<b>", "</b>", "<i>", "</i>", "<sub>", "</sub>", "<div>", "</div>", '<div class="a">', "<p>", "</p>", "<html>"),
    *("<body>", "</body>", "<!-- ", " -->", "<style>", "</style>", "<script>", "</script>", "<snip>", "<s>", "<h2>"),
    *("</h2>", "<|im_end|>", "&lt;", "&amp;", "&", "<", ">", "< ", "x^2", "\\alpha", "5", "=", "\n| --- | --- |\n"),
    *("\\begin{tabular}{cc}", "\\end{tabular}", "\\\\", "\\begin{align}", "\\end{align}", "\\hline", "\\end{table}"),
    *("\\begin{table}", " ", "\n", "\n\n", "    ", "\t", "\n- ", "\n1986. ", "\n# ", "\n> ", "![a](http://x)"),
    "[1]: http://x",
]
FEW = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@st.composite
def pages(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A page of noise, and the words printed on it, each of them once."""
    pieces = draw(st.lists(st.sampled_from([*NOISE, "WORD", "WORD", "WORD"]) | st.just("WORD"), max_size=25))
    words = []
    for index, piece in enumerate(pieces):
        if piece == "WORD":
            words.append(f"Qz{index:02d}k")
            pieces[index] = " " + words[-1] + " "
    return "".join(pieces), words


def visible(markdown: str) -> str:
    """What a reader sees: the text of the rendered page, scripts, styles and comments left out."""
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(markdown)
    tree = lxml.html.document_fromstring(f"<html><body>{rendered}</body></html>")
    lxml.etree.strip_elements(tree, "script", "style", lxml.etree.Comment, with_tail=False)
    languages = " ".join(tree.xpath("//@class"))  # a fence's first line shows as its language, if at all
    return f"{tree.text_content()} {languages}"


@given(pages(), st.sampled_from(["html", "markdown"]))
@FEW
def test_clean_text_stays(page: tuple[str, list[str]], tables: str) -> None:
    once = clean_page(page[0], tables)
    assert clean_page(once, tables) == once


@given(pages(), st.sampled_from(["html", "markdown"]))
@FEW
def test_no_printed_word_is_lost_or_doubled(page: tuple[str, list[str]], tables: str) -> None:
    cleaned = clean_page(page[0], tables)
    assert sorted(re.findall(r"Qz\d\dk", cleaned)) == sorted(page[1])
    shown = visible(cleaned)
    assert [word for word in page[1] if word not in shown] == []


@given(pages())
@FEW
def test_a_page_takes_nothing_from_the_next(page: tuple[str, list[str]]) -> None:
    joined = clean_page(page[0]) + "\n\n<!-- page 2 -->\n\n# Next heading\n\nnext words"
    rendered = MarkdownIt("commonmark", {"html": True}).enable("table").render(joined)
    assert rendered.rstrip().endswith("<h1>Next heading</h1>\n<p>next words</p>")


@given(st.text() | st.text(alphabet="$`<>|\\[]()~{}&;-# \nab1", max_size=60), st.sampled_from(["html", "markdown"]))
@FEW
def test_any_string_at_all(text: str, tables: str) -> None:
    once = clean_page(text, tables)
    once.encode("utf-8")
    assert clean_page(once, tables) == once
    cut_page(text)


def _without_code(found: re.Match[str]) -> str:
    """A fenced block goes, a line loses its escaped characters and code spans; in an HTML table a backtick is a backtick."""
    return "" if found[1] else re.sub(r"\\.|(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", "", found[0])


@given(pages())
@example(("```python`<div>`", []))  # no fence: three escaped backticks, and a span of code
@example(("```python`<table>```", []))  # one span of code
@FEW
def test_tags_that_remain_are_harmless_and_closed(page: tuple[str, list[str]]) -> None:
    cleaned = clean_page(page[0])
    outside = re.sub(r"(?ms)^(`{3,}|~{3,}).*?^\1`*$|^(?!<table>)[^\n]*", _without_code, cleaned)
    names = re.findall(r"</?([A-Za-z][\w-]*)[^<>]*>", outside)
    assert set(names) <= {"table", "tr", "td", "th", "b", "i", "sub", "br"}
    for name in ("table", "tr", "td", "th", "b", "i", "sub"):
        assert len(re.findall(rf"<{name}[ >]", outside)) == len(re.findall(rf"</{name}>", outside))
