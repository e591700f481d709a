"""Real born-digital pages: what a PDF knows of its characters, and Markdown by a few typographic rules.

Only pages whose reading order is beyond doubt are taken: one column, no tables, no contents with dot leaders.
"""

import gzip
import re
import statistics
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf

from training.page import TOKEN_HEIGHT, TOKEN_WIDTH, Page
from training.typeset import FLAGS, SCALE, picture

BULLETS = "•●○■◦∗*–-"
Glyph = tuple[str, float, float]  # character, x and y of its centre in pixels


@dataclass
class Line:
    glyphs: list[Glyph]  # spaces included
    left: float  # in points, like all lengths here
    right: float
    baseline: float
    size: float
    bold: bool
    mono: bool
    upright: bool

    @property
    def text(self) -> str:
        return "".join(glyph[0] for glyph in self.glyphs)


@dataclass
class Paragraph:
    lines: list[Line] = field(default_factory=list)
    bullet: str = ""


def read_lines(page: Any) -> list[Line]:
    """The lines of a page in the order of its content."""
    lines = []
    for block in page.get_text("rawdict", flags=FLAGS, sort=False)["blocks"]:
        for line in block.get("lines", ()):
            chars = [(char, span) for span in line["spans"] for char in span["chars"]]
            while chars and chars[-1][0]["c"].isspace():
                chars.pop()
            while chars and chars[0][0]["c"].isspace():
                chars.pop(0)
            if chars:
                lines.append(_line(chars, upright=line["dir"] == (1.0, 0.0)))
    return lines


def _line(chars: list[tuple[dict[str, Any], dict[str, Any]]], upright: bool) -> Line:
    glyphs = [
        (
            " " if char["c"].isspace() else char["c"],
            SCALE * (char["bbox"][0] + char["bbox"][2]) / 2,
            SCALE * (char["origin"][1] - 0.3 * span["size"]),
        )
        for char, span in chars
    ]
    fonts = [span["font"].lower() for _, span in chars]
    return Line(
        glyphs,
        left=chars[0][0]["bbox"][0],
        right=chars[-1][0]["bbox"][2],
        baseline=chars[0][0]["origin"][1],
        size=statistics.median(span["size"] for _, span in chars),
        bold=sum("bold" in f or "cmb" in f or "black" in f for f in fonts) > 0.8 * len(fonts),
        mono=sum(any(name in f for name in ("mono", "courier", "cmtt", "sltt")) for f in fonts) > 0.8 * len(fonts),
        upright=upright,
    )


def _pattern(text: str) -> str:
    """The text without its numbers, for finding running heads."""
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", text.strip())


@dataclass(frozen=True)
class Style:
    """What is usual in a document."""

    size: float
    running: frozenset[str]  # patterns of running heads and feet

    @classmethod
    def of(cls, document: Any) -> "Style":
        sizes: Counter[float] = Counter()
        edges: Counter[str] = Counter()
        chosen = range(0, len(document), max(1, len(document) // 40))
        for number in chosen:
            page = document[number]
            for line in read_lines(page):
                sizes[round(line.size, 1)] += len(line.glyphs)
                if not 0.1 < line.baseline / page.rect.height < 0.92:
                    edges[_pattern(line.text)] += 1
        body = sizes.most_common(1)[0][0] if sizes else 10.0
        return cls(body, frozenset(text for text, count in edges.items() if count > 1))

    def is_running(self, line: Line, height: float) -> bool:
        if 0.1 < line.baseline / height < 0.92:
            return False
        pattern = _pattern(line.text)
        return pattern in self.running or pattern.strip(" -–") == "#" or line.baseline / height < 0.075


def body_lines(page: Any, style: Style) -> list[Line] | None:
    """The lines of the text in reading order, or None where the order is in doubt."""
    lines = [line for line in read_lines(page) if not style.is_running(line, page.rect.height)]
    if not 4 <= len(lines) <= 90 or not all(line.upright for line in lines):
        return None
    joined: list[Line] = []
    for line in lines:
        previous = joined[-1] if joined else None
        if previous and abs(previous.baseline - line.baseline) < 0.3 * line.size:
            gap = line.left - previous.right
            if not 0 <= gap < (4 if len(previous.glyphs) < 4 else 1.2) * line.size:
                return None  # cells of a table, or a second column
            previous.glyphs = [*previous.glyphs, (" ", 0.0, 0.0), *line.glyphs]
            previous.right = line.right
        elif previous and line.baseline < previous.baseline:
            return None
        else:
            joined.append(line)
    return None if any(re.search(r"(\. ?){4}|�", line.text) for line in joined) else joined


def paragraphs(lines: list[Line]) -> list[Paragraph]:
    """Lines that belong together: same style, no wide gap, no new indent, no bullet."""
    found: list[Paragraph] = []
    previous: Line | None = None
    for line in lines:
        bullet = re.match(rf"([{re.escape(BULLETS)}]|\(?\d{{1,2}}[.)]) ", line.text + " ")
        new = (
            previous is None
            or bool(bullet and not line.mono)
            or abs(line.size - previous.size) > 0.6
            or line.mono != previous.mono
            or (line.bold != previous.bold and (line.bold or len(found[-1].lines) == 1))
            or line.baseline - previous.baseline > (3.5 if line.mono else 1.45) * line.size
            or (not line.mono and len(found[-1].lines) > 1 and line.left - previous.left > 0.7 * line.size)
        )
        if new:
            found.append(Paragraph(bullet=bullet[1] if bullet and not line.mono else ""))
        found[-1].lines.append(line)
        previous = line
    return found


def written(paragraph: Paragraph, style: Style) -> list[Glyph]:
    """A paragraph in Markdown; what is not printed has the place nan."""
    first = paragraph.lines[0]
    if first.mono and not paragraph.bullet and len(paragraph.lines[0].glyphs) > 2:
        return _code(paragraph.lines)
    glyphs = _flow(paragraph.lines)
    if paragraph.bullet and paragraph.bullet in BULLETS:
        return _mark("- ") + glyphs[len(paragraph.bullet) :][1:]
    heading = len(paragraph.lines) < 3 and (first.size > 1.12 * style.size or first.bold)
    if heading and sum(glyph[0].isalnum() for glyph in glyphs) > 1:
        ratio = first.size / style.size
        return _mark("# " if ratio > 1.6 else "## " if ratio > 1.25 else "### ") + glyphs
    return glyphs


def _mark(text: str) -> list[Glyph]:
    return [(char, float("nan"), float("nan")) for char in text]


def _flow(lines: list[Line]) -> list[Glyph]:
    """Lines as one, words that were hyphenated at a line's end made whole."""
    glyphs: list[Glyph] = []
    for line in lines:
        if (
            glyphs
            and glyphs[-1][0] in "-\u00ad\u2010"
            and len(glyphs) > 1
            and glyphs[-2][0].isalpha()
            and line.text[0].islower()
        ):
            glyphs.pop()
        elif glyphs:
            glyphs += _mark(" ")
        glyphs += line.glyphs
    return glyphs


def _code(lines: list[Line]) -> list[Glyph]:
    """A listing, its indents and its blank lines kept."""
    left = min(line.left for line in lines)
    glyphs = _mark("```\n")
    for previous, line in zip([lines[0], *lines], lines, strict=False):
        width = (line.right - line.left) / len(line.glyphs)
        blank = line.baseline - previous.baseline > 1.9 * line.size
        indent = " " * max(0, round((line.left - left) / width))
        glyphs += _mark("\n" * blank + indent) + line.glyphs + _mark("\n")
    return glyphs + _mark("```")


def markdown(page: Any, style: Style) -> list[Glyph] | None:
    """The page's Markdown, character by character with its place, or None where the rules do not do."""
    lines = body_lines(page, style)
    if lines is None:
        return None
    glyphs: list[Glyph] = []
    tight = False
    for paragraph in paragraphs(lines):
        piece = written(paragraph, style)
        if glyphs:
            glyphs += _mark("\n" if tight and paragraph.bullet else "\n\n")
        glyphs += piece
        tight = bool(paragraph.bullet)
    known = sum(glyph[0].isascii() or glyph[0] in "‘’“”–—…•é°×±ü" for glyph in glyphs)
    return glyphs if known > 0.99 * len(glyphs) and len(glyphs) > 200 else None


def real_pages(path: Path, every: int = 1) -> Iterator[tuple[int, Page]]:
    """Page numbers and pages of a PDF (possibly gzipped) that the rules can write."""
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    document = pymupdf.open(stream=data, filetype="pdf")  # type: ignore[no-untyped-call]
    style = Style.of(document)
    for number in range(0, len(document), every):
        glyphs = markdown(document[number], style)
        if glyphs is not None:
            yield number, make_page(document[number], glyphs)


def make_page(page: Any, glyphs: list[Glyph]) -> Page:
    all_lines = [glyph for line in read_lines(page) for glyph in line.glyphs if glyph[0] != " "]
    num_columns = -(-round(page.rect.width * SCALE) // TOKEN_WIDTH)
    num_rows = -(-round(page.rect.height * SCALE) // TOKEN_HEIGHT)
    centres = np.array([glyph[1:] if not glyph[0].isspace() else (np.nan, np.nan) for glyph in glyphs], np.float32)
    return Page(
        picture(page, num_columns, num_rows),
        "".join(glyph[0] for glyph in glyphs),
        centres,
        "".join(glyph[0] for glyph in all_lines),
        np.array([glyph[1:] for glyph in all_lines], np.float32).reshape(-1, 2),
    )
