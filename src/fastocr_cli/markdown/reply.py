"""What a model said about one page, whatever the format it said it in."""

from dataclasses import dataclass

from fastocr_cli.pages import Block

Box = tuple[float, float, float, float]
"""Left, top, right, bottom."""

CATEGORIES = frozenset(
    {"caption", "code", "footnote", "formula", "list-item", "page-footer", "page-header", "picture", "section-header"}
    | {"table", "text", "title"}
)
"""The vocabulary of `Block.category`; each family's own labels are mapped to it."""


@dataclass(frozen=True)
class Reply:
    """Text and regions of one page, before `clean_page`."""

    markdown: str
    """Raw Markdown: running heads and feet left out, figures as placeholders (figures.py)."""
    blocks: tuple[Block, ...] = ()
    """Regions in reading order, heads and feet included; empty for models that give no boxes."""
    headers: tuple[str, ...] = ()
    footers: tuple[str, ...] = ()
    rotation: int = 0
    """Degrees counter-clockwise (as Pillow turns) by which the page must be turned and read again; 0, 90, 180, 270."""
    language: str = ""
    """Two-letter code, where the model names it."""
    warnings: tuple[str, ...] = ()


def four_numbers(values: object) -> Box | None:
    """A model's list of corners, or None: with three numbers nobody knows which is missing."""
    if not isinstance(values, list) or len(values) != 4:
        return None
    if not all(isinstance(n, int | float) and -1e7 < n < 1e7 for n in values):
        return None
    x1, y1, x2, y2 = map(float, values)
    return x1, y1, x2, y2


def share_box(corners: Box, width: float, height: float) -> Box | None:
    """Corners in units of which `width` and `height` make the page, as shares of it; None where no area is left."""
    if width <= 0 or height <= 0:
        return None
    x1, y1, x2, y2 = corners
    left, right = sorted((min(max(x1 / width, 0.0), 1.0), min(max(x2 / width, 0.0), 1.0)))
    top, bottom = sorted((min(max(y1 / height, 0.0), 1.0), min(max(y2 / height, 0.0), 1.0)))
    return (left, top, right, bottom) if right > left and bottom > top else None
