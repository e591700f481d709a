"""FastOCR: PDFs and images to Markdown. The public names; each is imported when first used, so this costs nothing.

Knows where the names live and nothing else.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastocr_cli.config import RunConfig
    from fastocr_cli.decoding.generate import attached
    from fastocr_cli.errors import FastOCRError
    from fastocr_cli.pages.refs import PageRef, PageResult
    from fastocr_cli.pipeline import convert

__version__ = "0.1.0"

__all__ = ["FastOCRError", "PageRef", "PageResult", "RunConfig", "__version__", "attached", "convert"]

_HOMES = {
    "FastOCRError": "fastocr_cli.errors",
    "PageRef": "fastocr_cli.pages.refs",
    "PageResult": "fastocr_cli.pages.refs",
    "RunConfig": "fastocr_cli.config",
    "attached": "fastocr_cli.decoding.generate",
    "convert": "fastocr_cli.pipeline",
}


def __getattr__(name: str) -> Any:
    """Import a public name from its home (PEP 562)."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
