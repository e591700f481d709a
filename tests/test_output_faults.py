"""Kills at every step, full disks, several runs in one folder, documents of any length: nothing lost, nothing twice."""

import errno
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import OutputError
from fastocr_cli.pages.refs import PageRef, PageResult
from fastocr_cli.pipeline import convert
from stubs import StubEngine, find_stub, install, make_document

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs fork and SIGKILL")

PROGRAM = f"""
import os, sys, time
from pathlib import Path
sys.path.insert(0, {str(Path(__file__).parent)!r})
from stubs import *
from fastocr_cli import pipeline
from fastocr_cli.config import RunConfig

folder, shard, pause_s = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
log = os.open(folder / "read.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def reply(ref):
    time.sleep(pause_s)
    os.write(log, f"{{ref.document.name}}:{{ref.number}}\\n".encode())
    return read_well(ref)

pipeline.open_engine = StubEngine(reply, batch=2)
pipeline.find_pages = find_stub([make_document(folder / f"{{name}}.pdf", 15) for name in "ab"])
numbers = tuple(map(int, shard.split("/"))) if shard else None
summary = pipeline.convert(["in"], RunConfig(output=folder / "out", shard=numbers))
sys.exit(summary.exit_code("page"))
"""


def start(folder: Path, *, shard: str = "", pause_s: float = 0.0) -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", PROGRAM, str(folder), shard, str(pause_s)])


def finished(out: Path) -> set[str]:
    """Pages that are finished on disk; every page file is whole."""
    found = set()
    for path in out.glob("*.pages/[0-9]*.json"):
        page = json.loads(path.read_text("utf-8"))
        if page["error"] is None:
            found.add(f"{path.parent.name.removesuffix('.pages')}:{page['page']}")
    return found


def check_complete(out: Path, name: str, num_pages: int) -> None:
    """Every page once, in order, whole; no stray file."""
    expected = "\n".join(f"<!-- page {n} -->\n\nText of {name}, page {n}.\n" for n in range(1, num_pages + 1))
    assert (out / f"{name}.md").read_text("utf-8") == expected
    assert len(list(out.glob(f"{name}.pages/[0-9]*.md"))) == num_pages
    assert not list(out.rglob("*.tmp"))


def die_at(step: int) -> None:
    """From now on, the given call that changes the disk (counted from 1) is the last thing this process does."""
    steps = iter(range(1, step))

    def deadly(call: Any) -> Any:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            if next(steps, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return wrapped

    for name in ("fsync", "replace", "unlink", "mkdir"):
        setattr(os, name, deadly(getattr(os, name)))


@pytest.mark.parametrize("before", ["fresh", "failures", "changed source"])
def test_killed_at_every_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, before: str) -> None:
    """A run that dies at its n-th change of the disk, for every n, and the run after it."""
    fork = multiprocessing.get_context("fork")
    for step in range(1, 200):
        folder = tmp_path / str(step)
        document = make_document(folder / "a.pdf", 3)
        config = RunConfig(output=folder / "out")
        if before != "fresh":
            engine = StubEngine(lambda ref: PageResult(ref, markdown="old", error="bad" if ref.number == 2 else None))
            install(monkeypatch, engine, [document])
            convert(["in"], config)
        if before == "changed source":
            document.path.write_text("another revision of it")

        install(monkeypatch, StubEngine(), [document])
        child = fork.Process(target=lambda: (die_at(step), convert(["in"], config)))  # noqa: B023 - run at once
        child.start()
        child.join()
        done = finished(folder / "out")
        engine = StubEngine()
        install(monkeypatch, engine, [document])
        convert(["in"], config)
        if before != "failures":  # there, pages 1 and 3 keep their old text
            check_complete(folder / "out", "a", 3)
        else:
            text = (folder / "out/a.md").read_text("utf-8")
            assert (text.count("old"), text.count("Text of a, page 2.")) == (2, 1)
            assert not list((folder / "out").rglob("*.tmp"))
        if before == "fresh":
            assert not done & set(engine.read_pages)
        if child.exitcode == 0:
            break
        assert child.exitcode == -signal.SIGKILL
    assert 10 < step < 199


def test_killed_at_random_moments_until_it_is_done(tmp_path: Path) -> None:
    chance = random.Random(3)
    log = tmp_path / "read.log"
    num_kills = 0
    for _ in range(20):
        before, offset = finished(tmp_path / "out"), log.stat().st_size if log.exists() else 0
        process = start(tmp_path, pause_s=0.02)
        last_words = len(before) + chance.randrange(1, 12)
        deadline = time.monotonic() + 30
        while process.poll() is None and time.monotonic() < deadline:
            if len(list((tmp_path / "out").glob("*.pages/[0-9]*.json"))) >= last_words:
                time.sleep(chance.random() * 0.02)
                process.kill()
            time.sleep(0.002)
        process.wait()
        read = log.read_bytes()[offset:].decode().split()
        assert not before & set(read)
        assert len(read) == len(set(read))
        num_kills += process.returncode == -signal.SIGKILL
        if process.returncode == 0:
            break
    assert process.returncode == 0
    assert num_kills >= 2
    check_complete(tmp_path / "out", "a", 15)
    check_complete(tmp_path / "out", "b", 15)


@pytest.mark.parametrize("shards", [["", ""], ["1/3", "2/3", "3/3"]])
def test_runs_at_the_same_time(tmp_path: Path, shards: list[str]) -> None:
    processes = [start(tmp_path, shard=shard, pause_s=0.002) for shard in shards]
    assert [process.wait(60) for process in processes] == [0] * len(shards)
    check_complete(tmp_path / "out", "a", 15)
    check_complete(tmp_path / "out", "b", 15)
    assert not finished(tmp_path / "out") ^ {f"{name}:{n}" for name in "ab" for n in range(1, 16)}


@pytest.mark.parametrize("num_writes", range(0, 9))
def test_a_disk_that_fills_up_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_writes: int) -> None:
    document, config = make_document(tmp_path / "a.pdf", 3), RunConfig(output=tmp_path / "out")
    room = iter(range(num_writes))
    fsync = os.fsync

    def full(number: int) -> None:
        if next(room, None) is None:
            raise OSError(errno.ENOSPC, "No space left on device")
        fsync(number)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        install(patch, StubEngine(), [document])
        if num_writes < 8:
            with pytest.raises(OutputError, match=r"Cannot write .*out.*: No space left.*Make room"):
                convert(["in"], config)
        assert not list((tmp_path / "out").rglob("*.tmp"))
    install(monkeypatch, StubEngine(), [document])
    convert(["in"], config)
    check_complete(tmp_path / "out", "a", 3)


def test_a_page_read_while_the_document_is_assembled_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process repairs page 1 just after we have copied its failure into the document."""
    document, config = make_document(tmp_path / "a.pdf", 2), RunConfig(output=tmp_path / "out")

    def fail(ref: PageRef) -> PageResult:
        return PageResult(ref, error="bad")

    replace, others = os.replace, iter([True])

    def slow_replace(source: Any, target: Any) -> None:
        if str(target).endswith("a.md") and next(others, False):
            other = convert_elsewhere(config, document)
            assert other == 0
        replace(source, target)

    install(monkeypatch, StubEngine(fail), [document])
    monkeypatch.setattr(os, "replace", slow_replace)
    convert(["in"], config)
    assert (tmp_path / "out/a.md").read_text().count("Text of a") == 2


def convert_elsewhere(config: RunConfig, document: Any) -> int | None:
    def work() -> None:
        from fastocr_cli import pipeline

        pipeline.open_engine = StubEngine()  # type: ignore[assignment]
        pipeline.find_pages = find_stub([document])
        convert(["in"], config)

    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    child.join()
    return child.exitcode


def test_memory_does_not_grow_with_the_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 pages of 20 kB: as text alone they would be 60 MB."""
    monkeypatch.setattr(os, "fsync", lambda number: None)  # not what is measured
    page = "word " * 4000

    def reply(ref: PageRef) -> PageResult:
        return PageResult(ref, markdown=f"{ref.number} {page}", raw=f"{ref.number}{page}")

    def peak_of(num_pages: int) -> int:
        install(monkeypatch, StubEngine(reply, batch=8), [make_document(tmp_path / f"{num_pages}.pdf", num_pages)])
        tracemalloc.start()
        assert convert(["in"], RunConfig(output=tmp_path / "out")).num_done == num_pages
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    peak_of(10)  # imports and caches
    short, long = peak_of(100), peak_of(3000)
    assert long - short < 10_000_000  # a digest for each page, and tables of Python's own
    assert (tmp_path / "out/3000.md").stat().st_size > 60_000_000
