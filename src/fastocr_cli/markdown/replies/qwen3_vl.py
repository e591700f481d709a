"""Qwen3-VL in its Markdown mode: figures as `<!-- Image (x1, y1, x2, y2) -->`, a like comment before each LaTeX table.

Coordinates are 0 to 1000 of the page. `clean_page` turns LaTeX tables into HTML and takes off the fence.
"""

import re

from fastocr_cli.markdown.figures import placeholder
from fastocr_cli.markdown.reply import Reply, share_box
from fastocr_cli.pages import Block

GRID = 1000
_NUMBER = r"\s*(-?\d{1,6}(?:\.\d{1,6})?)\s*"
_COMMENT = re.compile(rf"<!--\s*(?P<label>[A-Za-z][\w -]{{0,30}}?)\s*[(\[]{','.join([_NUMBER] * 4)}[)\]]\s*-->")
_HALF = re.compile(r"<!--\s*(?:Image|Table|Figure|Chart)?\s*[(\[]?[\d\s.,]*\Z", re.IGNORECASE)
_PICTURES = frozenset({"image", "figure", "picture", "chart", "photo", "logo", "seal"})


def parse(text: str, width: int, height: int) -> Reply:
    """Text and regions; the size is not needed, coordinates are relative."""
    blocks: list[Block] = []

    def note(found: re.Match[str]) -> str:
        category = found["label"].strip().lower()
        category = "picture" if category in _PICTURES else category if category in ("table", "formula") else "text"
        x1, y1, x2, y2 = (float(found[n]) for n in range(2, 6))
        box = share_box((x1, y1, x2, y2), GRID, GRID)
        if box is None:
            return ""
        blocks.append(Block(category, box))
        number = sum(block.category == "picture" for block in blocks)
        return f"\n\n{placeholder(number)}\n\n" if category == "picture" else ""

    markdown = _COMMENT.sub(note, _HALF.sub("", text))
    return Reply(re.sub(r"\n{3,}", "\n\n", markdown).strip(), tuple(blocks))
