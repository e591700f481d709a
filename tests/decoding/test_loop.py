"""Continuous batching: a page's text is its own, whatever shares its batch, and every page comes back."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch

from decoding.conftest import Oracle, make_prompt, write
from fastocr_cli.decoding import cache, loop
from fastocr_cli.decoding.guard import LoopGuard
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job, Row
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.models.pocket.pointer import Pointer
from fastocr_cli.pruning import make_method

PRUNED = {"keep": "0.2", "floor": "3", "warmup": "2", "focal": "1"}
ONLINE = {"keep": "0.2", "floor": "3", "warmup": "3", "focal": "online"}
METHODS = [("dense", {}), ("fastocr", PRUNED), ("fastocr", ONLINE), ("fastocr", {**PRUNED, "reuse": "false"})]


@pytest.fixture(autouse=True)
def one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "MAX_ATTEMPTS", 1)


@pytest.mark.parametrize(("method", "options"), METHODS)
@pytest.mark.parametrize("num_rows", [2, 3, 8])
def test_text_does_not_depend_on_the_batch(
    tiny_pocket: VisionModel, prompts: list[Prompt], method: str, options: dict[str, str], num_rows: int
) -> None:
    lengths = [20, 3, 26, 11, 1]
    alone = write(tiny_pocket, prompts, method, num_new=lengths, **options)
    batched = write(tiny_pocket, prompts, method, num_rows=num_rows, num_new=lengths, **options)
    assert [page.ids for page in alone] == [page.ids for page in batched]
    assert [len(page.ids) for page in alone] == lengths
    for one, other in zip(alone, batched, strict=True):
        assert one.visual_kv_read == other.visual_kv_read
        assert one.coverage == pytest.approx(other.coverage, abs=1e-5)


@pytest.mark.parametrize("num_rows", [1, 3])
@pytest.mark.parametrize("options", [{"keep": "1.0", "focal": "1"}, {"focal": "0,1,2,3"}, {"warmup": "1000"}])
def test_reading_everything_is_dense_exactly(
    tiny_pocket: VisionModel, prompts: list[Prompt], num_rows: int, options: dict[str, str]
) -> None:
    dense = write(tiny_pocket, prompts, "dense", num_rows=num_rows)
    pruned = write(tiny_pocket, prompts, "fastocr", num_rows=num_rows, **options)
    assert [page.ids for page in dense] == [page.ids for page in pruned]
    assert all(page.visual_kv_read == 1 for page in pruned)


def test_pruning_changes_what_is_read(tiny_pocket: VisionModel, prompts: list[Prompt]) -> None:
    """The counterpart: a test of equality with dense would pass on a method that never prunes."""
    dense = write(tiny_pocket, prompts, "dense")
    pruned = write(tiny_pocket, prompts, "fastocr", **PRUNED)
    assert [page.ids for page in dense] != [page.ids for page in pruned]
    num_layers, num_visual, num_steps, warm = 4, 93, 19, 2  # the first token is prefill's
    read = warm * num_layers * num_visual + (num_steps - warm) * (num_visual + (num_layers - 1) * 19)
    assert pruned[2].visual_kv_read == pytest.approx(read / (num_steps * num_layers * num_visual))
    assert 0 < (pruned[2].coverage or 0) <= 1


@pytest.mark.parametrize("spoils", ["", "tokens", "places"])
def test_a_draft_saves_steps_and_changes_nothing(
    tiny_pocket: VisionModel, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch, spoils: str
) -> None:
    oracle, prompts = Oracle(), [prompts[i] for i in (0, 1, 2, 4)]
    monkeypatch.setattr(tiny_pocket, "draft", oracle.note)
    plain = write(tiny_pocket, prompts, "dense", num_rows=3, num_new=[40, 30, 50, 20])
    oracle.spoils = spoils
    monkeypatch.setattr(tiny_pocket, "draft", oracle.draft)
    drafted = write(tiny_pocket, prompts, "dense", num_rows=3, num_new=[40, 30, 50, 20])
    assert [page.ids for page in drafted] == [page.ids for page in plain]
    num_tokens = sum(len(page.ids) for page in plain)
    assert oracle.num_asked < (0.9 if spoils else 0.6) * num_tokens


def test_jobs_are_asked_for_only_when_a_row_is_free(tiny_pocket: VisionModel) -> None:
    asked = 0

    def jobs() -> Iterator[Job[int]]:
        nonlocal asked
        for index in range(6):
            asked += 1
            yield Job(index, make_prompt(tiny_pocket, 20, index), 4 + index)

    decoder: Decoder[int] = Decoder(tiny_pocket, make_method("dense", {}), 2)
    for num_done, _ in enumerate(decoder.write(jobs()), 1):
        assert asked <= num_done + 2


def test_a_page_ends_at_its_limit_or_at_the_context(tiny_pocket: VisionModel) -> None:
    prompts = [make_prompt(tiny_pocket, 20, 0), make_prompt(tiny_pocket, 20, 0, context_limit=27)]
    written = write(tiny_pocket, prompts, "dense", num_new=9)
    assert [(page.finish_reason, len(page.ids)) for page in written] == [("length", 9), ("length", 5)]


def test_the_stop_token_ends_a_page_and_is_not_part_of_it(
    tiny_pocket: VisionModel, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    (whole,) = write(tiny_pocket, prompts[:1], "dense")
    stop = next(token for token in whole.ids if token != whole.ids[0])
    monkeypatch.setattr(tiny_pocket, "stop_token_ids", frozenset({stop}))
    (page,) = write(tiny_pocket, prompts[:1], "dense")
    assert page.finish_reason == "stop"
    assert page.ids == whole.ids[: whole.ids.index(stop)]


def test_a_loop_is_read_once_more_and_then_cut(
    tiny_pocket: VisionModel, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "MAX_ATTEMPTS", 2)
    always = torch.zeros(1, tiny_pocket.text_config.vocab_size)
    always[0, 7], always[0, 8] = 2, 1
    monkeypatch.setattr(tiny_pocket, "scores", lambda hidden, _: always.expand(len(hidden), -1).clone())
    (page,) = write(tiny_pocket, prompts[:1], "fastocr", num_new=500, **PRUNED)
    assert page.job.attempt == 2
    assert page.visual_kv_read == 1  # the second reading is dense
    assert page.finish_reason in ("loop", "length")
    assert 8 in page.ids  # what repeated was banned


@pytest.mark.parametrize(("method", "options", "attempts"), [("fastocr", PRUNED, 2), ("dense", {}, 1)])
@pytest.mark.parametrize("doubts", [True, False])
def test_a_page_of_which_pruning_left_out_a_part_is_read_once_more_densely(
    tiny_pocket: VisionModel,
    prompts: list[Prompt],
    monkeypatch: pytest.MonkeyPatch,
    method: str,
    options: dict[str, str],
    attempts: int,
    doubts: bool,
) -> None:
    monkeypatch.setattr(loop, "MAX_ATTEMPTS", 2)
    monkeypatch.setattr(Pointer, "warnings", lambda self: ("Half of it is missing.",) * doubts)
    monkeypatch.setattr(Row, "take", ending_after(12))
    (page,) = write(tiny_pocket, prompts[:1], method, **options)
    assert page.finish_reason == "stop"
    assert page.job.attempt == (attempts if doubts else 1)
    assert (page.visual_kv_read == 1) == (doubts or method == "dense")
    assert page.warnings == ("Half of it is missing.",) * doubts


def test_a_first_reading_that_came_to_its_end_is_better_than_a_second_that_did_not(
    tiny_pocket: VisionModel, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "MAX_ATTEMPTS", 2)
    monkeypatch.setattr(Pointer, "warnings", lambda self: ("Half of it is missing.",))
    once, always = ending_after(12), Row.take
    monkeypatch.setattr(Row, "take", lambda row, *rest: (once if row.job.attempt == 1 else always)(row, *rest))
    (page,) = write(tiny_pocket, prompts[:1], "fastocr", num_new=20, **PRUNED)
    assert (page.finish_reason, len(page.ids), page.job.attempt) == ("stop", 12, 2)
    assert page.warnings == ("Half of it is missing.",)


def test_a_second_reading_that_cannot_begin_does_not_cost_the_first(
    tiny_pocket: VisionModel, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "MAX_ATTEMPTS", 2)
    monkeypatch.setattr(Pointer, "warnings", lambda self: ("Half of it is missing.",))
    monkeypatch.setattr(Row, "take", ending_after(12))
    prefill = Decoder.prefill

    def full_at_the_second(self: Decoder[int], job: Job[int]) -> None:
        if job.attempt > 1:
            raise torch.OutOfMemoryError
        prefill(self, job)

    monkeypatch.setattr(Decoder, "prefill", full_at_the_second)
    (page,) = write(tiny_pocket, prompts[:1], "fastocr", **PRUNED)
    assert (page.finish_reason, len(page.ids), page.error) == ("stop", 12, None)


def test_nothing_is_banned_where_no_loop_was(
    tiny_pocket: VisionModel, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A page may well say the same twice."""
    monkeypatch.setattr(loop, "MAX_ATTEMPTS", 2)
    monkeypatch.setattr(Pointer, "warnings", lambda self: ("Half of it is missing.",))
    monkeypatch.setattr(Row, "take", ending_after(12))
    monkeypatch.setattr(LoopGuard, "banned", lambda self: pytest.fail("asked what to ban"))
    (page,) = write(tiny_pocket, prompts[:1], "fastocr", **PRUNED)
    assert page.job.attempt == 2


def ending_after(num_tokens: int) -> Any:
    """A `Row.take` that ends the page after so many tokens, as the stop token does."""

    def take(row: Row[int], token: int, _: frozenset[int]) -> None:
        row.ids.append(token)
        row.finish_reason = "stop" if len(row.ids) == num_tokens else None

    return take


def raising(times: list[int], function: Any) -> Any:
    """`function`, out of memory at the given calls."""
    calls = iter(range(10**6))

    def call(*args: Any, **kwargs: Any) -> Any:
        if next(calls) in times:
            raise torch.OutOfMemoryError
        return function(*args, **kwargs)

    return call


@pytest.mark.parametrize("name", ["prefill", "hidden"])
def test_out_of_memory_makes_the_batch_smaller_and_loses_nothing(
    tiny_pocket: VisionModel, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    expected = write(tiny_pocket, prompts, "fastocr", **PRUNED)
    monkeypatch.setattr(tiny_pocket, name, raising([2, 4], getattr(tiny_pocket, name)))
    written = write(tiny_pocket, prompts, "fastocr", num_rows=4, **PRUNED)
    assert [page.ids for page in written] == [page.ids for page in expected]


@pytest.mark.parametrize("name", ["prefill", "hidden"])
def test_a_page_that_never_fits_fails_alone(
    tiny_pocket: VisionModel, prompts: list[Prompt], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tiny_pocket, name, raising([0], getattr(tiny_pocket, name)))
    written = write(tiny_pocket, prompts[:3], "dense", num_rows=1)
    assert [page.finish_reason for page in written] == ["error", "length", "length"]
    assert "memory" in (written[0].error or "")


@pytest.mark.parametrize("error", [torch.OutOfMemoryError, RuntimeError], ids=["gpu", "cpu"])
@pytest.mark.parametrize("num_calls", [0, 1, 2, 3])
def test_a_batch_that_does_not_fit_is_made_smaller(
    tiny_pocket: VisionModel,
    prompts: list[Prompt],
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    num_calls: int,
) -> None:
    """Memory is full in the middle of the model, when some layers have grown and others have not."""
    expected = write(tiny_pocket, prompts, "fastocr", **PRUNED)
    grown, calls = cache._grown, iter(range(10**6))

    def grow(buffer: Any, like: Any, num_rows: int, num_places: int) -> Any:
        made = grown(buffer, like, num_rows, num_places)
        if made is not buffer and num_rows > 2 and next(calls) >= num_calls:
            raise error("DefaultCPUAllocator: can't allocate memory")
        return made

    monkeypatch.setattr(cache, "_grown", grow)
    monkeypatch.setattr(cache, "VISUAL_STEP", 1)
    monkeypatch.setattr(cache, "TEXT_STEP", 1)
    written = write(tiny_pocket, prompts, "fastocr", num_rows=1000, **PRUNED)
    assert [page.ids for page in written] == [page.ids for page in expected]


def test_rows_are_paid_for_when_they_are_used(tiny_pocket: VisionModel, prompts: list[Prompt]) -> None:
    decoder: Decoder[int] = Decoder(tiny_pocket, make_method("dense", {}), 10**9)
    list(decoder.write(iter([Job(0, prompts[0], 3)])))
    keys = decoder.cache.slots[0].visual.keys
    assert keys is not None
    assert len(keys) == 1


def test_numbers_that_are_none_are_a_failure_not_text(tiny_pocket: VisionModel, prompts: list[Prompt]) -> None:
    prompts[1].embeds[:] = float("nan")
    written = write(tiny_pocket, prompts[:3], "dense", num_rows=2)
    assert [page.finish_reason for page in written] == ["length", "error", "length"]
    assert "float32" in (written[1].error or "")
