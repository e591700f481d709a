"""Figures as files beside the pages, linked from wherever the text lies."""

import json
from pathlib import Path

from fastocr_cli.config import RunConfig
from fastocr_cli.output import open_writer
from fastocr_cli.output.page_folder import PageFolder
from fastocr_cli.output.records import PageRecord
from fastocr_cli.pages.refs import Figure, PageRef, PageResult
from stubs import make_document, read_well

TEXT = "Before\n\n![A cat](figure:2)\n\nAfter\n\n![](figure:7)"


def result_of(ref: PageRef, *numbers: int) -> PageResult:
    return PageResult(ref, markdown=TEXT, figures=tuple(Figure(n, b"png %d" % n) for n in numbers))


def test_figures_are_files_and_links(tmp_path: Path) -> None:
    document = make_document(tmp_path / "in" / "a (1).pdf", 1)
    out = tmp_path / "out"
    with open_writer(RunConfig(output=out), ["x"]) as writer:
        writer.write(result_of(PageRef(document, 1), 2))
    pages = out / "a (1).pages"
    assert (pages / "figures" / "0001-2.png").read_bytes() == b"png 2"
    assert (pages / "0001.md").read_text() == "Before\n\n![A cat](figures/0001-2.png)\n\nAfter\n"
    record = json.loads((pages / "0001.json").read_text())
    assert record["figures"] == ["figures/0001-2.png"]
    assert record["markdown"] == (pages / "0001.md").read_text().strip()
    assert "![A cat](a%20%281%29.pages/figures/0001-2.png)" in (out / "a (1).md").read_text()


def test_json_documents_lead_to_figures_too(tmp_path: Path) -> None:
    document = make_document(tmp_path / "a.pdf", 1)
    with open_writer(RunConfig(output=tmp_path / "out", format="json"), ["x"]) as writer:
        writer.write(result_of(PageRef(document, 1), 2))
    page = json.loads((tmp_path / "out" / "a.json").read_text())["pages"][0]
    assert page["figures"] == ["a.pages/figures/0001-2.png"]
    assert "(a.pages/figures/0001-2.png)" in page["markdown"]


def test_a_page_without_its_figure_is_read_again(tmp_path: Path) -> None:
    ref = PageRef(make_document(tmp_path / "a.pdf", 1), 1)
    folder = PageFolder(tmp_path / "a.pages", ref.document, "settings")
    folder.save(result_of(ref, 2))
    assert folder.load(1) is not None
    (tmp_path / "a.pages" / "figures" / "0001-2.png").unlink()
    assert folder.load(1) is None


def test_figures_of_an_earlier_reading_go(tmp_path: Path) -> None:
    document = make_document(tmp_path / "a.pdf", 2)
    folder = PageFolder(tmp_path / "a.pages", document, "settings")
    folder.save(result_of(PageRef(document, 1), 2))
    folder.save(result_of(PageRef(document, 2), 2))
    folder.save(read_well(PageRef(document, 1)))
    assert sorted(p.name for p in (tmp_path / "a.pages" / "figures").iterdir()) == ["0002-2.png"]
    folder.save(PageResult(PageRef(document, 2), error="torn", finish_reason="error"))
    assert not list((tmp_path / "a.pages" / "figures").iterdir())


def test_standard_output_keeps_captions(tmp_path: Path) -> None:
    record = PageRecord.from_result(result_of(PageRef(make_document(tmp_path / "a.pdf", 1), 1), 2))
    assert record.markdown == "Before\n\nA cat\n\nAfter"
    assert record.data["figures"] == []
    assert "png" not in record.to_json()
