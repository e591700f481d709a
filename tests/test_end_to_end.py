"""The real command and the real embedded model on small pages: what a user gets after the installation."""

import json
from collections.abc import Sequence
from pathlib import Path

import pymupdf
import pytest
import torch
from rapidfuzz.distance import Levenshtein

from fastocr_cli.config import RunConfig
from fastocr_cli.pages import PageRef, PageResult, find_pages
from fastocr_cli.pipeline import convert
from fastocr_cli.reader import Reader

PAGE = (240, 100)
"""Points: 400 x 167 pixels at pocket's 120 dpi, a few lines of text."""
LINES = (
    ["The harbour office counts the", "ships that come in and the", "goods that they carry."],
    ["Every crate was weighed on the", "same scale, which was tested on", "the first day of each month."],
)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def small_pdf(path: Path, pages: Sequence[Sequence[str]]) -> Path:
    with pymupdf.open() as document:
        for lines in pages:
            page = document.new_page(width=PAGE[0], height=PAGE[1])
            page.insert_text((12, 24), list(lines), fontsize=12, fontname="tiro")
        document.save(path)
    return path


def read(path: Path, **settings: object) -> list[PageResult]:
    config = RunConfig(max_new_tokens=120, **settings)  # type: ignore[arg-type]
    refs = [page for page in find_pages([str(path)], config) if isinstance(page, PageRef)]
    return sorted(Reader(config).read(refs), key=lambda result: result.ref.number)


def words(text: str) -> str:
    return " ".join(text.replace("#", " ").replace("*", " ").split())


def error_rate(result: PageResult, lines: Sequence[str]) -> float:
    truth = " ".join(lines)
    return Levenshtein.distance(words(result.markdown), truth) / len(truth)


def test_a_born_digital_document_is_read(tmp_path: Path) -> None:
    pdf, out = small_pdf(tmp_path / "report.pdf", LINES), tmp_path / "out"
    summary = convert([str(pdf)], RunConfig(output=out, max_new_tokens=120))
    assert (summary.num_done, summary.failed, summary.bad_inputs) == (2, [], [])
    document = (out / "report.md").read_text(encoding="utf-8")
    assert document.index("<!-- page 1 -->") < document.index("<!-- page 2 -->")
    for number, lines in enumerate(LINES, 1):
        page = (out / f"report.pages/{number:04}.md").read_text(encoding="utf-8")
        truth = " ".join(lines)
        assert Levenshtein.distance(words(page), truth) / len(truth) < 0.25
        record = json.loads((out / f"report.pages/{number:04}.json").read_text(encoding="utf-8"))
        assert record["num_new_tokens"] > 10


def test_pixels_alone_are_read(tmp_path: Path) -> None:
    results = read(small_pdf(tmp_path / "scan.pdf", LINES), text_layer="ignore")
    assert min(error_rate(result, lines) for result, lines in zip(results, LINES, strict=True)) < 0.4


def test_ink_is_read_not_hidden_text(tmp_path: Path) -> None:
    """The layer claims other words under a white cover; the reading is that of the ink alone."""
    path = tmp_path / "lying.pdf"
    with pymupdf.open() as document:
        page = document.new_page(width=PAGE[0], height=PAGE[1])
        page.insert_text((12, 24), ["Zebras quietly photograph", "every purple volcano."], fontsize=12, fontname="tiro")
        page.draw_rect(page.rect, color=None, fill=(1, 1, 1))
        shown = pymupdf.open(small_pdf(tmp_path / "shown.pdf", LINES[:1]))
        page.insert_image(page.rect, pixmap=shown[0].get_pixmap(dpi=240))
        document.save(path)
    with_layer, without = read(path)[0], read(path, text_layer="ignore")[0]
    assert with_layer.markdown == without.markdown
    assert not {"Zebras", "purple", "volcano"} & set(words(with_layer.markdown).split())


def test_everything_kept_is_dense_and_batches_do_not_matter(tmp_path: Path) -> None:
    path = small_pdf(tmp_path / "report.pdf", [*LINES, LINES[0][:1]])
    dense = [result.raw for result in read(path, method="dense", batch_size=1)]
    for batch_size in (1, 3):
        kept = read(path, keep=1.0, batch_size=batch_size)
        assert [result.raw for result in kept] == dense
        assert all(result.visual_kv_read == 1 for result in kept)
    pruned = [[result.raw for result in read(path, batch_size=batch_size)] for batch_size in (1, 3)]
    assert pruned[0] == pruned[1]
