"""A tiny corpus, so that pages can be made in a moment."""

from pathlib import Path

import pytest

PARAGRAPHS = [
    "The quick brown fox jumps over the lazy dog and then sleeps in the warm sun until the evening comes.",
    "A page of a book holds words, and between the words lies white space that nobody has to read aloud.",
    "Numbers such as 1984 or 2.71828 are read letter by letter, because nobody can guess what comes next.",
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "corpus.txt").write_text("\n".join(PARAGRAPHS * 200))
    pairs = ['["x_{2}", "x_2"]', '["\\\\frac{a}{b}", "frac(a, b)"]']
    (folder / "formulas.jsonl").write_text("\n".join(pairs * 300))
    return folder
