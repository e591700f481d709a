"""Formats: what a document looks like as one file, whatever its pages hold."""

import json
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.output.formats import FORMATS, comment, open_format, render
from fastocr_cli.output.html import Html, formula
from fastocr_cli.output.records import PageRecord
from fastocr_cli.pages.refs import Block, PageRef, PageResult
from stubs import make_document, read_well

Text = Callable[..., str]


@pytest.fixture
def text_of(tmp_path: Path) -> Text:
    """`text_of("md", "page one", None, ...)`: a document of these pages; a result stands for itself, None is unread."""
    document = make_document(tmp_path / "paper.pdf", 9)

    def make(name: str, *pages: str | PageResult | None, page_marks: bool = True) -> str:
        records: list[tuple[int, PageRecord | None]] = []
        for number, page in enumerate(pages, 1):
            result = PageResult(PageRef(document, number), markdown=page) if isinstance(page, str) else page
            records.append((number, None if result is None else PageRecord.from_result(result)))
        return "".join(render(open_format(name, document, page_marks=page_marks), records))

    return make


def result(tmp_path: Path, number: int, **facts: object) -> PageResult:
    return PageResult(PageRef(make_document(tmp_path / "paper.pdf", 9), number), **facts)  # type: ignore[arg-type]


def test_markdown_with_marks(text_of: Text) -> None:
    text = text_of("md", "# One\r\nline", "", "Three\n\n")
    assert text == "<!-- page 1 -->\n\n# One\nline\n\n<!-- page 2 -->\n\n<!-- page 3 -->\n\nThree\n"


def test_markdown_without_marks(text_of: Text) -> None:
    assert text_of("md", "One", "", "Three", page_marks=False) == "One\n\nThree\n"


def test_trouble_is_told_even_without_marks(text_of: Text, tmp_path: Path) -> None:
    failed = result(tmp_path, 1, error="out of --> memory\n--", finish_reason="error")
    cut = result(tmp_path, 2, markdown="half", finish_reason="loop")
    text = text_of("md", failed, cut, None, page_marks=False)
    assert text == (
        "<!-- page 1 failed: out of - -> memory -->\n\n"
        "half\n\n<!-- page 2 cut: the reply began to repeat itself -->\n\n"
        "<!-- page 3 not read yet -->\n"
    )


@given(st.text())
def test_a_comment_ends_where_it_should(text: str) -> None:
    made = comment(text)
    assert made.startswith("<!-- ")
    assert made.endswith(" -->")
    assert "--" not in made[4:-3]
    assert "\n" not in made


def test_json_is_one_object_with_every_fact(text_of: Text, tmp_path: Path) -> None:
    full = result(
        tmp_path, 1, markdown="x", raw="<x>", coverage=float("nan"), num_new_tokens=3, warnings=("odd",),
        blocks=(Block("Text", (0.1, 0.2, 0.3, 0.4), "x"),), extra={"path": tmp_path},
    )  # fmt: skip
    value = json.loads(text_of("json", full, result(tmp_path, 2, error="no"), None))
    assert value["document"]["name"] == "paper"
    assert value["document"]["selected"] == "1-9"
    first, second, third = value["pages"]
    assert first["blocks"] == [{"category": "Text", "box": [0.1, 0.2, 0.3, 0.4], "text": "x"}]
    assert (first["raw"], first["coverage"], first["warnings"]) == ("<x>", None, ["odd"])
    assert "settings" not in first
    assert (second["error"], third["error"], value["num_failed"]) == ("no", "not read yet", 2)


def test_json_of_no_pages(text_of: Text) -> None:
    assert json.loads(text_of("json"))["pages"] == []


class Tags(HTMLParser):
    """Names and attributes of all tags, and the text between them."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes.extend(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


BROKEN = [
    "<table><tr><td>1",
    '<img alt="x',
    "<!-- note",
    "<style>",
    "</table></table>",
    "<html><body><table><tr><td>1</td></tr></table></body></html>",
    "```\nnever closed",
    "</section></body></html>",
    "<script>alert(1)",
    "<plaintext>",
    "<svg><math><mtext><style>",
    "$$\nx",
]


@pytest.mark.parametrize("broken", BROKEN)
def test_a_broken_page_leaves_the_next_ones_whole_in_html(text_of: Text, broken: str) -> None:
    source = text_of("html", "first words", broken, "third words", "**fourth** words")
    page = Tags(source)
    assert page.names.count("section") == 4
    assert "<p>third words</p>" in source
    assert "<p><strong>fourth</strong> words</p>" in source
    assert source.endswith("</section>\n</body>\n</html>\n")


@pytest.mark.parametrize(
    "attack",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "![a](http://example.org/x.png)",
        "[a](javascript:alert(1))",
        '<a href="javascript:alert(1)">a</a>',
        "<iframe src=//example.org></iframe><object data=x></object><embed src=x>",
        "<p style='background:url(//example.org)' onclick=x>a</p>",
        "<base href=//example.org><link rel=stylesheet href=//example.org><meta http-equiv=refresh content=0>",
        r"$\text{<script>alert(1)</script>}$ $\href{javascript:alert(1)}{x}$ $\style{x}{y}$",
        "<form action=//example.org><input><button>",
        "<svg onload=alert(1)><use href=//example.org></svg>",
    ],
)
def test_nothing_active_and_nothing_fetched(text_of: Text, attack: str) -> None:
    source = text_of("html", attack)
    page = Tags(source)
    body = page.names[page.names.index("body") :]
    assert not {"script", "img", "iframe", "object", "embed", "base", "link", "meta", "form", "svg"} & set(body)
    names = {name for name, _ in page.attributes}
    assert not {name for name in names if name.startswith("on")} | names & {"style", "src"}
    assert not [value for name, value in page.attributes if name == "href" and not str(value).startswith("http")]
    assert "default-src 'none'" in source


def test_html_shows_tables_formulas_and_trouble(text_of: Text, tmp_path: Path) -> None:
    rows = "| a | b |\n|--|--|\n| $x_i$ | 2 |\n\n<table><tr><td colspan='2'>m</td></tr></table>\n\nIt costs $5 to $7."
    failed = result(tmp_path, 2, error="<b>broken</b>", finish_reason="error")
    source = text_of("html", rows, failed)
    assert "<msub><mi>x</mi><mi>i</mi></msub>" in source
    assert '<td colspan="2">m</td>' in source
    assert "$5 to $7" in source
    assert "page 2 failed: &lt;b&gt;broken&lt;/b&gt;" in source


@pytest.mark.parametrize("latex", [r"\left( x \right", "}{", r"\begin{matrix}", "x" * 5000, r"\text{a<b}", "{" * 3000])
def test_a_formula_beyond_the_converter_stays_latex(latex: str) -> None:
    made = formula(latex, "$")
    assert made.startswith(("<code", "<math"))
    assert "<b" not in made


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="ab$\\{}^_&<>|`*#[]()!-\n ", max_size=60))
def test_any_text_becomes_html(text: str) -> None:
    Html(make_document(Path(__file__), 1), page_marks=True).render(text)


def test_surrogates_spoil_no_format(text_of: Text) -> None:
    for name in FORMATS:
        assert text_of(name, "odd \udc80 text").encode("utf-8", "backslashreplace")


def test_a_record_survives_its_json(tmp_path: Path) -> None:
    record = PageRecord.from_result(read_well(PageRef(make_document(tmp_path / "a.pdf", 1), 1)))
    again = PageRecord.from_json(json.loads(record.to_json()))
    assert again is not None
    assert (again.markdown, again.error, again.finish_reason) == ("Text of a, page 1.", None, "stop")
    assert [PageRecord.from_json(value) for value in (None, [], {"markdown": 3, "error": None}, {})] == [None] * 4
