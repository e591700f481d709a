"""olmOCR: five keys between lines of dashes, then Markdown; figures named by place, `page_x_y_width_height.png`."""

import re

from fastocr_cli.markdown.figures import placeholder
from fastocr_cli.markdown.reply import Reply, share_box
from fastocr_cli.pages import Block

_KEY = re.compile(
    r"[ \t]*(primary_language|is_rotation_valid|rotation_correction|is_table|is_diagram)[ \t]*:[ \t]*(.*?)[ \t]*"
)
_FIGURE = re.compile(r"!\[((?:[^\[\]\\\n]|\\.)*)\]\(\s*page_(\d+)_(\d+)_(\d+)_(\d+)(?:\.\w{3,4})?\s*\)")


def parse(text: str, width: int, height: int) -> Reply:
    """Front matter that is missing, half there or never closed is read as far as it goes."""
    facts, body = _front_matter(text)
    markdown, blocks = _figures(body, width, height)
    language = facts.get("primary_language", "").strip("'\"").lower()
    return Reply(
        markdown,
        blocks,
        rotation=_rotation(facts),
        language=language if re.fullmatch(r"[a-z]{2,3}(?:-\w+)?", language) else "",  # `null` is four letters
    )


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """The known keys and the text after them. Read by hand: in YAML the language `no` is the truth value False."""
    lines = text.lstrip("\ufeff \t\r\n").splitlines()
    start = 1 if lines and re.fullmatch(r"-{3,}[ \t]*", lines[0]) else 0
    facts: dict[str, str] = {}
    index = start
    while index < len(lines) and (found := _KEY.fullmatch(lines[index])):
        facts[found[1]] = found[2]
        index += 1
    if not facts:
        return {}, text
    if index < len(lines) and re.fullmatch(r"-{3,}[ \t]*", lines[index]):
        index += 1
    return facts, "\n".join(lines[index:]).strip("\n")


def _rotation(facts: dict[str, str]) -> int:
    """Degrees counter-clockwise. The model's instruction says clockwise, but it was trained, and is run by its makers,
    on corrections that Pillow applies, which turns the other way."""
    if facts.get("is_rotation_valid", "true").strip("'\"").lower() not in ("false", "no", "off"):
        return 0
    correction = facts.get("rotation_correction", "0").strip("'\"")
    return int(correction) if correction in ("90", "180", "270") else 0


def _figures(body: str, width: int, height: int) -> tuple[str, tuple[Block, ...]]:
    """Figure links as placeholders, and the places they name (pixels: left, top, width, height)."""
    blocks: list[Block] = []

    def note(found: re.Match[str]) -> str:
        left, top, wide, high = (int(found[n][:7]) for n in range(2, 6))
        box = share_box((left, top, left + wide, top + high), width, height)
        if box is None:
            return found[1]
        blocks.append(Block("picture", box, found[1]))
        return placeholder(len(blocks), found[1])

    return _FIGURE.sub(note, body), tuple(blocks)
