"""Typesets a document with Typst and finds where every character of its Markdown was printed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pymupdf
import typst
from numpy.typing import NDArray

from training.blocks import Block, Document
from training.formulas import printed_places
from training.page import DPI, TOKEN_HEIGHT, TOKEN_WIDTH, Page

SCALE = DPI / 72
FLAGS = pymupdf.TEXTFLAGS_RAWDICT & ~pymupdf.TEXT_PRESERVE_LIGATURES & ~pymupdf.TEXT_PRESERVE_IMAGES


@dataclass
class Printed:
    """The characters of a PDF in the order of its content, with page number and centre in pixels."""

    text: str
    page: NDArray[np.int64]
    centre: NDArray[np.float32]


def printed(document: Any) -> Printed:
    found = [
        (char["c"], number, SCALE * (char["bbox"][0] + char["bbox"][2]) / 2,
         SCALE * (char["origin"][1] - 0.3 * span["size"]))
        for number, page in enumerate(document)
        for block in page.get_text("rawdict", flags=FLAGS, sort=False)["blocks"]
        for line in block.get("lines", ())
        for span in line["spans"]
        for char in span["chars"]
        if not char["c"].isspace()
    ]  # fmt: skip
    text = "".join(item[0] for item in found)
    page = np.array([item[1] for item in found], np.int64)
    centre = np.array([item[2:] for item in found], np.float32).reshape(-1, 2)
    return Printed(text, page, centre)


@dataclass
class Target:
    """The Markdown of a document, character by character."""

    text: str
    kind: list[str]
    block: NDArray[np.int64]
    segment: NDArray[np.int64]


def flatten(blocks: list[Block]) -> Target:
    text, kind, owner, segment_of = [], [], [], []
    count = 0
    for number, block in enumerate(blocks):
        pieces = [("markup", "\n\n")] if number else []
        pieces += [(segment.kind, segment.text) for segment in block.segments]
        for name, piece in pieces:
            text.append(piece)
            kind += [name] * len(piece)
            owner += [number] * len(piece)
            segment_of += [count] * len(piece)
            count += 1
    return Target("".join(text), kind, np.array(owner), np.array(segment_of))


def align(target: Target, text: str) -> NDArray[np.int64]:
    """For each target character the index of the printed character it stands for, or -1.

    Both run in the same order, but running heads, bullets, hyphens and formulas are printed and not in the target:
    after a mismatch the next eight target characters are searched ahead.
    """
    where = np.full(len(target.text), -1, np.int64)
    visible = [i for i, c in enumerate(target.text) if target.kind[i] == "text" and not c.isspace()]
    letters = "".join(target.text[i] for i in visible)
    cursor = misses = 0
    for rank, i in enumerate(visible):
        found = cursor if cursor < len(text) and text[cursor] == target.text[i] else -1
        if found < 0:
            found = text.find(letters[rank : rank + 8], cursor, cursor + 500)
        if found < 0:
            found = text.find(letters[rank : rank + 4], cursor, cursor + 60)
        if found < 0 and misses < 2:
            found = text.find(target.text[i], cursor, cursor + 3)
        if found < 0:
            misses += 1
        else:
            where[i], cursor, misses = found, found + 1, 0
    _place_formulas(target, text, where)
    return where


def _place_formulas(target: Target, text: str, where: NDArray[np.int64]) -> None:
    """Lay the LaTeX of each formula on what is printed between its neighbours."""
    kinds = np.array(target.kind)
    for segment in np.unique(target.segment[kinds == "formula"]):
        span = np.flatnonzero(target.segment == segment)
        first, last = span[0], span[-1] + 1
        before, after = where[max(0, first - 400) : first], where[last : last + 400]
        start = before[before >= 0][-1] + 1 if (before >= 0).any() else 0
        stop = after[after >= 0][0] if (after >= 0).any() else len(text)
        stop = min(stop, start + len(span) + 40)  # a page break or a lost neighbour in between
        places = printed_places(target.text[first:last], text[start:stop])
        where[span] = np.where(places < 0, -1, start + places)


def page_of_each(target: Target, where: NDArray[np.int64], page: NDArray[np.int64]) -> NDArray[np.int64]:
    """The page of every target character; what is not printed follows its block, forward first."""
    known = np.where(where >= 0, page[np.clip(where, 0, None)], -1)
    result = known.copy()
    for step in (range(len(result) - 2, -1, -1), range(1, len(result))):
        ahead = 1 if step.step < 0 else -1
        for i in step:
            if result[i] < 0 and target.block[i] == target.block[i + ahead]:
                result[i] = result[i + ahead]
    for i in range(len(result) - 2, -1, -1):
        if result[i] < 0:
            result[i] = result[i + 1]
    return result


def leaves_columns(x: NDArray[np.float32], columns: tuple[tuple[float, float], ...]) -> bool:
    """Whether characters at these centres in pixels, nan for none, are beside the columns: a word was too long."""
    inside = np.isnan(x)
    for left, right in columns:
        inside |= (x >= SCALE * left) & (x <= SCALE * right)
    return bool(columns) and not inside.all()


def overprinted(page: Any) -> bool:
    """Whether lines of print run through each other: a word too long for its column, a page nobody could read."""
    bands = np.array([
        (line["bbox"][0], span["origin"][1] - 0.45 * span["size"], line["bbox"][2], span["origin"][1])
        for block in page.get_text("dict")["blocks"]
        for line in block.get("lines", ())
        for span in line["spans"][:1]
        if len("".join(span["text"] for span in line["spans"]).strip()) > 5
    ]).reshape(-1, 4)  # fmt: skip
    first, last = bands[:, :2], bands[:, 2:]
    shared = np.minimum(last[:, None], last) - np.maximum(first[:, None], first)
    np.fill_diagonal(shared[..., 0], 0)
    return bool((shared > [3, 1]).all(-1).any())


def picture(page: Any, num_columns: int, num_rows: int) -> NDArray[np.uint8]:
    pixmap = page.get_pixmap(matrix=pymupdf.Matrix(SCALE, SCALE), colorspace=pymupdf.csGRAY, alpha=False)  # type: ignore[no-untyped-call]
    grey = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)[:, : pixmap.width]
    image = np.full((num_rows * TOKEN_HEIGHT, num_columns * TOKEN_WIDTH), 255, np.uint8)
    height, width = min(image.shape[0], grey.shape[0]), min(image.shape[1], grey.shape[1])
    image[:height, :width] = grey[:height, :width]
    return image


def compile_pdf(document: Document) -> Any:
    return pymupdf.open(stream=typst.compile(document.source.encode()), filetype="pdf")  # type: ignore[no-untyped-call]


def typeset(document: Document, num_columns: int, num_rows: int) -> Iterator[Page]:
    """Pages of the document, the last one left out because it is not full."""
    for _, page in numbered_pages(compile_pdf(document), document, num_columns, num_rows):
        yield page


def numbered_pages(pdf: Any, document: Document, num_columns: int, num_rows: int) -> Iterator[tuple[int, Page]]:
    ink, target = printed(pdf), flatten(document.blocks)
    if not len(ink.page):
        return
    where = align(target, ink.text)
    page_of = page_of_each(target, where, ink.page)
    wide = np.array([block.wide for block in document.blocks])
    for number in range(len(pdf) - 1):
        span = np.flatnonzero(page_of == number)
        if not len(span) or len(span) != span[-1] - span[0] + 1:
            continue  # the order on the page is not the order of the source
        text = target.text[span[0] : span[-1] + 1]
        start = span[0] + len(text) - len(text.lstrip())
        text = text.strip()
        chosen = where[start : start + len(text)]
        lost = sum(
            c.isalnum() and w < 0 and k == "text" for c, w, k in zip(text, chosen, target.kind[start:], strict=False)
        )
        if len(text) < 3 or lost > max(3, 0.03 * len(text)):
            continue
        centres = np.where(chosen[:, None] >= 0, ink.centre[np.clip(chosen, 0, None)], np.nan).astype(np.float32)
        own = np.flatnonzero(ink.page == number)
        if (ink.centre[own] > [num_columns * TOKEN_WIDTH, num_rows * TOKEN_HEIGHT]).any():
            continue  # a table that is too long for the page
        narrow = ~wide[target.block[start : start + len(text)]]
        if overprinted(pdf[number]) or leaves_columns(centres[narrow, 0], document.columns):
            continue
        glyphs = "".join(ink.text[i] for i in own)
        yield number, Page(picture(pdf[number], num_columns, num_rows), text, centres, glyphs, ink.centre[own])
