"""DeepSeek-OCR: each region as `<|ref|>label<|/ref|><|det|>[[x1, y1, x2, y2]]<|/det|>`, then its Markdown.

Coordinates are 0 to 999 of the page. The tags are the model's own tokens, so the reply must be decoded with its
special tokens kept. Without grounding there are none, and the reply is plain Markdown.
"""

import json
import re

from fastocr_cli.markdown.figures import placeholder
from fastocr_cli.markdown.reply import Box, Reply, four_numbers, share_box
from fastocr_cli.pages import Block

END = "<｜end▁of▁sentence｜>"
GRID = 999
_REGION = re.compile(
    r"<\|ref\|>(?P<label>[^\n]{0,200}?)<\|/ref\|>[ \t]*(?:<\|det\|>(?P<boxes>[^<]*)(?:<\|/det\|>|\Z))?[ \t]*\n?",
    re.DOTALL,
)
_HALF = re.compile(r"<\|(?:ref|/ref|det|/det)\|>[^<\n]*\Z|<\|/?(?:ref|det)\|>")
_CATEGORIES = {
    "title": "title", "sub_title": "section-header", "text": "text", "table": "table", "image": "picture",
    "figure": "picture", "equation": "formula", "formula": "formula", "list": "list-item", "code": "code",
    "image_caption": "caption", "figure_caption": "caption", "table_caption": "caption", "footnote": "footnote",
    "table_footnote": "footnote", "header": "page-header", "footer": "page-footer", "page_number": "page-footer",
}  # fmt: skip
_COMMANDS = {r"\coloneqq": ":=", r"\eqqcolon": "=:"}


def parse(text: str, width: int, height: int) -> Reply:
    """Regions and text; the size is not needed, coordinates are relative."""
    text = text.partition(END)[0]
    for command, signs in _COMMANDS.items():
        text = re.sub(re.escape(command) + r"(?![A-Za-z])", signs, text)
    pages = _Page()
    last = None
    position = 0
    for found in _REGION.finditer(text):
        pages.add(last, text[position : found.start()])
        last, position = found, found.end()
    pages.add(last, text[position:])
    return Reply(
        re.sub(r"\n{3,}", "\n\n", "\n\n".join(pages.parts)).strip(),
        tuple(pages.blocks),
        headers=tuple(pages.headers),
        footers=tuple(pages.footers),
    )


class _Page:
    """What has been read so far."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.blocks: list[Block] = []
        self.headers: list[str] = []
        self.footers: list[str] = []

    def add(self, region: re.Match[str] | None, text: str) -> None:
        """One region and the text up to the next."""
        text = re.sub(r"</?center>", "", _HALF.sub("", text)).strip()
        category = _CATEGORIES.get(region["label"].strip().lower(), "text") if region else "text"
        boxes = _boxes(region["boxes"]) if region else []
        if category == "picture":
            for box in boxes:
                self.blocks.append(Block(category, box))
                self.parts.append(placeholder(sum(block.category == "picture" for block in self.blocks)))
        elif boxes and region:
            self.blocks.append(Block(category, _around(boxes), text))
        if category in ("page-header", "page-footer"):
            (self.headers if category == "page-header" else self.footers).append(text)
        elif text:
            self.parts.append(text)


def _boxes(listed: str | None) -> list[Box]:
    """The boxes of a region; one that is cut off or has another shape is left out."""
    try:
        corners = json.loads((listed or "").strip() or "[]")
    except (ValueError, RecursionError):
        return []
    if isinstance(corners, list) and corners and not isinstance(corners[0], list):
        corners = [corners]
    boxes = []
    for values in corners if isinstance(corners, list) else []:
        four = four_numbers(values)
        if four and (box := share_box(four, GRID, GRID)):
            boxes.append(box)
    return boxes


def _around(boxes: list[Box]) -> Box:
    left, top, right, bottom = zip(*boxes, strict=True)
    return min(left), min(top), max(right), max(bottom)
