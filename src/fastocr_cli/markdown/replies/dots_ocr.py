"""dots.ocr: a JSON array of `{"bbox": [x1, y1, x2, y2], "category": ..., "text": ...}` in reading order.

Boxes are pixels of the picture that the model saw. The array is often broken: read object by object, so that one bad
object costs no other.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from fastocr_cli.markdown.cut import cut_page
from fastocr_cli.markdown.figures import placeholder
from fastocr_cli.markdown.formulas import as_display
from fastocr_cli.markdown.reply import Box, Reply, four_numbers, share_box
from fastocr_cli.pages import Block

CATEGORIES = (
    "Caption", "Footnote", "Formula", "List-item", "Page-footer", "Page-header", "Picture", "Section-header", "Table",
    "Text", "Title",
)  # fmt: skip
_OBJECT = re.compile(r"\{\s*\"(?:bbox|category)\"\s*:")
_BOX = re.compile(r"\"bbox\"\s*:\s*\[([^\]]*)\]?")
_CATEGORY = re.compile(r"\"category\"\s*:\s*\"([^\"]*)\"")
_TEXT = re.compile(r"\"text\"\s*:\s*\"(.*)", re.DOTALL)
_END = re.compile(r"\"\s*\}?\s*[,\]}]*\s*(?:```\s*)?\Z")
_FENCE = re.compile(r"\A\s*`{3,}\w*\s*\n?|\n?\s*`{3,}\s*\Z")


def parse(text: str, width: int, height: int) -> Reply:
    """Markdown and regions. Repeated objects are left out; an unfinished last one stays as far as its text goes."""
    if not _OBJECT.search(text):
        return Reply("" if re.fullmatch(r"\s*(?:`{3,}\w*\s*)?\[[\s\]{}]*`*\s*", text) else text)
    warnings: list[str] = []
    blocks: list[Block] = []
    parts: list[tuple[str, str]] = []
    heads: dict[str, list[str]] = {"page-header": [], "page-footer": []}
    seen: set[tuple[Any, ...]] = set()
    for item in _objects(text):
        if (key := (item.category, item.text, item.corners)) in seen:
            continue
        seen.add(key)
        if item.unfinished:
            warnings.append("The reply ends inside a block.")
        box = share_box(item.corners, width, height) if item.corners else None
        if box:
            blocks.append(Block(item.category, box, item.text))
        if item.category in heads:
            heads[item.category].append(item.text)
        elif item.category == "picture":
            if box:
                parts.append((item.category, placeholder(sum(b.category == "picture" for b in blocks), item.text)))
        elif markdown := _markdown(item.category, item.text.strip()):
            parts.append((item.category, markdown))
    return Reply(
        _joined(parts),
        tuple(blocks),
        tuple(heads["page-header"]),
        tuple(heads["page-footer"]),
        warnings=tuple(warnings),
    )


class _Item:
    """One object of the array."""

    def __init__(self, category: str, text: str, corners: Box | None) -> None:
        self.category = category.strip().lower()
        self.text = text
        self.corners = corners
        self.unfinished = False


def _objects(text: str) -> Iterator[_Item]:
    """The objects one after another, whatever stands between them."""
    text = _FENCE.sub("", text)
    starts = [found.start() for found in _OBJECT.finditer(text)]
    decoder = json.JSONDecoder(strict=False)
    position = 0
    for start, following in zip(starts, [*starts[1:], len(text)], strict=True):
        if start < position:
            continue  # inside the text of the object before
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            item = _repaired(text[start:following], last=following == len(text))
        else:
            item = _from_json(value)
        if item:
            yield item


def _from_json(value: Any) -> _Item | None:
    if not isinstance(value, dict):
        return None
    category, text, box = value.get("category"), value.get("text"), value.get("bbox")
    if isinstance(text, list | dict):
        text = json.dumps(text, ensure_ascii=False)
    return _Item(str(category or "Text"), "" if text is None else _commands(str(text)), four_numbers(box))


def _commands(text: str) -> str:
    """LaTeX commands whose backslash the model forgot to double, so that JSON read `\\f` or `\\t` in their place."""
    text = text.replace("\f", "\\f").replace("\b", "\\b")
    text = re.sub(r"\t(?=heta|imes|ext|au\b|o\b|an\b|riangle|ilde|op\b|frac)", r"\\t", text)
    text = re.sub(r"\r(?=ho\b|ight|m\b|angle|floor|ceil|vert)", r"\\r", text)
    return re.sub(r"\n(?=abla\b|eq\b|eg\b|otin\b)", r"\\n", text)


def _repaired(text: str, last: bool) -> _Item | None:
    """An object that isn't JSON: bare quotes, a comma missing, a box cut short, no end. None where it says nothing."""
    category, box, body = _CATEGORY.search(text), _BOX.search(text), _TEXT.search(text)
    if category is None and body is None:
        return None
    content, unfinished = "", False
    if body:
        end = _END.search(body[1])
        unfinished = last and end is None
        content = _unquoted(body[1][: end.start()] if end else body[1].rstrip())
        content = cut_page(content) if unfinished else content
    if not content and (category is None or category[1] != "Picture"):
        return None
    corners = [float(number) for number in re.findall(r"-?\d{1,9}(?:\.\d{1,9})?", box[1])] if box else None
    item = _Item(category[1] if category else "Text", content, four_numbers(corners))
    item.unfinished = unfinished
    return item


def _unquoted(text: str) -> str:
    """The text of a JSON string that may hold bare quotes, bare backslashes and half an escape at its end."""
    text = re.sub(r"(?<!\\)((?:\\\\)*)\\(?:u[0-9a-fA-F]{0,3})?\Z", r"\1", text)
    text = re.sub(r"\\(u[0-9a-fA-F]{4}|.)|\"", lambda found: found[0] if _is_escape(found) else "\\" + found[0], text)
    try:
        return _commands(str(json.loads(f'"{text}"', strict=False)))
    except ValueError:
        return text


def _is_escape(found: re.Match[str]) -> bool:
    return found[1] is not None and (found[1] in '"\\/bfnrt' or len(found[1]) == 5)


def _markdown(category: str, text: str) -> str:
    """The text of one block with the marks that its category asks for, unless it has them."""
    if not text:
        return ""
    if category == "formula":
        return as_display(text)
    if category in ("title", "section-header"):
        line = " ".join(text.split("\n"))
        return line if re.match(r"#{1,6}\s", line) else ("# " if category == "title" else "## ") + line
    if category == "list-item":
        text = re.sub(r"\A[•◦▪●○■–]\s*", "- ", text)
        return text if re.match(r"[-*+]\s|\(?[\da-zA-Z]{1,4}[.)]|\[\d|[①-⑳]", text) else f"- {text}"
    return text


def _joined(parts: list[tuple[str, str]]) -> str:
    """Blocks apart by blank lines, items of one list by line ends."""
    text = ""
    before = ""
    for category, part in parts:
        text += ("\n" if category == before == "list-item" else "\n\n" if text else "") + part
        before = category
    return text
