"""Calls in a process of their own: answers, exceptions, crashes, calls without end."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from fastocr_cli.errors import PageError
from fastocr_cli.pages.apart import Apart, EndedError


@pytest.fixture
def apart() -> Iterator[Apart]:
    made = Apart(limit_s=60)
    yield made
    made.close()


class UntoldError(Exception):
    """One that does not travel."""

    def __init__(self, one: str, two: str) -> None:
        super().__init__(one + two)
        self.handle = sys.stdout


def fail(kind: str) -> None:
    if kind == "ours":
        raise PageError("No page.", "Give one.")
    raise UntoldError("a", "b") if kind == "untold" else ValueError("no")


def chatter() -> str:
    print("to stdout")
    os.write(1, b"to the descriptor")
    return "said"


def test_a_call_is_answered_elsewhere(apart: Apart) -> None:
    there = apart.call(os.getpid)
    assert there != os.getpid()
    assert apart.call(os.getpid) == there
    assert apart.call(divmod, 7, 3) == (2, 1)
    assert apart.call(chatter) == "said"


@pytest.mark.parametrize(("kind", "error"), [("ours", PageError), ("untold", RuntimeError), ("other", ValueError)])
def test_what_is_raised_there_is_raised_here(apart: Apart, kind: str, error: type[Exception]) -> None:
    there = apart.call(os.getpid)
    with pytest.raises(error):
        apart.call(fail, kind)
    assert apart.call(os.getpid) == there


def test_a_crash_says_how_and_the_next_call_has_a_new_process(apart: Apart) -> None:
    there = apart.call(os.getpid)
    with pytest.raises(EndedError, match=r"crashed \(Aborted\)"):
        apart.call(os.abort)
    with pytest.raises(EndedError, match=r"^crashed$"):
        apart.call(os._exit, 3)
    assert apart.call(os.getpid) != there


def test_a_process_that_ended_between_calls_is_not_missed(apart: Apart) -> None:
    process = apart.start()
    process.kill()
    process.wait()
    assert apart.call(abs, -1) == 1


def test_a_call_without_end_is_ended(apart: Apart) -> None:
    apart.call(abs, 1)
    apart.limit_s = 0.5
    with pytest.raises(EndedError, match=r"took longer than 0\.5 s"):
        apart.call(time.sleep, 100)
    apart.limit_s = 60
    assert apart.call(abs, -2) == 2


def shorten_the_alarm() -> None:
    """From the next call on, the process would end itself after a second."""
    module = sys.modules["fastocr_cli.pages.apart"]
    module.LIMIT_S = -9.0  # type: ignore[attr-defined]


def test_a_process_may_wait_for_long_between_calls(apart: Apart) -> None:
    apart.call(shorten_the_alarm)
    there = apart.call(os.getpid)
    time.sleep(1.5)
    assert apart.call(os.getpid) == there


def test_an_interrupted_call_leaves_no_answer_for_the_next(apart: Apart) -> None:
    apart.call(abs, 1)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            apart.call(time.sleep, 1)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert apart.call(abs, -3) == 3


def test_threads_take_turns(apart: Apart) -> None:
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda number: apart.call(abs, -number), range(50))) == list(range(50))


def test_it_ends_with_its_caller(apart: Apart) -> None:
    process = apart.start()
    assert apart.call(os.getsid, 0) != os.getsid(0)  # Ctrl-C in the terminal does not reach it
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(10) == 0
    assert not Path(f"/proc/{process.pid}").exists()
