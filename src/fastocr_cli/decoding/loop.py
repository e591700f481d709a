"""Decoding with continuous batching: pages of any document share a batch, and a freed row is refilled at once.

Prefill and step are two functions, timed apart. A page's text does not depend on which pages shared its batch:
every row has its own lengths, positions, fixation and guard. Greedy; where the model drafts what comes next, a step
reads the draft as a whole and keeps what greedy decoding would have written (speculative decoding, arXiv 2211.17192).
Knows nothing of files or Markdown.
"""

import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any, Generic, Self

import torch
from torch import Tensor

from fastocr_cli.decoding.attention import SlotSeam, seamed
from fastocr_cli.decoding.cache import SlotCache
from fastocr_cli.decoding.guard import LoopGuard
from fastocr_cli.decoding.rows import Job, Key, Row, Written, better
from fastocr_cli.models.base import NO_DRAFT, Draft, Outlook, VisionModel
from fastocr_cli.pruning.base import Layout, Method

MAX_ATTEMPTS = 2
"""A page that loops, or of which pruned decoding left much out, is read once more with everything read; if it looped,
repeated passages are banned."""


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
                        yield better(failed)
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
                self.again.append(replace(job, before=written))
            else:
                yield better(written)

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
            (outlook,) = self.model.outlook(hidden[:, -1:], [prompt.next_position], [reading], [NO_DRAFT])
            if not outlook.scores.isfinite().all():
                raise FloatingPointError  # before the row is taken
        self.gaze.admit(prompt.num_visual, dense=job.attempt > 1)
        guard, seconds = LoopGuard(self.model.free_token_ids), time.perf_counter() - started
        row = Row(job, guard, seconds, prompt.next_position - 1, (), reading)
        row.take_along(NO_DRAFT, outlook, self.model.stop_token_ids)
        self.rows.append(row)

    @cpu_memory_counts()
    def step(self) -> None:
        """Write a token in every row that is not at its end, and those after it that were drafted rightly."""
        if any(row.finish_reason for row in self.rows):
            return  # a page of one token: it leaves first, so that no row is carried without a token to read
        drafts = [self.model.draft(row.reading, row.ids[-1], row.count + 1) for row in self.rows]
        outlooks = self._read([row.ids[-1] for row in self.rows], drafts)
        steps = zip(self.rows, drafts, outlooks, strict=True)
        self.cache.keep([row.take_along(draft, outlook, self.model.stop_token_ids) for row, draft, outlook in steps])

    def score(self, tokens: list[int]) -> Tensor:
        """Read `tokens`, one a row, and give the scores (rows, vocabulary) of those after them."""
        outlooks = self._read(tokens, [NO_DRAFT] * len(tokens))
        self.cache.keep([1] * len(tokens))
        for row, outlook in zip(self.rows, outlooks, strict=True):
            row.go_on(outlook, 0)
        return torch.cat([outlook.scores for outlook in outlooks])

    def follow(self, texts: Sequence[Sequence[int]]) -> list[list[int]]:
        """Read on along texts that are given, one a row, as `step` would: the first token, and the draft after it as
        far as it is the text. A single token is its page's last and has no draft.

        Returns:
            of each row the likeliest token after each one that was read.
        """
        drafts = [
            self.model.draft(row.reading, text[0], row.count + 1) if len(text) > 1 else NO_DRAFT
            for row, text in zip(self.rows, texts, strict=True)
        ]
        outlooks = self._read([text[0] for text in texts], drafts)
        rows = zip(self.rows, drafts, outlooks, texts, strict=True)
        num_read = [row.follow(draft, outlook, text[1:]) for row, draft, outlook, text in rows]
        self.cache.keep(num_read)
        return [outlook.likeliest[:num] for outlook, num in zip(outlooks, num_read, strict=True)]

    def _read(self, tokens: list[int], drafts: Sequence[Draft]) -> list[Outlook]:
        """Run the decoder over one token a row and its draft; rows with a shorter draft are padded."""
        assert self._attachment is not None, "enter the decoder first"
        ids = [[token, *draft.tokens] for token, draft in zip(tokens, drafts, strict=True)]
        places = [[row.place, *draft.places] for row, draft in zip(self.rows, drafts, strict=True)]
        with self.cache.step(list(map(len, ids))):
            embeds = self.model.embed(self._padded(ids))
            hidden = self.model.hidden(embeds, self._padded(places).movedim(-1, 0), self.cache)
        readings = [row.reading.copy() for row in self.rows]  # a step that runs out of memory is made again
        for reading, token in zip(readings, tokens, strict=True):
            reading.wrote(token)
        outlooks = self.model.outlook(hidden, [row.count + 1 for row in self.rows], readings, drafts)
        self.gaze.advance()
        return outlooks

    def _padded(self, rows: list[list[Any]]) -> Tensor:
        """(rows, most of a row), the last one repeated."""
        width = max(map(len, rows))
        return torch.tensor([[*row, *row[-1:] * (width - len(row))] for row in rows], device=self.model.device)

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
