"""A folder of results: what lies where, what a second run takes from it, and what it refuses."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ConfigError, OutputError
from fastocr_cli.pages.refs import Document, PageRef, PageResult
from fastocr_cli.pipeline import Summary, convert
from stubs import StubEngine, Watcher, fail_on, install, make_document, read_well

Run = Callable[..., tuple[Summary, list[str]]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`run(document, reply=..., keep=...)` converts into out/; gives the summary and the pages that were read."""

    def go(*documents: Document, reply: Any = read_well, batch: int = 3, **settings: Any) -> tuple[Summary, list[str]]:
        engine = StubEngine(reply, batch=batch)
        install(monkeypatch, engine, documents)
        settings.setdefault("output", tmp_path / "out")
        summary = convert([str(documents[0].path)], RunConfig(**settings), Watcher())
        return summary, engine.read_pages

    return go


@pytest.fixture
def document(tmp_path: Path) -> Document:
    return make_document(tmp_path / "in" / "q1.pdf", 5, name="reports/q1")


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def page_json(folder: Path, number: int, name: str = "reports/q1") -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / f"{name}.pages" / f"{number:04}.json").read_text("utf-8"))
    return value


def test_what_lies_where(run: Run, document: Document, tmp_path: Path) -> None:
    summary, pages = run(document)
    assert (summary.num_done, len(pages)) == (5, 5)
    out = tmp_path / "out"
    numbers = [f"reports/q1.pages/000{n}.{ending}" for n in range(1, 6) for ending in ("json", "md")]
    bookkeeping = [".fastocr.json", "reports/q1.pages/document.json", "reports/q1.pages/written.jsonl"]
    assert tree(out) == sorted(["reports/q1.md", *numbers, *bookkeeping])
    text = (out / "reports/q1.md").read_text("utf-8")
    assert text.startswith("<!-- page 1 -->\n\nText of reports/q1, page 1.\n\n<!-- page 2 -->\n")
    assert text.count("<!-- page") == 5
    assert (out / "reports/q1.pages/0003.md").read_text() == "Text of reports/q1, page 3.\n"
    page = page_json(out, 3)
    assert (page["page"], page["finish_reason"], page["error"], page["num_new_tokens"]) == (3, "stop", None, 7)
    assert page["source"]["size"] == document.path.stat().st_size


def test_a_second_run_reads_nothing_and_touches_nothing(run: Run, document: Document, tmp_path: Path) -> None:
    run(document)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    summary, pages = run(document, overwrite=False)
    assert (summary.num_skipped, pages) == (5, [])
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before


def test_failures_are_marked_listed_and_retried(run: Run, document: Document, tmp_path: Path) -> None:
    summary, _ = run(document, reply=fail_on(2, 4))
    out = tmp_path / "out"
    assert [failed.ref.number for failed in summary.failed] in ([2, 4], [4, 2])
    assert "<!-- page 2 failed: page 2 would not draw -->" in (out / "reports/q1.md").read_text()
    assert page_json(out, 2)["error"] == "page 2 would not draw"
    assert not (out / "reports/q1.pages/0002.md").exists()
    listed = [json.loads(line) for line in (out / "failed.jsonl").read_text().splitlines()]
    assert sorted(line["page"] for line in listed) == [2, 4]
    assert listed[0]["source"] == str(document.path)

    summary, pages = run(document, reply=fail_on(4))
    assert sorted(pages) == ["reports/q1:2", "reports/q1:4"]
    assert (summary.num_done, summary.num_skipped, len(summary.failed)) == (1, 3, 1)
    text = (out / "reports/q1.md").read_text()
    assert "Text of reports/q1, page 2." in text
    assert "<!-- page 4 failed" in text

    run(document)
    assert "failed" not in (out / "reports/q1.md").read_text()
    assert not (out / "failed.jsonl").exists()


def test_a_cut_page_is_finished_and_marked(run: Run, document: Document, tmp_path: Path) -> None:
    def reply(ref: PageRef) -> PageResult:
        return PageResult(ref, markdown="half", finish_reason="length" if ref.number == 2 else "stop")

    summary, _ = run(document, reply=reply)
    assert summary.num_cut == 1
    assert (
        "half\n\n<!-- page 2 cut: the reply reached the token limit -->\n"
        in (tmp_path / "out/reports/q1.md").read_text()
    )
    summary, pages = run(document, reply=reply)
    assert (pages, summary.num_cut, summary.num_skipped) == ([], 1, 5)


def test_other_settings_are_refused_by_name(run: Run, document: Document) -> None:
    run(document, keep=0.05)
    with pytest.raises(ConfigError, match=r"keep was 0.05, is now 0.1.*--overwrite"):
        run(document, keep=0.1)
    _, pages = run(document, keep=0.1, overwrite=True)
    assert len(pages) == 5
    assert run(document, keep=0.1)[1] == []


def test_settings_beside_the_text_may_change(run: Run, document: Document, tmp_path: Path) -> None:
    run(document)
    _, pages = run(document, batch_size=7, page_marks=False, fail_on="never")
    assert pages == []
    assert (tmp_path / "out/reports/q1.md").read_text().startswith("Text of reports/q1, page 1.\n\nText")
    run(document, format="json")
    assert json.loads((tmp_path / "out/reports/q1.json").read_text())["document"]["num_pages"] == 5


def test_a_run_that_failed_for_its_settings_does_not_stand_in_the_way(run: Run, document: Document) -> None:
    run(document, reply=fail_on(1, 2, 3, 4, 5), prompt="wrong")
    summary, _ = run(document, prompt="right")
    assert summary.num_done == 5


def test_pages_of_a_killed_overwrite_are_not_mixed(run: Run, document: Document) -> None:
    def stop(ref: PageRef) -> PageResult:
        if ref.number == 3:
            raise RuntimeError("killed")
        return read_well(ref)

    run(document, keep=0.5)
    with pytest.raises(RuntimeError):
        run(document, reply=stop, batch=1, keep=0.1, overwrite=True)
    assert run(document, keep=0.1)[1] == ["reports/q1:5", "reports/q1:4", "reports/q1:3"]


def test_a_changed_source_is_read_again(run: Run, document: Document, tmp_path: Path) -> None:
    run(document)
    document.path.write_text("another revision, three pages")
    shorter = make_document(document.path, 3, name="reports/q1")
    assert len(run(shorter)[1]) == 3
    assert (tmp_path / "out/reports/q1.md").read_text().count("<!-- page") == 3
    assert not (tmp_path / "out/reports/q1.pages/0004.json").exists()


def test_a_source_that_moved_is_known(run: Run, document: Document, tmp_path: Path) -> None:
    run(document)
    moved = tmp_path / "elsewhere.pdf"
    os.rename(document.path, moved)
    assert run(make_document(moved, 5, name="reports/q1"))[1] == []


def test_another_document_of_the_same_name_is_refused(run: Run, document: Document, tmp_path: Path) -> None:
    run(document)
    other = make_document(tmp_path / "other" / "q1.pdf", 15, name="reports/q1")
    summary, pages = run(other)
    assert pages == []
    assert str(document.path) in summary.bad_inputs[0].error.message
    assert summary.exit_code("page") == OutputError.exit_code
    assert len(run(other, overwrite=True)[1]) == 15


def test_a_piped_source_is_known_by_its_content(run: Run, tmp_path: Path) -> None:
    def piped(copy: str, text: str) -> Document:
        (tmp_path / copy).write_text(text)
        return Document(tmp_path / copy, "stdin", 2, (range(1, 3),), source="-")

    assert len(run(piped("copy1", "one"))[1]) == 2
    assert run(piped("copy2", "one"))[1] == []
    summary, pages = run(piped("copy3", "two"))
    assert (pages, len(summary.bad_inputs)) == ([], 1)


def test_more_pages_chosen_later(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    run(make_document(path, 9, selected=[range(1, 3)]))
    assert run(make_document(path, 9, selected=[range(2, 4), range(9, 10)]))[1] == ["a:9", "a:3"]
    marks = [line for line in (tmp_path / "out/a.md").read_text().splitlines() if line.startswith("<!--")]
    assert marks == ["<!-- page 2 -->", "<!-- page 3 -->", "<!-- page 9 -->"]


def test_a_file_that_is_not_ours_stays(run: Run, document: Document, tmp_path: Path) -> None:
    notes = tmp_path / "out/reports/q1.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("my notes")
    good = make_document(tmp_path / "good.pdf", 2)
    summary, _ = run(document, good)
    assert (summary.num_done, len(summary.bad_inputs)) == (2, 1)
    assert notes.read_text() == "my notes"
    assert "was not written by fastocr" in str(summary.bad_inputs[0].error)
    assert json.loads((tmp_path / "out/failed.jsonl").read_text())["page"] is None
    run(document, overwrite=True)
    assert "page 5" in notes.read_text()


def test_a_corrected_copy_stays_while_nothing_changes(run: Run, document: Document, tmp_path: Path) -> None:
    run(document, reply=fail_on(3))
    path = tmp_path / "out/reports/q1.md"
    path.write_text("corrected by hand")
    summary, pages = run(document)
    assert (pages, len(summary.bad_inputs), path.read_text()) == ([], 1, "corrected by hand")
    path.unlink()
    run(document)
    path.write_text("corrected by hand")
    summary, _ = run(document)
    assert (summary.num_skipped, summary.bad_inputs, path.read_text()) == (5, [], "corrected by hand")


def test_a_lost_document_file_is_assembled_again(run: Run, document: Document, tmp_path: Path) -> None:
    run(document)
    (tmp_path / "out/reports/q1.md").unlink()
    assert run(document)[1] == []
    assert (tmp_path / "out/reports/q1.md").read_text().count("Text of") == 5


@pytest.mark.parametrize("damage", ["{", "[]", "", '{"markdown": 1}'])
def test_a_damaged_page_is_read_again(run: Run, document: Document, tmp_path: Path, damage: str) -> None:
    run(document)
    (tmp_path / "out/reports/q1.pages/0002.json").write_text(damage)
    (tmp_path / "out/reports/q1.pages/0004.md").unlink()
    assert sorted(run(document)[1]) == ["reports/q1:2", "reports/q1:4"]


@pytest.mark.parametrize("name", ["../evil", "/tmp/evil"])
def test_nothing_is_written_outside(run: Run, tmp_path: Path, name: str) -> None:
    summary, pages = run(make_document(tmp_path / "a.pdf", 1, name=name))
    assert (pages, len(summary.bad_inputs)) == ([], 1)


def test_a_name_too_long_costs_one_document(run: Run, tmp_path: Path) -> None:
    summary, pages = run(make_document(tmp_path / "a.pdf", 2, name="n" * 254), make_document(tmp_path / "b.pdf", 1))
    assert (pages, len(summary.bad_inputs)) == (["b:1"], 1)


def test_one_named_file(run: Run, document: Document, tmp_path: Path) -> None:
    run(document, output=tmp_path / "report.html")
    assert "<p>Text of reports/q1, page 5.</p>" in (tmp_path / "report.html").read_text()
    assert run(document, output=tmp_path / "report.md")[1] == []  # the pages beside it serve every format
    assert (tmp_path / "report.md").read_text().count("Text of") == 5
    assert (tmp_path / "report.pages/0001.md").exists()


def test_one_named_file_takes_one_document(run: Run, document: Document, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="folder"):
        run(document, make_document(tmp_path / "b.pdf", 1), output=tmp_path / "one.md")
    with pytest.raises(ConfigError, match="2 inputs"):
        convert(["a.pdf", "b.pdf"], RunConfig(output=tmp_path / "one.md"))
    with pytest.raises(ConfigError, match="does not end like"):
        convert(["a.pdf"], RunConfig(output=tmp_path / "one.html", format="json"))


def test_a_folder_called_like_a_file(run: Run, document: Document, tmp_path: Path) -> None:
    (tmp_path / "notes.md").mkdir()
    run(document, output=tmp_path / "notes.md")
    assert (tmp_path / "notes.md/reports/q1.md").exists()


def test_one_named_file_that_is_not_ours(run: Run, document: Document, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("my notes")
    summary, pages = run(document, output=tmp_path / "one.md")
    assert (pages, (tmp_path / "one.md").read_text()) == ([], "my notes")
    assert summary.exit_code("page") == OutputError.exit_code


def test_shards_make_one_document(run: Run, document: Document, tmp_path: Path) -> None:
    path = tmp_path / "out/reports/q1.md"
    run(document, shard=(1, 3))
    run(document, shard=(3, 3))
    assert not path.exists()
    run(document, shard=(2, 3), reply=fail_on(2))
    assert path.read_text().count("Text of") == 4
    assert (tmp_path / "out/failed-2-of-3.jsonl").exists()
    run(document, shard=(2, 3))
    assert path.read_text().count("Text of") == 5
    assert run(document)[1] == []


def test_a_page_that_came_back_is_put_into_the_document(run: Run, document: Document, tmp_path: Path) -> None:
    """What was assembled counts, not what should have been: another run may have been rewriting page 5."""

    def stop(ref: PageRef) -> PageResult:
        raise KeyboardInterrupt

    run(document)
    page, away = tmp_path / "out/reports/q1.pages/0005.json", tmp_path / "away.json"
    page.rename(away)
    with pytest.raises(KeyboardInterrupt):
        run(document, reply=stop)
    assert "<!-- page 5 not read yet -->" in (tmp_path / "out/reports/q1.md").read_text()
    away.rename(page)
    assert run(document)[1] == []
    assert (tmp_path / "out/reports/q1.md").read_text().count("Text of") == 5


def test_a_faster_run_is_believed(run: Run, document: Document, tmp_path: Path) -> None:
    """Two runs read the same page; what is finished stays, even if the second failed at it."""

    def late(ref: PageRef) -> PageResult:
        if ref.number == 3:
            run(document)
        return PageResult(ref, error="out of memory")

    run(document, reply=late, batch=1)
    assert (tmp_path / "out/reports/q1.md").read_text().count("Text of") == 5
