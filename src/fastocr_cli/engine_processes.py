"""Several devices on one host: one process each, all fed from one iterator of page references. For `--gpus`.

The iterator is the queue: a worker asks for a page when it has room for one and is dealt the next, over a pipe of its
own. So the engine always knows which pages a worker holds, and a worker that is killed can take no lock with it, as it
could with a queue that all share. References travel one way; results, log records and what went wrong come back.
Knows processes and pipes; knows nothing of models.
"""

import logging
import os
import signal
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from logging.handlers import QueueHandler
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from types import SimpleNamespace, TracebackType
from typing import Any, Protocol, Self

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import FastOCRError
from fastocr_cli.models import hub
from fastocr_cli.pages import PageRef, PageResult

logger = logging.getLogger("fastocr")

MORE = "more"
"""A worker asks for a page. Each asking gets one answer: a reference, or None when there are no more."""
PATIENCE_S = 10.0
"""How long the operating system may take to say how a process ended."""


class PageReader(Protocol):
    """What a worker makes for itself: `Reader`, or a test's own."""

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]: ...


MakeReader = Callable[[RunConfig], PageReader]


def open_reader(config: RunConfig) -> PageReader:
    from fastocr_cli.reader import Reader  # imports torch: in the workers alone

    return Reader(config)


class ProcessEngine:
    """One reader on each of `devices`, in processes of their own. Reads once: the workers end with `read`.

    Without `devices`, those that `config.gpus` names. `make_reader` must be importable by its name.
    """

    def __init__(self, config: RunConfig, devices: Sequence[str] = (), make_reader: MakeReader = open_reader) -> None:
        self.config, self.devices, self.make_reader = config, devices, make_reader
        self.started: list[Worker] = []
        self.reading: list[Worker] = []
        self.lost: list[Exception] = []
        """Why workers ended before their time."""
        self._undealt: deque[PageRef] = deque()  # meant for a worker that was gone already
        self._all_dealt = False

    def __enter__(self) -> Self:
        hub.require_folder(hub.find_checkpoint(self.config.model))  # said once, and before torch is loaded
        if not self.devices:
            from fastocr_cli.models.weights import choose_devices  # imports torch, to count

            self.devices = choose_devices(self.config.gpus or "all")
        num_threads = max(1, (os.cpu_count() or 1) // len(self.devices))
        resource_tracker.ensure_running()  # it would let interrupts through again when the first worker starts it
        try:
            with interrupts_held_back():
                for device in self.devices:
                    config = replace(self.config, device=device, gpus=None)
                    self.started.append(Worker(config, self.make_reader, num_threads))
        except BaseException:
            self.stop()
            raise
        self.reading = list(self.started)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]:
        """Read pages on all devices; results come as pages end. `refs` is asked only when a worker asks.

        Pages of a worker that ends before its time are failed results; the others go on.

        Raises:
            FastOCRError: no worker is left. As with one process, a model that cannot be loaded says so.
        """
        assert self.reading, "enter the engine first; it reads once"
        refs, num_workers = iter(refs), len(self.reading)
        try:
            while self.reading and not (self._all_dealt and not any(worker.held for worker in self.reading)):
                heard = wait([worker.connection for worker in self.reading])
                for worker in [worker for worker in self.reading if worker.connection in heard]:
                    yield from self._hear(worker, refs)
        finally:
            self.stop()
        if len(self.lost) == num_workers:
            raise self.lost[-1]

    def stop(self) -> None:
        """End all workers now: what they have not sent is wanted no longer, and they keep nothing on disk."""
        for worker in self.started:
            worker.process.kill()
        for worker in self.started:
            worker.process.join()
            worker.connection.close()
        self.started, self.reading = [], []

    def _hear(self, worker: "Worker", refs: Iterator[PageRef]) -> Iterator[PageResult]:
        """Do what one message of a worker asks for."""
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            message = worker.how_it_ended()
        match message:
            case PageResult():
                if message.ref in worker.held:
                    worker.held.remove(message.ref)
                yield message
            case logging.LogRecord():
                logger.handle(message)
            case Exception():
                yield from self._lose(worker, message)
            case _:
                self._deal(worker, refs)

    def _deal(self, worker: "Worker", refs: Iterator[PageRef]) -> None:
        """Give a worker the next page, or tell it that there are no more."""
        ref = self._undealt.popleft() if self._undealt else next(refs, None)
        self._all_dealt = worker.is_at_end = ref is None
        try:
            worker.connection.send(ref)
        except OSError:  # it has ended; its end of the pipe will say so
            self._undealt.extend([ref] if ref else [])
        else:
            worker.held.extend([ref] if ref else [])

    def _lose(self, worker: "Worker", error: Exception) -> Iterator[PageResult]:
        """Go on without a worker. Its pages have failed, those included that waited in its pipe."""
        self.reading.remove(worker)
        if worker.is_at_end and not worker.held:  # there was nothing left for it to do
            return
        self.lost.append(error)
        reason = error.message if isinstance(error, FastOCRError) else str(error)
        if self.reading:  # of the last one `read` tells
            logger.warning("%s Reading goes on without %s.", reason, worker.device)
        for ref in worker.held:
            yield PageResult(ref, error=reason, finish_reason="error")
        worker.held.clear()


class Worker:
    """A process that reads on one device, as the engine sees it."""

    def __init__(self, config: RunConfig, make_reader: MakeReader, num_threads: int) -> None:
        self.device = config.device
        self.held: list[PageRef] = []
        self.is_at_end = False
        """It was told that there are no more pages."""
        context = get_context("spawn")  # a forked process cannot use CUDA
        self.connection, theirs = context.Pipe()
        arguments = (theirs, config, make_reader, logger.getEffectiveLevel(), num_threads)
        self.process = context.Process(target=work, args=arguments, name=f"fastocr {self.device}", daemon=True)
        self.process.start()
        theirs.close()  # the pipe ends with the worker

    def how_it_ended(self) -> FastOCRError:
        self.process.join(PATIENCE_S)
        code = self.process.exitcode
        if code is None:
            how = "no longer answers"
        elif code < 0:
            how = f"was ended by signal {-code} ({signal.strsignal(-code)})"
        else:
            how = f"ended with exit code {code}"
        hint = "Run the same command again to go on; a smaller --batch-size needs less memory."
        return FastOCRError(f"The process on {self.device} {how}.", hint)


@contextmanager
def interrupts_held_back() -> Iterator[None]:
    """A process started inside never sees Ctrl-C, which goes to all processes of a terminal: the engine decides.

    It does so after this block: one that is interrupted while it starts a process leaves it half told what to do.
    """
    held: list[int] = []
    here = (signal.SIGINT, signal.SIGTERM) if current_thread() is main_thread() else ()
    ours = [stop for stop in here if signal.getsignal(stop) is not None]  # None: not Python's to put back
    handlers = {stop: signal.signal(stop, lambda number, _: held.append(number)) for stop in ours}
    has_masks = hasattr(signal, "pthread_sigmask")  # not on Windows: there `work` turns it off as soon as it runs
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if has_masks else set()
    try:
        yield
    finally:
        if has_masks:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for stop, handler in handlers.items():
            signal.signal(stop, handler)
        for number in held[:1]:
            signal.raise_signal(number)


def send_logs(engine: Connection, level: int) -> None:
    """Log records go to the engine's process, which alone knows what is to be shown and where."""
    outbox: Any = SimpleNamespace(put_nowait=engine.send)
    logger.handlers, logger.propagate = [QueueHandler(outbox)], False
    logger.setLevel(level)


def work(engine: Connection, config: RunConfig, make_reader: MakeReader, level: int, num_threads: int) -> None:
    """The life of a worker: load, read what is dealt, end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.setdefault("OMP_NUM_THREADS", str(num_threads))  # before torch is loaded: the workers share the cores
    send_logs(engine, level)
    dealt: SimpleQueue[Any] = SimpleQueue()
    Thread(target=listen, args=(engine, dealt), daemon=True).start()
    with suppress(OSError):  # nobody listens any longer
        try:
            for result in make_reader(config).read(ask(engine, dealt)):
                engine.send(result)
        except Exception as error:
            logger.info("The process on %s stops.", config.device, exc_info=True)
            engine.send(portable(error, config.device))


def listen(engine: Connection, dealt: SimpleQueue[Any]) -> None:
    """Take what is dealt as it comes, so that the engine never waits; when the pipe ends, end this process."""
    try:
        while True:
            dealt.put(engine.recv())
    finally:
        os._exit(1)


def ask(engine: Connection, dealt: SimpleQueue[Any]) -> Iterator[PageRef]:
    """Pages for the reader. One more than it has taken is asked for, so that it need not wait for the engine."""
    engine.send(MORE)
    while (ref := dealt.get()) is not None:
        engine.send(MORE)
        yield ref


def portable(error: Exception, device: str) -> Exception:
    """An error that can travel; those of libraries may not."""
    if isinstance(error, FastOCRError | ImportError):
        return error
    hint = "Run it again with -v and report what it shows."
    return FastOCRError(f"Reading on {device} broke: {type(error).__name__}: {error}.", hint)
