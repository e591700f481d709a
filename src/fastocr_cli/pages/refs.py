"""The words that travel: a document, one of its pages, a page's picture, a page's result.

Nothing here opens a file. References are small and picklable; pixels never travel.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from PIL.Image import Image

from fastocr_cli.errors import FastOCRError


@dataclass(frozen=True)
class Document:
    """One input file, the pages chosen from it, and where its results go."""

    path: Path
    name: str
    """Output path relative to the output folder, without ending: `reports/q1`."""
    num_pages: int
    selected: tuple[range, ...]
    """Chosen page numbers (1-based), ascending, inside 1..num_pages."""
    source: str = ""
    """How messages call it: the path as the user gave it, or `-`."""

    def page_numbers(self) -> Iterator[int]:
        for numbers in self.selected:
            yield from numbers

    @property
    def num_selected(self) -> int:
        return sum(map(len, self.selected))


@dataclass(frozen=True)
class PageRef:
    """One page of one document: the unit of work, of resume and of failure."""

    document: Document
    number: int
    """1-based."""

    def __str__(self) -> str:
        return f"{self.document.source or self.document.path} page {self.number}"


class Character(NamedTuple):
    """A visible character of a born-digital page. Pixels of the rendered picture, origin top left."""

    char: str
    x: float
    """Centre of the glyph."""
    y: float
    """0.3 em above the baseline: about the middle of a lower-case letter."""
    blank: bool | None = None
    """Whether a blank is printed before it; None where it begins a line."""
    size: float = 0.0
    """The em; 0 for unknown."""


@dataclass(frozen=True)
class Resolution:
    """How large a model wants its pages. Exactly one of `dpi` and `longest_side` leads.

    `max_pixels` caps the area of what is rendered and `max_side` each side: a poster is scaled down to them.
    """

    dpi: float | None = None
    longest_side: int | None = None
    max_pixels: int = 12_845_056
    max_side: int = 12_000


@dataclass(frozen=True)
class PageImage:
    """A rendered page: RGB pixels, upright, on white; and the page's own visible characters."""

    image: Image
    characters: tuple[Character, ...] | None = None
    """None where the page has no usable text layer or was not asked for it."""
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Block:
    """A region of a page. The box is a share of the page's width and height, origin top left."""

    category: str
    box: tuple[float, float, float, float]
    text: str = ""


@dataclass(frozen=True)
class Figure:
    """A picture cut out of a page. The Markdown refers to it as `figure:<number>`."""

    number: int
    """Counts the page's blocks of category `picture`, from 1."""
    png: bytes = field(repr=False)


@dataclass(frozen=True)
class PageResult:
    """What came of one page. `error` is set if, and only if, the page failed."""

    ref: PageRef
    markdown: str = ""
    error: str | None = None
    warnings: tuple[str, ...] = ()
    finish_reason: str = "stop"
    """`stop`, `length` (cut at the token limit), `loop` (cut where it began to repeat), `blank`, `error`."""
    blocks: tuple[Block, ...] = ()
    figures: tuple[Figure, ...] = ()
    raw: str = ""
    """The model's reply before it became Markdown."""
    num_visual_tokens: int = 0
    num_new_tokens: int = 0
    prefill_s: float = 0.0
    """Seconds of rendering, encoding and prefill."""
    decode_s: float = 0.0
    """Seconds the page spent in the decoding batch."""
    attempts: int = 1
    coverage: float | None = None
    """Share of the focal layers' image attention that fell inside the fixation."""
    visual_kv_read: float | None = None
    """Visual keys and values read per step over what the dense model reads."""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def cut(self) -> bool:
        """The text is there, but ends before the page does."""
        return self.finish_reason in ("length", "loop")


@dataclass(frozen=True)
class BadInput:
    """An input that gave no pages, and why."""

    source: str
    error: FastOCRError
