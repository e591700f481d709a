"""Shared by all tests: no cache of the user's is touched, and documents are made on the spot."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's cache folder, moved; a test sees only what it put there."""
    folder = tmp_path_factory.mktemp("cache")
    monkeypatch.setenv("FASTOCR_CACHE", str(folder))
    return folder


@pytest.fixture
def make_pdf(tmp_path: Path) -> Callable[..., Path]:
    """`make_pdf("a.pdf", ["text of page 1", "text of page 2"])`: an A4 page for each text, lines kept."""

    def make(name: str = "document.pdf", texts: Sequence[str] = ("Hello",), *, font_size: float = 12) -> Path:
        import pymupdf  # not for the tests that need no PDF

        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with pymupdf.open() as document:
            for text in texts:
                page = document.new_page(width=595, height=842)
                page.insert_text((72, 100), text, fontsize=font_size)
            document.save(path)
        return path

    return make
