"""From paths to pictures: which pages there are, and what each looks like."""

from fastocr_cli.pages.find import find_pages
from fastocr_cli.pages.refs import (
    BadInput,
    Block,
    Character,
    Document,
    Figure,
    PageImage,
    PageRef,
    PageResult,
    Resolution,
)
from fastocr_cli.pages.render import render

__all__ = [
    "BadInput",
    "Block",
    "Character",
    "Document",
    "Figure",
    "PageImage",
    "PageRef",
    "PageResult",
    "Resolution",
    "find_pages",
    "render",
]
