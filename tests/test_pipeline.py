"""convert(): what is read, in which order, what is counted, and how a run ends."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fastocr_cli.config import CHOICES, RunConfig
from fastocr_cli.errors import ExitCode, InputError, ModelError
from fastocr_cli.pages.refs import BadInput, Document, PageRef, PageResult
from fastocr_cli.pipeline import Interrupted, Summary, convert
from stubs import Reply, StubEngine, Watcher, fail_on, install, make_document, read_well

BAD = BadInput("bad.pdf", InputError("bad.pdf is damaged."))


@pytest.fixture
def config(tmp_path: Path) -> RunConfig:
    return RunConfig(output=tmp_path / "out")


@pytest.fixture
def two(tmp_path: Path) -> list[Document]:
    return [make_document(tmp_path / "a.pdf", 3), make_document(tmp_path / "b.pdf", 4)]


def test_every_page_once_and_in_the_right_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: RunConfig, two: list[Document]
) -> None:
    engine, watcher = StubEngine(batch=5), Watcher()
    install(monkeypatch, engine, [two[0], BAD, two[1]])
    summary = convert(["in"], config, watcher)
    assert (summary.num_done, summary.num_new_tokens, len(summary.bad_inputs)) == (7, 49, 1)
    assert watcher.seen.count("bad bad.pdf") == 1
    for name, num_pages in (("a", 3), ("b", 4)):
        text = (tmp_path / f"out/{name}.md").read_text()
        assert [f"Text of {name}, page {n}." in text for n in range(1, 6)] == [n <= num_pages for n in range(1, 6)]


def test_one_path_is_one_input(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("fastocr_cli.pipeline.find_pages", lambda inputs, config: seen.append(inputs) or iter(()))
    for inputs in ("a.pdf", Path("a.pdf"), ["a.pdf"], (Path("a.pdf"),)):
        convert(inputs, RunConfig(output=str(tmp_path / "out")))  # type: ignore[arg-type]  # text is a path too
    assert seen == [["a.pdf"]] * 4


def test_nothing_left_to_read_loads_no_model(
    monkeypatch: pytest.MonkeyPatch, config: RunConfig, two: list[Document]
) -> None:
    install(monkeypatch, StubEngine(), two)
    convert(["in"], config)
    engine, watcher = StubEngine(), Watcher()
    install(monkeypatch, engine, two)
    summary = convert(["in"], config, watcher)
    assert (engine.num_opened, summary.num_skipped) == (0, 7)
    assert watcher.seen == ["skip 1", "skip 2", "skip 3", "skip 1", "skip 2", "skip 3", "skip 4"]


class Careless(StubEngine):
    """Loses page 2 and gives page 3 twice."""

    def read(self, refs: Any) -> Iterator[PageResult]:
        for ref in refs:
            if ref.number != 2:
                yield self.reply(ref)
            if ref.number == 3:
                yield self.reply(ref)


def test_a_page_that_never_came_back_has_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: RunConfig, two: list[Document]
) -> None:
    install(monkeypatch, Careless(), two[:1])
    summary = convert(["in"], config)
    assert (summary.num_done, [failed.ref.number for failed in summary.failed]) == (2, [2])
    assert "<!-- page 2 failed: no result came back" in (tmp_path / "out/a.md").read_text()


def test_a_missing_model_leaves_no_trace_of_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, two: list[Document]
) -> None:
    class Missing(StubEngine):
        def __enter__(self) -> Any:
            raise ModelError("no weights")

    install(monkeypatch, Missing(), two)
    with pytest.raises(ModelError):
        convert(["in"], RunConfig(model="mistyped", output=tmp_path / "out"))
    install(monkeypatch, StubEngine(), two)
    assert convert(["in"], RunConfig(output=tmp_path / "out")).num_done == 7


def test_an_interrupt_keeps_what_is_done_and_counts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: RunConfig, two: list[Document]
) -> None:
    def stop(ref: PageRef) -> PageResult:
        if (ref.document.name, ref.number) == ("b", 3):
            raise KeyboardInterrupt
        return read_well(ref)

    install(monkeypatch, StubEngine(stop), two)
    with pytest.raises(Interrupted) as caught:
        convert(["in"], config)
    assert caught.value.summary.num_done == 5
    assert caught.value.summary.wall_s > 0
    text = (tmp_path / "out/b.md").read_text()
    assert "Text of b, page 2." in text
    assert text.endswith("<!-- page 3 not read yet -->\n\n<!-- page 4 not read yet -->\n")
    engine = StubEngine()
    install(monkeypatch, engine, two)
    assert convert(["in"], config).num_done == 2
    assert engine.read_pages == ["b:3", "b:4"]
    assert (tmp_path / "out/b.md").read_text().count("Text of b") == 4


def test_a_crash_keeps_what_is_done(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: RunConfig, two: list[Document]
) -> None:
    def crash(ref: PageRef) -> PageResult:
        if ref.number == 2:
            raise RuntimeError("boom")
        return read_well(ref)

    install(monkeypatch, StubEngine(crash), two)
    with pytest.raises(RuntimeError, match="boom"):
        convert(["in"], config)
    assert "<!-- page 2 not read yet -->" in (tmp_path / "out/a.md").read_text()


def reply_for(words: str) -> Reply:
    """What page n does is word n of `words`: ok, cut or bad."""

    def reply(ref: PageRef) -> PageResult:
        word = words.split()[ref.number - 1]
        if word == "bad":
            return PageResult(ref, error="bad", finish_reason="error")
        return PageResult(ref, markdown="x", finish_reason="loop" if word == "cut" else "stop")

    return reply


@pytest.mark.parametrize(
    ("found", "cut", "page", "document"),
    [  # documents as words for their pages; BAD for an input that cannot be read
        (["ok ok"], 0, 0, 0),
        (["ok cut"], 4, 0, 0),
        (["ok bad"], 4, 4, 0),
        (["ok", "bad bad"], 4, 4, 4),
        (["ok", "bad cut"], 4, 4, 0),
        (["ok", BAD], 4, 4, 4),
        (["bad", "bad bad"], 5, 5, 5),
        ([BAD, BAD], 5, 5, 5),
        (["bad", BAD], 5, 5, 5),
        ([BAD], 6, 6, 6),
        ([], 0, 0, 0),
    ],
)
def test_exit_codes(tmp_path: Path, found: list[str | BadInput], cut: int, page: int, document: int) -> None:
    summary = Summary()
    for index, item in enumerate(found):
        if isinstance(item, BadInput):
            summary.bad_inputs.append(item)
            continue
        made = make_document(tmp_path / f"{index}.pdf", len(item.split()))
        for number in made.page_numbers():
            summary.add(reply_for(item)(PageRef(made, number)))
    codes = {name: summary.exit_code(name) for name in CHOICES["fail_on"]}
    assert codes == {"cut": cut, "page": page, "document": document, "never": ExitCode.DONE}


def test_a_second_run_ends_with_the_same_code(
    monkeypatch: pytest.MonkeyPatch, config: RunConfig, two: list[Document]
) -> None:
    for _ in range(2):
        install(monkeypatch, StubEngine(reply_for("ok cut ok ok")), two)
        summary = convert(["in"], config)
        assert (summary.exit_code("cut"), summary.exit_code("page")) == (ExitCode.SOME_FAILED, ExitCode.DONE)


def test_the_share_read_is_weighted_by_tokens(tmp_path: Path) -> None:
    document, summary = make_document(tmp_path / "a.pdf", 3), Summary()
    summary.add(PageResult(PageRef(document, 1), num_new_tokens=10, visual_kv_read=1.0))
    summary.add(PageResult(PageRef(document, 2), num_new_tokens=30, visual_kv_read=0.2))
    summary.add(PageResult(PageRef(document, 3), num_new_tokens=50))  # its method tells nothing
    assert summary.visual_kv_read == pytest.approx((10 + 0.2 * 30) / 40)
    assert summary.num_new_tokens == 90


def test_failures_carry_no_bulk(tmp_path: Path) -> None:
    summary = Summary()
    ref = PageRef(make_document(tmp_path / "a.pdf", 1), 1)
    summary.add(PageResult(ref, error="bad", raw="x" * 10_000))
    assert summary.failed[0].raw == ""


def test_a_document_that_cannot_be_written_ends_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, config: RunConfig, two: list[Document]
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out/a.pages").write_text("a file in the way")
    watcher = Watcher()
    install(monkeypatch, StubEngine(fail_on(1)), two)
    summary = convert(["in"], config, watcher)
    assert (summary.num_done, len(summary.failed), len(summary.bad_inputs)) == (3, 1, 1)
    assert watcher.seen.count(f"bad {tmp_path / 'a.pdf'}") == 1
