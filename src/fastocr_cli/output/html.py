"""Html: a document as one file that a browser shows without a network. Model output is untrusted.

Each page is rendered and sanitised on its own, so that what is broken on one page cannot swallow the next.
Knows Markdown, formulas and what HTML is harmless; knows nothing of files.
"""

import html
import re
from typing import Any

import nh3
from latex2mathml.converter import convert as to_mathml
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from mdit_py_plugins.dollarmath import dollarmath_plugin

from fastocr_cli.output.formats import describe_trouble
from fastocr_cli.output.records import PageRecord
from fastocr_cli.pages.refs import Document

MAX_FORMULA_CHARS = 4000
MATHML_TAGS = {
    "math", "menclose", "merror", "mfenced", "mfrac", "mi", "mmultiscripts", "mn", "mo", "mover", "mpadded",
    "mphantom", "mprescripts", "mroot", "mrow", "ms", "mspace", "msqrt", "mstyle", "msub", "msubsup", "msup",
    "mtable", "mtd", "mtext", "mtr", "munder", "munderover",
}  # fmt: skip
TAGS = (set(nh3.ALLOWED_TAGS) - {"area", "img", "map"}) | {"tfoot"} | MATHML_TAGS  # a picture would ask the network
ATTRIBUTES = {tag: set(names) for tag, names in nh3.ALLOWED_ATTRIBUTES.items() if tag in TAGS} | {
    "math": {"display"},
    "mo": {"fence", "form", "maxsize", "minsize", "movablelimits", "separator", "stretchy", "symmetric"},
    "mfrac": {"linethickness"},
    "mi": {"mathvariant"},
    "mspace": {"width"},
    "mtable": {"columnalign", "rowspacing"},
    "mover": {"accent"},
    "munder": {"accentunder"},
}
ANGLE_IN_TEXT = re.compile(r"\\(?:text\w*|mbox|hbox|operatorname)\s*\{[^}]*[<>&]")
"""latex2mathml leaves these characters bare inside \\text, where a browser takes them for tags."""
STYLE = """
body { max-width: 50rem; margin: 2rem auto; padding: 0 1rem; font: 1rem/1.5 Georgia, serif; color: #222 }
section { border-top: 1px solid #bbb; padding: .5rem 0 1.5rem }
.page { font: .8rem sans-serif; color: #777; text-align: right }
.trouble { font-family: sans-serif; background: #fff3d6; border-left: 4px solid #d99a00; padding: .5rem 1rem }
table { border-collapse: collapse; margin: 1rem 0 }
th, td { border: 1px solid #bbb; padding: .2rem .5rem; vertical-align: top }
pre { overflow-x: auto; background: #f5f5f5; padding: .5rem }
.math { color: #555 }
"""


class Html:
    """One section for each page."""

    def __init__(self, document: Document, *, page_marks: bool) -> None:
        self.document = document
        self.page_marks = page_marks
        self.markdown = make_markdown()

    def head(self) -> str:
        title = html.escape(printable(self.document.name))
        return (
            '<!DOCTYPE html>\n<html>\n<head>\n<meta charset="utf-8">\n'
            # nothing runs and nothing is fetched, whatever slips through
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        )

    def page(self, number: int, record: PageRecord | None) -> str:
        parts = [f'<section id="page-{number}">']
        if self.page_marks:
            parts.append(f'<div class="page">page {number}</div>')
        if record is not None and record.error is None:
            parts.append(self.render(record.markdown).strip())
        if trouble := describe_trouble(record):
            parts.append(f'<p class="trouble">page {number} {html.escape(printable(trouble))}</p>')
        return "\n".join([*parts, "</section>\n"])

    def tail(self) -> str:
        return "</body>\n</html>\n"

    def render(self, markdown: str) -> str:
        """Harmless HTML of one page's Markdown."""
        return nh3.clean(
            self.markdown.render(printable(markdown)),
            tags=TAGS,
            attributes=ATTRIBUTES,
            allowed_classes={"code": {"math"}},
            url_schemes={"http", "https", "mailto"},
        )


def make_markdown() -> MarkdownIt:
    """CommonMark with tables, raw HTML (sanitised afterwards) and formulas between dollars."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, allow_labels=False, allow_space=False, allow_digits=False, double_inline=True)
    parser.add_render_rule("image", _alternative_text)
    for rule, delimiter in (("math_inline", "$"), ("math_inline_double", "$$"), ("math_block", "$$")):
        parser.add_render_rule(rule, _formula_rule(delimiter))
    return parser


def formula(latex: str, delimiter: str) -> str:
    """MathML; the LaTeX itself where it is too long, unbalanced or beyond the converter."""
    if len(latex) <= MAX_FORMULA_CHARS and not ANGLE_IN_TEXT.search(latex):
        try:
            return str(to_mathml(latex, display="block" if delimiter == "$$" else "inline"))
        except Exception:  # its errors have no common class: IndexError, StopIteration, its own
            pass
    return f'<code class="math">{html.escape(f"{delimiter}{latex}{delimiter}")}</code>'


def printable(text: str) -> str:
    """Without lone surrogates, which neither UTF-8 nor the sanitiser takes."""
    return text.encode("utf-8", "backslashreplace").decode()


def _formula_rule(delimiter: str) -> Any:
    def rule(self: RendererHTML, tokens: Any, index: int, options: Any, env: Any) -> str:
        shown = formula(tokens[index].content.strip(), delimiter)
        return f"<p>{shown}</p>\n" if tokens[index].block else shown

    return rule


def _alternative_text(self: RendererHTML, tokens: Any, index: int, options: Any, env: Any) -> str:
    """What a picture shows, in words: the file is to need nothing from outside."""
    text = self.renderInlineAsText(tokens[index].children, options, env)
    return f"<em>[{html.escape(text or 'image')}]</em>"
