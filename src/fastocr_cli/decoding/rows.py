"""The pages of a decoding batch: what is asked, what is being written, what was written."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from fastocr_cli.decoding.guard import LoopGuard
from fastocr_cli.models.base import Draft, Outlook, Place, Prompt, Reading

Key = TypeVar("Key")


@dataclass
class Job(Generic[Key]):
    """A page to write; `key` is the caller's own."""

    key: Key
    prompt: Prompt
    max_new_tokens: int
    before: "Written[Key] | None" = None
    """What the first attempt gave, where this is the second."""

    @property
    def attempt(self) -> int:
        return 1 if self.before is None else self.before.job.attempt + 1


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


def better(written: Written[Key]) -> Written[Key]:
    """This attempt, unless only the one before it came to its end."""
    before = written.job.before
    if before is not None and before.finish_reason == "stop" and written.finish_reason != "stop":
        return replace(before, job=written.job)
    return written


@dataclass
class Row(Generic[Key]):
    """A page being written."""

    job: Job[Key]
    guard: LoopGuard
    prefill_s: float
    count: int
    """Position by counting of the token that is read next."""
    place: Place
    """Where that token stands."""
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
        keep = self.guard.see(token, self.reading.num_read)
        if keep is not None:
            self.ids, self.finish_reason = self.ids[:keep], "loop"
        elif len(self.ids) >= self.room:
            self.finish_reason = "length"

    def take_along(self, draft: Draft, outlook: Outlook, stop_token_ids: frozenset[int]) -> int:
        """Append the likeliest token after each one that was read, as long as the draft had it at its place.

        Returns:
            how many of the tokens that were read, the last one and those of the draft, are part of the page.
        """
        looped = self.job.before is not None and self.job.before.finish_reason == "loop"
        drafted = [*zip(draft.tokens, draft.places, strict=True), None]
        for number, token in enumerate(outlook.likeliest):
            if looped and (banned := self.guard.banned()) == token:
                outlook.scores[number, banned] = float("-inf")
                token = int(outlook.scores[number].argmax())
            self.go_on(outlook, number)
            self.take(token, stop_token_ids)
            if self.finish_reason or drafted[number] != (token, self.place):
                break
        return number + 1

    def follow(self, draft: Draft, outlook: Outlook, text: Sequence[int]) -> int:
        """As `take_along`, but what is written next is given."""
        drafted = [*zip(draft.tokens, draft.places, strict=True), None]
        for number in range(len(outlook.likeliest)):
            self.go_on(outlook, number)
            if number >= len(text) or drafted[number] != (text[number], self.place):
                break
        return number + 1

    def go_on(self, outlook: Outlook, number: int) -> None:
        """To after the token of this number among those that were read."""
        place, axes = outlook.places[number], len(self.job.prompt.positions)
        self.count, self.place = self.count + 1, place * (axes // len(place))
        self.reading = outlook.readings[number]
