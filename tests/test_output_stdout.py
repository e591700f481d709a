"""Standard output: one document, in page order, as soon as it is in order."""

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ConfigError, OutputError
from fastocr_cli.output import stdout
from fastocr_cli.pages.refs import PageRef, PageResult
from fastocr_cli.pipeline import Interrupted, Summary, convert
from stubs import StubEngine, install, make_document, read_well


def run(
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    num_pages: int,
    *,
    batch: int = 1,
    reply: Any = read_well,
    **config: Any,
) -> Summary:
    install(monkeypatch, StubEngine(reply, batch=batch), [make_document(path, num_pages)])
    return convert([str(path)], RunConfig(**config))


@pytest.mark.parametrize("batch", [1, 4, 100])
def test_pages_come_in_order(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str], batch: int
) -> None:
    monkeypatch.setattr(stdout, "HELD_BYTES", 200)
    run(monkeypatch, tmp_path / "a.pdf", 10, batch=batch)
    shown = capfd.readouterr().out
    assert shown == "\n".join(f"<!-- page {n} -->\n\nText of a, page {n}.\n" for n in range(1, 11))


def test_a_page_is_shown_as_soon_as_its_turn_comes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    screen = io.StringIO()
    seen: list[int] = []

    def reply(ref: PageRef) -> PageResult:
        seen.append(screen.getvalue().count("Text of"))
        return read_well(ref)

    monkeypatch.setattr(sys, "stdout", screen)
    run(monkeypatch, tmp_path / "a.pdf", 6, batch=2, reply=reply)  # read 2 1 4 3 6 5
    assert seen == [0, 0, 2, 2, 4, 4]
    assert sys.stdout is screen


def test_other_formats(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run(monkeypatch, tmp_path / "a.pdf", 3, format="json", batch=3)
    assert [page["page"] for page in json.loads(capfd.readouterr().out)["pages"]] == [1, 2, 3]


def test_an_interrupt_leaves_whole_json(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def stop(ref: PageRef) -> PageResult:
        if ref.number == 4:
            raise KeyboardInterrupt
        return read_well(ref)

    with pytest.raises(Interrupted):  # read 3 2 1 6 5 4
        run(monkeypatch, tmp_path / "a.pdf", 9, format="json", batch=3, reply=stop)
    pages = json.loads(capfd.readouterr().out)["pages"]
    assert [page["error"] for page in pages] == [None, None, None, "not read yet", None, None]


def test_what_a_library_prints_goes_to_standard_error(tmp_path: Path) -> None:
    done = in_process(tmp_path, "import os\nprint('chat')\nos.write(1, b'C chat\\n')", "", 2)
    assert b"chat" not in done.stdout
    assert b"chat" in done.stderr
    assert b"C chat" in done.stderr


def in_process(tmp_path: Path, on_page: str, redirect: str, num_pages: int) -> "subprocess.CompletedProcess[bytes]":
    """A run in a process of its own, whose standard output a shell redirects."""
    script = tmp_path / "run.py"
    lines = "\n".join(f"    {line}" for line in (on_page or "pass").splitlines())
    script.write_text(
        "import sys\nfrom pathlib import Path\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from stubs import *\nfrom fastocr_cli import pipeline\nfrom fastocr_cli.errors import FastOCRError\n"
        f"def reply(ref):\n{lines}\n    return PageResult(ref, markdown='✓ 中 − ﬃ ' * 500)\n"
        "pipeline.open_engine = StubEngine(reply)\n"
        f"pipeline.find_pages = find_stub([make_document(Path({str(tmp_path / 'a.pdf')!r}), {num_pages})])\n"
        "try:\n    summary = pipeline.convert(['a.pdf'], RunConfig())\n"
        "except FastOCRError as error:\n    sys.exit(str(error))\n"
        "print('closed' if summary.output_closed else 'done', summary.num_done, file=sys.stderr)\n"
    )
    command = f'PYTHONIOENCODING=cp1252 "{sys.executable}" "{script}" {redirect}'
    return subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=False)


needs_shell = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")


@needs_shell
def test_utf8_whatever_the_locale(tmp_path: Path) -> None:
    done = in_process(tmp_path, "", "", 1)
    assert "✓ 中 − ﬃ" in done.stdout.decode("utf-8")
    assert done.stderr == b"done 1\n"


@needs_shell
def test_head_ends_the_run_quietly(tmp_path: Path) -> None:
    done = in_process(tmp_path, "", "| head -1", 2000)
    assert done.stdout == b"<!-- page 1 -->\n"
    word, num_done = done.stderr.decode().split()
    assert word == "closed"
    assert int(num_done) < 2000


@needs_shell
@pytest.mark.parametrize(("redirect", "message"), [(">&-", b"output is closed"), (">/dev/full", b"No space left")])
def test_standard_output_that_takes_nothing(tmp_path: Path, redirect: str, message: bytes) -> None:
    done = in_process(tmp_path, "", redirect, 2)
    assert done.returncode == 1
    assert message in done.stderr
    assert b"Traceback" not in done.stderr


def test_closed_standard_output_is_told_before_a_model_is_loaded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    engine = StubEngine()
    install(monkeypatch, engine, [make_document(tmp_path / "a.pdf", 1)])
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(OutputError, match="closed"):
        convert(["a.pdf"], RunConfig())
    assert engine.num_opened == 0


def test_only_one_document(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for inputs in (["a.pdf", "b.pdf"], [str(tmp_path)], ["*.pdf"]):
        with pytest.raises(ConfigError, match="-o"):
            convert(inputs, RunConfig())
    with pytest.raises(ConfigError, match="--shard"):
        convert(["a.pdf"], RunConfig(shard=(1, 2)))
    documents = [make_document(tmp_path / name, 1) for name in ("a.pdf", "b.pdf")]
    install(monkeypatch, StubEngine(batch=2), documents)
    with pytest.raises(ConfigError, match="several"):
        convert(["a.pdf"], RunConfig())
