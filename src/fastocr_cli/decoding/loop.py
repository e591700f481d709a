"""Decoding with continuous batching: pages of any document share a batch, and a freed row is refilled at once.

Prefill and step are two functions, timed apart. A page's text does not depend on which pages shared its batch:
every row has its own lengths, positions, fixation and guard. Greedy. Knows nothing of files or Markdown.
"""

import time
from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, Self, TypeVar

import torch
from torch import Tensor

from fastocr_cli.decoding.attention import SlotSeam, seamed
from fastocr_cli.decoding.cache import SlotCache
from fastocr_cli.decoding.guard import LoopGuard
from fastocr_cli.models.base import Prompt, Reading, VisionModel
from fastocr_cli.pruning.base import Layout, Method

Key = TypeVar("Key")
MAX_ATTEMPTS = 2
"""A page that loops, or of which pruned decoding left much out, is read once more with everything read; if it looped,
repeated passages are banned."""


@dataclass
class Job(Generic[Key]):
    """A page to write; `key` is the caller's own."""

    key: Key
    prompt: Prompt
    max_new_tokens: int
    attempt: int = 1
    before: "Written[Key] | None" = None
    """What the first attempt gave."""


@dataclass
class Written(Generic[Key]):
    """A page that was written."""

    job: Job[Key]
    ids: list[int]
    """Without the stop token; cut where a loop began."""
    finish_reason: str
    """`stop`, `length`, `loop`, or `error`: then `error` says why, and there may be no text."""
    prefill_s: float
    decode_s: float
    coverage: float | None = None
    visual_kv_read: float | None = None
    error: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def worth_a_dense_try(self) -> bool:
        """It looped; or the model doubts that all was written, and pruned attention may be the reason."""
        pruned = self.visual_kv_read is not None and self.visual_kv_read < 1
        return self.finish_reason == "loop" or (self.finish_reason == "stop" and pruned and bool(self.warnings))


def better(first: Written[Key] | None, second: Written[Key]) -> Written[Key]:
    """The second attempt, unless only the first came to its end."""
    return first if first and first.finish_reason == "stop" and second.finish_reason != "stop" else second


@dataclass
class Row(Generic[Key]):
    """A page being written."""

    job: Job[Key]
    guard: LoopGuard
    prefill_s: float
    count: int
    """Position by counting of the token that is read next."""
    positions: Tensor
    """(axes,): where that token stands."""
    reading: Reading
    """What the model remembers of the page."""
    ids: list[int] = field(default_factory=list)
    finish_reason: str | None = None
    error: str | None = None
    started: float = field(default_factory=time.perf_counter)

    @property
    def room(self) -> int:
        """Most tokens that this page may write."""
        limit, prompt = self.job.max_new_tokens, self.job.prompt
        return limit if prompt.context_limit is None else max(1, min(limit, prompt.context_limit - len(prompt)))

    def take(self, token: int, stop_token_ids: frozenset[int]) -> None:
        """Append a token, or find the reason to end."""
        if token in stop_token_ids:
            self.finish_reason = "stop"
            return
        self.ids.append(token)
        keep = self.guard.see(token)
        if keep is not None:
            self.ids, self.finish_reason = self.ids[:keep], "loop"
        elif len(self.ids) >= self.room:
            self.finish_reason = "length"


@contextmanager
def cpu_memory_counts() -> Iterator[None]:
    """A CPU whose memory is full says so in a plain RuntimeError; out comes what a GPU raises."""
    try:
        yield
    except RuntimeError as error:
        if "DefaultCPUAllocator" not in str(error):
            raise
        raise torch.OutOfMemoryError(str(error)) from error


class Decoder(Generic[Key]):
    """One model, one method, one batch of rows.

    A context: inside, the model's attention goes through the seam. `write` enters it by itself.
    """

    def __init__(self, model: VisionModel, method: Method, num_rows: int) -> None:
        self.model, self.num_rows = model, num_rows
        config = model.text_config
        layout = Layout(config.num_hidden_layers, model.checkpoint.key, model.device)
        self.gaze = method.begin(layout)
        self.cache = SlotCache(config.num_hidden_layers, num_rows, model.device)
        self.seam = SlotSeam(self.cache, self.gaze)
        self.rows: list[Row[Key]] = []
        self._attachment: AbstractContextManager[None] | None = None
        self.again: deque[Job[Key]] = deque()
        """Jobs that go before new ones: pages to be read densely, and what the caller puts here between two pages."""

    def __enter__(self) -> Self:
        self._attachment = seamed(self.model.text_model, self.seam)
        self._attachment.__enter__()
        return self

    def __exit__(self, *failure: Any) -> None:
        assert self._attachment is not None
        self._attachment.__exit__(*failure)
        self._attachment = None

    @torch.inference_mode()
    def write(self, jobs: Iterator[Job[Key]]) -> Iterator[Written[Key]]:
        """Write pages as `jobs` gives them, each when it is finished. `jobs` is asked only when a row is free."""
        with self:
            while True:
                while len(self.rows) < self.num_rows and (job := self._next(jobs)):
                    if failed := self._begin(job):
                        yield better(job.before, failed)
                if not self.rows:
                    return
                try:
                    self.step()
                except torch.OutOfMemoryError:
                    self._shrink()
                yield from self._ended()

    def _ended(self) -> Iterator[Written[Key]]:
        """Pages at their end leave the batch; one that is worth a second, dense try goes to its queue."""
        for index in reversed(range(len(self.rows))):
            if self.rows[index].finish_reason is None:
                continue
            written = self._end(index)
            job = written.job
            if job.attempt < MAX_ATTEMPTS and written.worth_a_dense_try:
                job.attempt, job.before = job.attempt + 1, written
                self.again.append(job)
            else:
                yield better(job.before, written)

    def _begin(self, job: Job[Key]) -> Written[Key] | None:
        """Prefill a page; answer with it where it cannot be read at all."""
        started = time.perf_counter()
        try:
            self.prefill(job)
            return None
        except torch.OutOfMemoryError:
            if self.rows:  # this one waits
                self._limit_rows(job)
                return None
            error = f"The page does not fit into the memory of {self.model.device}; try a lower --dpi."
        except FloatingPointError:
            error = f"The model gave numbers that are none in {self.model.dtype}; try --dtype float32."
        return Written(job, [], "error", time.perf_counter() - started, 0.0, error=error)

    def _shrink(self) -> None:
        """Out of memory in the middle: the newest page waits, or fails if it is alone."""
        newest = self.rows[-1]
        newest.finish_reason, newest.error = "error", f"The page does not fit into the memory of {self.model.device}."
        if len(self.rows) == 1:
            return
        self._end(len(self.rows) - 1)
        self._limit_rows(newest.job)

    def _limit_rows(self, waiting: Job[Key]) -> None:
        """No more pages at a time from now on than there are."""
        self.num_rows = len(self.rows)
        self.cache.limit(self.num_rows)
        self.again.appendleft(waiting)

    def _next(self, jobs: Iterator[Job[Key]]) -> Job[Key] | None:
        return self.again.popleft() if self.again else next(jobs, None)

    @cpu_memory_counts()
    def prefill(self, job: Job[Key]) -> None:
        """Read a page's prompt into the next row and write its first token."""
        assert self._attachment is not None, "enter the decoder first"
        started = time.perf_counter()
        prompt = job.prompt
        with self.cache.fill(prompt.is_visual):
            hidden = self.model.prefill(prompt, self.cache)
            reading = self.model.begin(prompt)
            scores, positions = self._next_tokens(hidden[:, -1], [prompt.next_position], [reading])
            if not scores.isfinite().all():
                raise FloatingPointError  # before the row is taken
        self.gaze.admit(prompt.num_visual, dense=job.attempt > 1)
        token = int(scores.argmax())
        guard, seconds = LoopGuard(self.model.free_token_ids), time.perf_counter() - started
        places = positions.expand(len(prompt.positions), -1)[:, 0]
        row = Row(job, guard, seconds, prompt.next_position, places, reading)
        row.take(token, self.model.stop_token_ids)
        self.rows.append(row)

    @cpu_memory_counts()
    def step(self) -> None:
        """Write one token in every row that is not at its end."""
        if any(row.finish_reason for row in self.rows):
            return  # a page of one token: it leaves first, so that no row is carried without a token to read
        tokens = [row.ids[-1] for row in self.rows]
        scores = self.score(tokens)
        for index, row in enumerate(self.rows):
            looped = row.job.before is not None and row.job.before.finish_reason == "loop"
            if looped and (banned := row.guard.banned()) is not None:
                scores[index, banned] = float("-inf")
        for row, token in zip(self.rows, scores.argmax(-1).tolist(), strict=True):
            row.take(token, self.model.stop_token_ids)

    def score(self, tokens: list[int]) -> Tensor:
        """Read `tokens`, one a row, and give the scores (rows, vocabulary) of those after them."""
        assert self._attachment is not None, "enter the decoder first"
        embeds = self.model.embed(torch.tensor(tokens, device=self.model.device)[:, None])
        positions = torch.stack([row.positions for row in self.rows], 1)[..., None]
        with self.cache.step():
            hidden = self.model.hidden(embeds, positions, self.cache)[:, -1]
        self.gaze.advance()
        for row, token in zip(self.rows, tokens, strict=True):
            row.count += 1
            row.reading.wrote(token)
        scores, places = self._next_tokens(hidden, [r.count for r in self.rows], [r.reading for r in self.rows])
        for row, place in zip(self.rows, places.expand(len(positions), -1).T, strict=True):
            row.positions = place
        return scores

    def _next_tokens(self, hidden: Tensor, counts: list[int], readings: list[Reading]) -> tuple[Tensor, Tensor]:
        return self.model.next_tokens(hidden, torch.tensor(counts, device=hidden.device), readings)

    def _end(self, index: int) -> Written[Key]:
        row = self.rows[index]
        assert row.finish_reason is not None
        written = Written(
            row.job,
            row.ids,
            row.finish_reason,
            row.prefill_s,
            time.perf_counter() - row.started,
            self.gaze.coverage(index),
            self.gaze.visual_kv_read(index),
            row.error,
            row.reading.warnings(),
        )
        self.cache.drop(index)
        self.gaze.drop(index)
        self.rows[index] = self.rows[-1]
        self.rows.pop()
        return written
