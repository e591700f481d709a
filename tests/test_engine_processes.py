"""Several processes: every page once whatever happens to a worker, and none that outlives its engine."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread

import psutil
import pytest
from PIL import Image

import stub_readers
from fastocr_cli.config import RunConfig
from fastocr_cli.engine import LocalEngine
from fastocr_cli.engine_processes import ProcessEngine, interrupts_held_back
from fastocr_cli.errors import ExitCode, FastOCRError, ModelError
from fastocr_cli.pages.refs import PageRef, PageResult
from stubs import make_document, refs_of

TWO = ("one", "two")


@pytest.fixture(autouse=True)
def no_orphans() -> Iterator[None]:
    """No test leaves a process behind; the one that multiprocessing keeps for itself does not count."""
    yield
    assert workers_of(os.getpid()) == []


def workers_of(pid: int) -> list[psutil.Process]:
    children = psutil.Process(pid).children(recursive=True)
    return [child for child in children if "spawn_main" in " ".join(child.cmdline())]


def open_stub(*devices: str) -> ProcessEngine:
    return ProcessEngine(RunConfig(), devices, stub_readers.StubReader)


def make_refs(folder: Path, num_pages: int, name: str = "good") -> list[PageRef]:
    return refs_of(make_document(folder / f"{name}.pdf", num_pages))


def numbers_of(results: list[PageResult]) -> list[int]:
    return sorted(result.ref.number for result in results)


def test_every_page_once_and_all_workers_used(tmp_path: Path) -> None:
    refs = make_refs(tmp_path, 200)
    with open_stub(*TWO) as engine:
        results = list(engine.read(refs))
    assert numbers_of(results) == list(range(1, 201))
    assert all(result.ref in refs and str(result.ref.number) in result.markdown for result in results)
    assert set(Counter(result.extra["device"] for result in results)) == set(TWO)


def test_the_results_are_those_of_the_local_engine(tmp_path: Path, make_pdf: Callable[..., Path]) -> None:
    import torch

    from tiny import TINY

    torch.set_num_threads(1)
    TINY["pocket"].build(tmp_path / "tiny")
    config = RunConfig(model=str(tmp_path / "tiny"), device="cpu", max_new_tokens=6, dpi=20, batch_size=2)
    make_pdf("document.pdf", ["one", "two", "", "four"], font_size=80)
    refs = [*make_refs(tmp_path, 4, "document"), *make_refs(tmp_path, 1, "no-pdf")]

    def read(engine: LocalEngine | ProcessEngine) -> dict[PageRef, PageResult]:
        with engine:
            return {result.ref: replace(result, prefill_s=0, decode_s=0) for result in engine.read(refs)}

    alone = read(LocalEngine(config))
    assert [alone[ref].finish_reason for ref in refs] == [*("length", "length", "blank", "length"), "error"]
    assert read(ProcessEngine(config, ("cpu", "cpu"))) == alone


def test_references_are_asked_for_as_they_are_needed(tmp_path: Path) -> None:
    num_asked = num_read = most = 0

    def asked() -> Iterator[PageRef]:
        nonlocal num_asked
        for ref in make_refs(tmp_path, 500):
            num_asked += 1
            yield ref

    with open_stub(*TWO) as engine:
        assert num_asked == 0
        for _ in engine.read(asked()):
            num_read += 1
            most = max(most, num_asked - num_read)
    assert num_read == 500
    assert most <= 2 * len(TWO)  # the page that is read and the one that waits


def test_a_killed_worker_costs_the_pages_it_held(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_stub(*TWO) as engine:
        results = list(engine.read(make_refs(tmp_path, 60, "kill")))
    assert numbers_of(results) == list(range(1, 61))
    failed = [result for result in results if result.error is not None]
    assert stub_readers.DEADLY in numbers_of(failed)
    assert len(failed) <= 2
    assert {result.finish_reason for result in failed} == {"error"}
    assert all("was ended by signal 9 (Killed)" in str(result.error) for result in failed)
    assert "Reading goes on without" in caplog.text


def test_an_error_in_a_worker_costs_the_pages_it_held(tmp_path: Path) -> None:
    with open_stub(*TWO) as engine:
        results = list(engine.read(make_refs(tmp_path, 60, "break")))
    assert numbers_of(results) == list(range(1, 61))
    errors = {result.error for result in results} - {None}
    assert len(errors) == 1
    assert "broke: RuntimeError: no memory of it" in str(errors)


@pytest.mark.parametrize("bad", ["missing", "broken", "gone"])
def test_one_worker_that_cannot_load_costs_nothing(tmp_path: Path, bad: str) -> None:
    with open_stub(bad, "one") as engine:
        results = list(engine.read(make_refs(tmp_path, 60)))
    assert numbers_of(results) == list(range(1, 61))
    assert {result.extra.get("device") for result in results} == {"one"}


@pytest.mark.parametrize(
    ("bad", "kind", "words"),
    [
        ("missing", ModelError, "fastocr models download stub"),
        ("broken", FastOCRError, "broken.* broke: RuntimeError: no kernel image"),
        ("gone", FastOCRError, "The process on gone.* was ended by signal 9"),
    ],
)
def test_when_none_can_load_the_run_ends_as_with_one(
    tmp_path: Path, bad: str, kind: type[FastOCRError], words: str
) -> None:
    with open_stub(f"{bad} 1", f"{bad} 2") as engine, pytest.raises(FastOCRError, match=words) as caught:
        list(engine.read(make_refs(tmp_path, 3)))
    assert type(caught.value) is kind


def test_when_the_last_worker_dies_its_pages_come_before_the_error(tmp_path: Path) -> None:
    results: list[PageResult] = []
    with open_stub("one") as engine:
        reading = engine.read(make_refs(tmp_path, 60, "kill"))
        with pytest.raises(FastOCRError, match="on one was ended by signal 9"):
            deque(map(results.append, reading))
    failed = [result for result in results if result.error is not None]
    assert numbers_of(results) == list(range(1, len(results) + 1))
    assert numbers_of(failed)[0] == stub_readers.DEADLY
    assert len(failed) <= 2  # the next page had been dealt, or not yet


def test_a_generator_that_is_left_ends_the_workers(tmp_path: Path) -> None:
    with open_stub(*TWO) as engine:
        reading = engine.read(make_refs(tmp_path, 100, "slow"))
        next(reading)
        started = time.perf_counter()
        reading.close()
        assert workers_of(os.getpid()) == []
        assert time.perf_counter() - started < 2


def test_a_failure_of_the_caller_ends_the_workers(tmp_path: Path) -> None:
    def asked() -> Iterator[PageRef]:
        yield from make_refs(tmp_path, 3)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError), open_stub(*TWO) as engine:
        list(engine.read(asked()))


def test_log_records_come_to_the_engine(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with open_stub("one") as engine:
        list(engine.read(make_refs(tmp_path, 2)))
    assert [record.getMessage() for record in caplog.records] == ["one is ready"]


def start(folder: Path, *arguments: str) -> "subprocess.Popen[bytes]":
    """The command with two stub readers, in a process group of its own as a terminal would start it."""
    command = [sys.executable, stub_readers.__file__, "convert", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True)


def make_pictures(path: Path, num_pages: int) -> None:
    page = Image.new("RGB", (60, 80), "white")
    page.save(path, save_all=True, append_images=[page] * (num_pages - 1))


def wait_until(ready: Callable[[], object]) -> None:
    until = time.monotonic() + 30
    while not ready():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
@pytest.mark.parametrize("after", ["nothing", "a page"])
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_ends_all_processes(tmp_path: Path, stop: signal.Signals, after: str) -> None:
    make_pictures(tmp_path / "slow.pdf", 200)
    with start(tmp_path, "slow.pdf", "-o", "out") as command:
        wait_until(lambda: len(workers_of(command.pid)) == 2)
        if after == "a page":
            wait_until(lambda: any(tmp_path.glob("out/slow.pages/*.md")))
        workers = workers_of(command.pid)
        started = time.monotonic()
        os.killpg(command.pid, stop)
        _, errors = command.communicate(timeout=20)
        assert time.monotonic() - started < 5
    assert command.returncode == ExitCode.INTERRUPTED
    assert psutil.wait_procs(workers, timeout=5)[1] == []
    assert b"Interrupted after" in errors
    assert b"Traceback" not in errors
    assert b"ended by signal" not in errors


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_waits_until_a_process_has_all_it_needs_to_start(stop: signal.Signals) -> None:
    """Whichever thread hears of it: the one that starts the process may be deaf, and is interrupted nevertheless."""
    before, begun, started = signal.signal(stop, signal.default_int_handler), Event(), []
    thread = Thread(target=lambda: begun.wait(20) and signal.raise_signal(stop))

    def start_one() -> None:
        with interrupts_held_back():
            begun.set()
            thread.join()
            started.append(True)

    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            start_one()
        assert started == [True]
        assert signal.getsignal(stop) is signal.default_int_handler
    finally:
        signal.signal(stop, before)


def test_elsewhere_than_in_the_main_thread_processes_start_as_well() -> None:
    found: list[bool] = []

    def start_one() -> None:
        with interrupts_held_back():
            found.append(True)

    thread = Thread(target=start_one)
    thread.start()
    thread.join()
    assert found == [True]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_workers_end_with_a_killed_engine(tmp_path: Path) -> None:
    make_pictures(tmp_path / "slow.pdf", 200)
    with start(tmp_path, "slow.pdf", "-o", "out") as command:
        wait_until(lambda: any(tmp_path.glob("out/slow.pages/*.md")))
        workers = workers_of(command.pid)
        assert len(workers) == 2
        command.kill()
        assert psutil.wait_procs(workers, timeout=5)[1] == []
        assert b"Traceback" not in command.communicate(timeout=20)[1]


def test_standard_input_and_output(tmp_path: Path) -> None:
    make_pictures(tmp_path / "a.pdf", 20)
    with start(tmp_path, "-", "--no-page-marks", "-q") as command:
        out, errors = command.communicate((tmp_path / "a.pdf").read_bytes(), timeout=60)
    assert (command.returncode, errors) == (ExitCode.DONE, b"")
    assert out.decode().split() == " ".join(f"Text of stdin, page {number}." for number in range(1, 21)).split()
