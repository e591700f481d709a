"""Canned replies of each family's own format, broken ones included, and what becomes of them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.markdown import clean_page, link_figures
from fastocr_cli.markdown.replies import deepseek_ocr, dots_ocr, olmocr, plain, qwen3_vl, qwen_html
from fastocr_cli.markdown.reply import CATEGORIES, Reply

PARSERS = [
    deepseek_ocr.parse, dots_ocr.parse, olmocr.parse, plain.parse, qwen3_vl.parse, qwen_html.parse,
]  # fmt: skip


def item(category: str, text: str | None, box: list[int] | None = None) -> dict[str, object]:
    found: dict[str, object] = {"bbox": box or [100, 200, 500, 400], "category": category}
    return found if text is None else {**found, "text": text}


PAGE = [
    item("Page-header", "Part 7C-9914 | Draft"),
    item("Title", "# The title"),
    item("Section-header", "1 Scope"),
    item("Text", 'He said "hi" to the **Part**.'),
    item("List-item", "• one"),
    item("List-item", "2. two"),
    item("Formula", "\\frac{a}{b}"),
    item("Table", "<table><tr><td>1</td></tr></table>"),
    item("Picture", None, [0, 0, 500, 500]),
    item("Caption", "Figure 1"),
    item("Page-footer", "Page 1 of 4"),
]
MARKDOWN = (
    '# The title\n\n## 1 Scope\n\nHe said "hi" to the **Part**.\n\n- one\n2. two\n\n$$\n\\frac{a}{b}\n$$\n\n'
    "<table><tr><td>1</td></tr></table>\n\n![](figure:1)\n\nFigure 1"
)


class TestDots:
    def test_a_page(self) -> None:
        reply = dots_ocr.parse(json.dumps(PAGE), 1000, 2000)
        assert reply.markdown == MARKDOWN
        assert (reply.headers, reply.footers) == (("Part 7C-9914 | Draft",), ("Page 1 of 4",))
        assert len(reply.blocks) == len(PAGE)
        assert reply.blocks[0].box == (0.1, 0.1, 0.5, 0.2)
        assert {block.category for block in reply.blocks} <= CATEGORIES
        assert clean_page(reply.markdown).replace("- one\n2. two", "") == MARKDOWN.replace("- one\n2. two", "")

    @pytest.mark.parametrize(
        "broken",
        [
            json.dumps(PAGE).replace("}, {", "} {"),
            json.dumps(PAGE).replace("}, {", "},\n\n{"),
            json.dumps(PAGE).replace('\\"hi\\"', '"hi"'),
            "```json\n" + json.dumps(PAGE, indent=1) + "\n```",
            json.dumps(PAGE)[:-1],
            json.dumps(PAGE)[:-1] + "," + json.dumps(PAGE)[1:],
            json.dumps(PAGE)[:-1] + ', {"bbox": [1, 2',
            json.dumps(PAGE)[:-1] + ', {"bbox": [1, 2, 3, 4], "category": "Te',
            json.dumps(PAGE).replace("\\\\frac", "\\frac"),
            json.dumps([{**entry, "text": entry.get("text", "")} for entry in PAGE]),
            json.dumps(PAGE, ensure_ascii=False, separators=(",", ":")),
        ],
    )
    def test_broken_arrays(self, broken: str) -> None:
        assert dots_ocr.parse(broken, 1000, 2000).markdown == MARKDOWN

    def test_a_box_of_three_numbers_costs_the_place_only(self) -> None:
        text = '[{"bbox": [1, 2, 3], "category": "Text", "text": "kept"}, {"bbox": [1, 2], "category": "Picture"}]'
        assert dots_ocr.parse(text, 10, 10) == Reply("kept")

    def test_a_cut_text_is_kept_and_told(self) -> None:
        text = json.dumps([item("Text", "whole"), item("Table", "<table><tr><td>a</td></tr><tr><td>b</td></tr>")])
        reply = dots_ocr.parse(text[: text.index("b</td>") + 1], 1000, 2000)
        assert clean_page(reply.markdown) == "whole\n\n<table><tr><td>a</td></tr><tr><td>b</td></tr></table>"
        assert reply.warnings == ("The reply ends inside a block.",)

    def test_body_text_like_a_running_head_stays(self) -> None:
        page = [item("Page-header", "Part 7C"), item("Text", "Part 7C"), item("Text", "Part 7C is new.")]
        assert dots_ocr.parse(json.dumps(page), 1000, 2000).markdown == "Part 7C\n\nPart 7C is new."

    def test_other_replies(self) -> None:
        assert dots_ocr.parse("Just text.", 10, 10).markdown == "Just text."
        assert dots_ocr.parse("lower case only", 10, 10).markdown == "lower case only"
        assert dots_ocr.parse("[]", 10, 10).markdown == ""


DEEPSEEK = """\
<|ref|>title<|/ref|><|det|>[[100, 50, 900, 80]]<|/det|>
# The title

<|ref|>header<|/ref|><|det|>[[0, 0, 999, 20]]<|/det|>
Part 7C

<|ref|>image<|/ref|><|det|>[[0, 0, 999, 333]]<|/det|>

<|ref|>image_caption<|/ref|><|det|>[[0, 333, 999, 360]]<|/det|>
<center>Figure 1</center>

<|ref|>table<|/ref|><|det|>[[__import__('os').abort(), 2]]<|/det|>
<table><tr><td>a</td></tr></table>

<|ref|>text<|/ref|><|det|>[[10, 400, 300, 450], [10, 500, 400, 600]]<|/det|>
Let \\(x \\coloneqq y\\).



\\[ E = mc^2 \\]

<|ref|>text<|/ref|><|det|>[[10, 20"""


class TestDeepSeek:
    def test_a_page(self) -> None:
        reply = deepseek_ocr.parse(DEEPSEEK, 640, 640)
        assert clean_page(reply.markdown) == (
            "# The title\n\n![](figure:1)\n\nFigure 1\n\n<table><tr><td>a</td></tr></table>\n\n"
            "Let $x := y$.\n\n$$ E = mc^2 $$"
        )
        assert reply.headers == ("Part 7C",)
        assert [block.category for block in reply.blocks] == ["title", "page-header", "picture", "caption", "text"]
        assert reply.blocks[2].box == (0, 0, 1, pytest.approx(1 / 3))
        assert reply.blocks[4].box == pytest.approx((10 / 999, 400 / 999, 400 / 999, 600 / 999))

    def test_without_grounding_and_after_the_end(self) -> None:
        assert deepseek_ocr.parse(f"# T\n\ntext{deepseek_ocr.END}rest", 1, 1) == Reply("# T\n\ntext")


FRONT = "---\nprimary_language: {}\nis_rotation_valid: {}\nrotation_correction: {}\nis_table: False\nis_diagram: False\n---\n"


class TestOlmOCR:
    def test_a_page(self) -> None:
        body = "Hei. ![A [red] cat](page_100_200_400_300.png)\n\n---\n\nis_table: text"
        reply = olmocr.parse(FRONT.format("no", "True", 0) + body, 1000, 1000)
        assert reply.language == "no"
        assert reply.rotation == 0
        assert reply.markdown.startswith("Hei. ")
        assert reply.markdown.endswith("---\n\nis_table: text")

    def test_figures(self) -> None:
        reply = olmocr.parse("![A cat](page_100_200_400_300.png) ![b](page_9999_0_1_1.png)", 1000, 1000)
        assert reply.markdown == "![A cat](figure:1) b"
        assert reply.blocks[0].box == (0.1, 0.2, 0.5, 0.5)

    @pytest.mark.parametrize(
        ("valid", "correction", "rotation"),
        [("False", 90, 90), ("false", 270, 270), ("no", 180, 180), ("True", 90, 0), ("False", 45, 0), ("False", "", 0)],
    )
    def test_rotation(self, valid: str, correction: object, rotation: int) -> None:
        assert olmocr.parse(FRONT.format("en", valid, correction), 1, 1).rotation == rotation

    def test_blank_page_and_half_a_front(self) -> None:
        assert olmocr.parse(FRONT.format("null", "True", 0).rstrip(), 1, 1) == Reply("")
        assert olmocr.parse("---\nprimary_language: en\n\nText", 1, 1) == Reply("Text", language="en")
        assert olmocr.parse("---\n\nText", 1, 1) == Reply("---\n\nText")


QWEN_HTML = """\
```html
<html><body>
<div class="header" data-bbox="0 0 500 20">Part 7C-9914 | Draft</div>
<h1 data-bbox="100 50 800 90">A title of<br>two lines</h1>
<p data-bbox="100,140,800,165">R&amp;D, x &lt; 5, <snip>, &lt;b&gt;, $a<b$ and H<sub>2</sub>O cost $5 to $7.</p>
<ul><li>one</li><li>two</li></ul><ol><li>first</li></ol>
<style>table1 {x}</style><table data-bbox="1 2 300 400" class="table1"><tr><td colspan=2>x</td></tr><tr><td>y<td>z</table>
<div class="formula" data-bbox="10 20 30 40"><img data-bbox="10 20 30 40"/><div>E = mc^2</div></div>
<div class="image caption" data-bbox="1 2 3 4"><img data-bbox="1 2 3 4"/><p>Figure 1</p></div>
<div class="image" data-bbox="100 100 200 200"><img data-bbox="100 100 200 200"/></div>
<div class="chart" data-bbox="5 5 100 100"><img data-bbox="5 5 100 100"/><table><tr><td>1</td></tr></table></div>
<div class="music sheet" format="abc notation" data-bbox="5 5 9 9"><img/><div>X:1</div></div>
<div class="footer" data-bbox="0 980 500 1000">Page 1 of 4</div>
</body></html>
```"""


class TestQwenHTML:
    def test_a_page(self) -> None:
        reply = qwen_html.parse(QWEN_HTML, 1000, 2000)
        assert clean_page(reply.markdown) == (
            "# A title of two lines\n\nR&D, x < 5, &lt;snip>, &lt;b>, $a< b$ and H<sub>2</sub>O cost \\$5 to \\$7.\n\n"
            "- one\n- two\n\n1. first\n\n"
            '<table><tr><td colspan="2">x</td></tr><tr><td>y</td><td>z</td></tr></table>\n\n'
            "$$\nE = mc^2\n$$\n\nFigure 1\n\n![](figure:1)\n\n![](figure:2)\n\n<table><tr><td>1</td></tr></table>\n\n"
            "```abc\nX:1\n```"
        )
        assert (reply.headers, reply.footers) == (("Part 7C-9914 | Draft",), ("Page 1 of 4",))
        assert reply.blocks[1].category == "title"
        assert reply.blocks[1].box == (0.1, 0.025, 0.8, 0.045)

    def test_cut_and_other_replies(self) -> None:
        assert qwen_html.parse('<p data-bbox="1 2 3 4">a</p><p data-bbox="1 2', 10, 10).markdown == "a"
        assert qwen_html.parse("# Just *Markdown* <b>", 10, 10).markdown == "# Just *Markdown* <b>"
        assert qwen_html.parse("<p>a" + "<div>" * 200 + "deep", 10, 10).markdown == "a\n\ndeep"
        assert "deep" in qwen_html.parse("<p>a" + "<div>" * 3000 + "deep", 10, 10).markdown


QWEN3 = """\
```markdown
# T

<!-- Image (115, 270, 475, 495) -->

<!-- Table (100, 500, 300, 700) -->
\\begin{tabular}{|c|c|}
\\hline
a & b \\\\
\\hline
\\end{tabular}

<!-- printed comment -->
```"""


def test_qwen3_vl() -> None:
    reply = qwen3_vl.parse(QWEN3, 10, 10)
    assert clean_page(reply.markdown) == (
        "# T\n\n![](figure:1)\n\n<table><tr><td>a</td><td>b</td></tr></table>\n\n&lt;!-- printed comment -->"
    )
    assert [(block.category, block.box) for block in reply.blocks] == [
        ("picture", (0.115, 0.27, 0.475, 0.495)),
        ("table", (0.1, 0.5, 0.3, 0.7)),
    ]
    assert qwen3_vl.parse("text\n\n<!-- Image (1, 2", 1, 1).markdown == "text"


def test_plain() -> None:
    assert plain.parse("# T", 1, 1) == Reply("# T")


def test_figures_are_linked_or_leave_their_caption() -> None:
    text = "a\n\n![A cat](figure:1)\n\n![](figure:2)\n\nb"
    assert link_figures(text, {1: "figures/1 a.png"}) == "a\n\n![A cat](figures/1%20a.png)\n\nb"
    assert link_figures(text, {}) == "a\n\nA cat\n\nb"
    assert clean_page(text) == text


CHUNKS = [
    *DEEPSEEK.split(),
    *QWEN_HTML.split("\n"),
    *QWEN3.split("\n"),
    *json.dumps(PAGE).split(","),
    *FRONT.split("\n"),
]
CHUNKS += ["\n", "{", "}", "[", "]", '"', "\\", "1e999", "NaN", "<p", "<", ">", "---", "\x00", "\ud800", "9" * 30]


@pytest.mark.parametrize("parse", PARSERS)
@given(text=st.lists(st.sampled_from(CHUNKS), max_size=30).map(" ".join) | st.text())
@settings(max_examples=80, deadline=None)
def test_no_reply_raises(parse: object, text: str) -> None:
    assert callable(parse)
    reply = parse(text, 1000, 1400)
    assert isinstance(reply, Reply)
    for block in reply.blocks:
        assert block.category in CATEGORIES
        assert 0 <= block.box[0] < block.box[2] <= 1
        assert 0 <= block.box[1] < block.box[3] <= 1
    once = clean_page(reply.markdown)
    assert clean_page(once) == once
