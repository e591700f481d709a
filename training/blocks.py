"""What documents are made of: Typst source, and the Markdown for it piece by piece."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "markup", "formula"]


@dataclass(frozen=True)
class Segment:
    """A piece of the target: printed text, Markdown that is not printed, or a formula in LaTeX."""

    kind: Kind
    text: str


@dataclass(frozen=True)
class Block:
    """One paragraph, heading, list, table, ...: its Typst source and its share of the target."""

    source: str
    segments: list[Segment]
    wide: bool = False
    """Across all columns."""

    def area(self) -> int:
        """Roughly how many characters of room it takes."""
        return sum(len(s.text) for s in self.segments) + 40


@dataclass(frozen=True)
class Document:
    source: str
    blocks: list[Block]
    columns: tuple[tuple[float, float], ...] = ()
    """Left and right edge of each, in points; print that leaves them spoils a page. None: anything goes."""


def text(value: str) -> Segment:
    return Segment("text", value)


def markup(value: str) -> Segment:
    return Segment("markup", value)
