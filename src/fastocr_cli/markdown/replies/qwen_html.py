"""Qwen2.5-VL and Logics-Parsing in their HTML mode: elements with `data-bbox="x1 y1 x2 y2"`, classes that name regions.

Qwen2.5-VL gives pixels of the picture it saw; Logics 0 to 1000 of the page, which is a picture of 1000 by 1000.
"""

import html
import re
from collections.abc import Iterator

import lxml.etree
import lxml.html

from fastocr_cli.markdown import tags
from fastocr_cli.markdown.figures import placeholder
from fastocr_cli.markdown.formulas import as_display
from fastocr_cli.markdown.reply import Box, Reply, four_numbers, share_box
from fastocr_cli.markdown.spans import scan
from fastocr_cli.pages import Block

MAX_DEPTH = 100
"""Elements inside elements; deeper down only the text is taken."""
_FENCED = {"code": "", "pseudocode": "", "mermaid": "mermaid", "music": "abc", "chemical": "smiles"}
_PICTURES = frozenset({"image", "figure", "chart", "picture", "photo", "seal", "logo"})
_DROPPED = frozenset({"style", "head", "meta", "link"})
_OPEN_TAG = re.compile(r"</?[A-Za-z]\w*(?:\s+[\w-]*(?:=(?:\"[^\"<>]*\"?)?)?)*\s*\Z")
_HEADING = re.compile(r"h([1-6])")


def parse(text: str, width: int, height: int) -> Reply:
    """Text and regions; a reply without a tag is plain text."""
    page = _Page(width, height)
    root = _tree(text)
    if root is None:
        return Reply(text)
    page.walk(root, 0)
    blocks = "\n\n".join(part for part in page.parts if part.strip())
    return Reply(
        blocks.replace("\n\n\0", "\n").replace("\0", ""), tuple(page.blocks), tuple(page.headers), tuple(page.footers)
    )


def _tree(text: str) -> lxml.html.HtmlElement | None:
    """The reply as a tree; None where it isn't HTML at all. Printed tags are made text before the parser sees them."""
    text = re.sub(r"\A\s*`{3,}\w*\s*\n|\n?\s*`{3,}\s*\Z", "", re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "", text))
    if not re.search(r"data-bbox|<(?:html|body|p|div|table|h[1-6])[\s>]", text, re.IGNORECASE):
        return None
    text = re.sub(r"<!doctype[^<>]*>", "", text, flags=re.IGNORECASE)
    text = _OPEN_TAG.sub("", tags.COMMENT.sub("", text))
    text = re.sub(
        rf"{tags.TAG.pattern}|<", lambda found: found[0] if _known(found["name"]) else "&lt;" + found[0][1:], text
    )
    parser = lxml.html.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=False)
    try:
        root = lxml.html.document_fromstring(text.encode("utf-8", "replace"), parser=parser)
    except (lxml.etree.LxmlError, ValueError):
        return None
    # the parser gives up on absurd nesting without a word
    return root if _num_letters(root.text_content()) >= _num_letters(html.unescape(tags.TAG.sub("", text))) else None


def _num_letters(text: str) -> int:
    return sum(map(str.isalnum, text))


def _known(name: str | None) -> bool:
    return name is not None and name.lower() in tags.KNOWN | {"style", "pre"}


class _Page:
    """What has been read so far. A part that begins with NUL follows the one before it without a blank line."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []
        self.blocks: list[Block] = []
        self.headers: list[str] = []
        self.footers: list[str] = []

    def walk(self, element: lxml.html.HtmlElement, depth: int) -> None:
        """Read a container: loose text, then child by child."""
        loose = [_escaped(element.text)]
        for child in element:
            if _is_inline(child) and depth < MAX_DEPTH:
                loose.append(_inline(child, depth) + _escaped(child.tail))
                continue
            self._paragraph("".join(loose))
            self._element(child, depth + 1)
            loose = [_escaped(child.tail)]
        self._paragraph("".join(loose))

    def _paragraph(self, text: str) -> None:
        if text.strip():
            self.parts.append(text.strip())

    def _element(self, element: lxml.html.HtmlElement, depth: int) -> None:
        """One block-level element."""
        if not isinstance(element.tag, str) or element.tag in _DROPPED:
            return
        names = set(re.split(r"[\s._-]+", element.get("class", "").lower()))
        if depth >= MAX_DEPTH:
            self._paragraph(_escaped(element.text_content()))
        elif element.tag == "table":
            self._add(
                element, "table", lxml.etree.tostring(element, encoding="unicode", method="html", with_tail=False)
            )
        elif "formula" in names and "chemical" not in names:
            self._add(element, "formula", as_display(element.text_content()))
        elif "caption" in names:
            self._add(element, "caption", _children(element, depth))
        elif names & set(_FENCED) or element.tag == "pre":
            self._fenced(element, names)
        elif names & _PICTURES or element.tag in ("img", "figure"):
            self._picture(element, depth)
        else:
            self._text(element, names, depth)

    def _text(self, element: lxml.html.HtmlElement, names: set[str], depth: int) -> None:
        """Headings, paragraphs, list items, running heads and feet, and containers of others."""
        if heading := _HEADING.fullmatch(element.tag):
            line = " ".join(_children(element, depth).split())
            category = "title" if heading[1] == "1" else "section-header"
            self._add(element, category, f"{'#' * int(heading[1])} {line}" if line else "")
        elif element.tag in ("header", "footer") or names & {"header", "footer"}:
            category = "page-header" if element.tag == "header" or "header" in names else "page-footer"
            self._add(element, category, _children(element, depth))
        elif element.tag == "li":
            number = element.getparent().index(element) + 1 if element.getparent().tag == "ol" else 0
            text = _children(element, depth)
            marked = re.match(r"[-*+]\s|\d{1,4}[.)]\s", text)
            mark = "" if marked else f"{number}. " if number else "- "
            self._add(element, "list-item", ("\0" if element.getprevious() is not None else "") + mark + text)
        elif all(map(_is_inline, element)):
            self._add(element, "text", _children(element, depth))
        else:
            self.walk(element, depth)

    def _add(self, element: lxml.html.HtmlElement, category: str, text: str) -> None:
        """A region and its text; running heads and feet stay out of the page's text."""
        plain = text.strip("\0").strip()
        if box := self._box(element):
            self.blocks.append(Block(category, box, plain))
        if category in ("page-header", "page-footer"):
            (self.headers if category == "page-header" else self.footers).append(plain)
        elif plain:
            self.parts.append(text)

    def _fenced(self, element: lxml.html.HtmlElement, names: set[str]) -> None:
        language = next((_FENCED[name] for name in _FENCED if name in names and _FENCED[name]), "")
        code = element.text_content().strip("\n")
        marks = "`" * max([3, *(len(run) + 1 for run in re.findall(r"`{3,}", code))])
        self._add(element, "code", f"{marks}{language}\n{code}\n{marks}" if code.strip() else "")

    def _picture(self, element: lxml.html.HtmlElement, depth: int) -> None:
        """A figure's place, if it has one, and whatever text or table the model read inside it."""
        inner = next((child for child in element if child.tag == "img" and child.get("data-bbox")), element)
        if box := self._box(element) or self._box(inner):
            self.blocks.append(Block("picture", box))
            self.parts.append(placeholder(sum(block.category == "picture" for block in self.blocks)))
        self._paragraph(_escaped(element.text))
        for child in element:
            if child.tag != "img":
                self._element(child, depth + 1)
            self._paragraph(_escaped(child.tail))

    def _box(self, element: lxml.html.HtmlElement) -> Box | None:
        numbers = re.findall(r"-?\d{1,6}(?:\.\d{1,6})?", element.get("data-bbox", ""))
        corners = four_numbers([float(number) for number in numbers])
        return share_box(corners, self.width, self.height) if corners else None


def _is_inline(element: lxml.html.HtmlElement) -> bool:
    name = element.tag
    return isinstance(name, str) and (name in tags.INLINE | tags.PLAIN | {"br"}) and not element.get("data-bbox")


def _children(element: lxml.html.HtmlElement, depth: int) -> str:
    """The text inside an element, inline markup kept."""
    if depth >= MAX_DEPTH:
        return _escaped(element.text_content()).strip()
    return "".join(_pieces(element, depth)).strip()


def _pieces(element: lxml.html.HtmlElement, depth: int) -> Iterator[str]:
    yield _escaped(element.text)
    for child in element:
        yield _inline(child, depth + 1)
        yield _escaped(child.tail)


def _inline(element: lxml.html.HtmlElement, depth: int) -> str:
    if not isinstance(element.tag, str) or element.tag in _DROPPED | {"img"}:
        return ""
    if element.tag == "br":
        return "\n"
    text = _children(element, depth)
    return f"<{element.tag}>{text}</{element.tag}>" if element.tag in tags.INLINE and text else text


def _escaped(text: str | None) -> str:
    """Text of the tree as Markdown: outside formulas, what would open a tag or be an entity is escaped."""
    spans = scan(text or "")
    return "".join(
        span.text if span.kind in ("inline", "display") else tags.shown(tags.ENTITY.sub("&amp;", span.text))
        for span in spans
    )
