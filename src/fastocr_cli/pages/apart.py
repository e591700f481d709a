"""A process of its own for what opens foreign files.

A file that crashes the graphics library, or keeps it busy for ever, costs a page and not the run. Knows processes and
pipes; knows no files.
"""

import atexit
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from math import ceil
from typing import Any, BinaryIO, TypeVar, cast

LIMIT_S = 120.0
"""Seconds that one call may take. A large map takes ten, a file made to hang takes for ever."""

Value = TypeVar("Value")

_SERVE = "from fastocr_cli.pages.apart import serve; serve()"


class EndedError(Exception):
    """The process ended before it answered; says how, as the end of a sentence."""


class Apart:
    """Makes calls in a process of its own, one at a time; a new one is started when the last has ended."""

    def __init__(self, limit_s: float = LIMIT_S) -> None:
        self.limit_s = limit_s
        self._lock = threading.RLock()
        self._process: subprocess.Popen[bytes] | None = None

    def call(self, function: Callable[..., Value], *args: object) -> Value:
        """`function(*args)`; the function must be importable by its name, and what goes in and out be picklable.

        Raises:
            EndedError: it crashed, or took longer than `limit_s`.
            Exception: what the function raises.
        """
        with self._lock:
            process = self.start()
            alarm = _Alarm(self.limit_s, process)
            try:
                with alarm:
                    pickle.dump((function, args), cast(BinaryIO, process.stdin))
                    cast(BinaryIO, process.stdin).flush()
                    done, value = pickle.load(cast(BinaryIO, process.stdout))
            except (EOFError, OSError, pickle.UnpicklingError):
                self.close()
                raise EndedError(alarm.reason or _reason(process.returncode)) from None
            except BaseException:  # an interrupt: the answer would be taken for that of the next call
                self.close()
                raise
        if not done:
            raise value
        return cast(Value, value)

    def start(self) -> subprocess.Popen[bytes]:
        """The process, or a new one where it has ended."""
        with self._lock:
            if self._process is not None and self._process.poll() is None:
                return self._process
            self.close()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                start_new_session=True,  # Ctrl-C goes to all processes of a terminal: the caller decides
            )
            return self._process

    def close(self) -> None:
        """End the process, if there is one."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(OSError), process:  # waits, and closes the pipes
                pass

    def forget(self) -> None:
        """After a fork the process is the parent's, and so is the lock that one of its threads may hold."""
        self._process, self._lock = None, threading.RLock()


class _Alarm:
    """Kills a process that takes longer than `limit_s`, and says so."""

    def __init__(self, limit_s: float, process: subprocess.Popen[bytes]) -> None:
        self.reason = ""
        self._limit_s, self._process = limit_s, process
        self._timer = threading.Timer(limit_s, self._ring)
        self._timer.daemon = True

    def __enter__(self) -> None:
        self._timer.start()

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()

    def _ring(self) -> None:
        self.reason = f"took longer than {self._limit_s:g} s"
        self._process.kill()


def _reason(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"crashed ({signal.strsignal(-exit_code)})"
    return "crashed"


def serve() -> None:
    """The life of the process: answer calls until the pipe ends. What libraries print goes nowhere."""
    requests, replies = sys.stdin.buffer, os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    while (request := _next(requests)) is not None:
        function, args = request
        if hasattr(signal, "alarm"):  # where the caller is killed while a call does not end, nobody else ends it
            signal.alarm(ceil(LIMIT_S) + 10)
        try:
            reply: tuple[bool, Any] = True, function(*args)
        except Exception as error:
            reply = False, error
        if hasattr(signal, "alarm"):
            signal.alarm(0)
        try:
            message = pickle.dumps(reply)
        except Exception:  # an exception of a library may not travel
            message = pickle.dumps((False, RuntimeError(f"{type(reply[1]).__name__}: {reply[1]}")))
        replies.write(message)
        replies.flush()


def _next(requests: BinaryIO) -> tuple[Callable[..., Any], tuple[Any, ...]] | None:
    try:
        return cast(tuple[Callable[..., Any], tuple[Any, ...]], pickle.load(requests))
    except EOFError:
        return None


APART = Apart()
os.register_at_fork(after_in_child=APART.forget)
atexit.register(APART.close)
