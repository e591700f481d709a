"""Loops are found while they are written; good text that repeats is left alone."""

import random

import pytest

from fastocr_cli.decoding.guard import LoopGuard

TAGS = frozenset({900, 901, 902, 903})


def run(ids: list[int], free: frozenset[int] = TAGS) -> tuple[int, int] | None:
    """(tokens seen, tokens kept) when the guard spoke; None: it never did."""
    guard = LoopGuard(free)
    for num_seen, token in enumerate(ids, 1):
        if (keep := guard.see(token)) is not None:
            return num_seen, keep
    return None


def prose(length: int, seed: int = 0, vocabulary: int = 500) -> list[int]:
    return [random.Random(f"{seed} {i}").randrange(vocabulary) for i in range(length)]


@pytest.mark.parametrize("period", [1, 2, 3, 37, 63, 100, 399])
def test_a_passage_said_again_and_again_is_cut_to_one_copy(period: int) -> None:
    before, passage = prose(150), [1000 + i for i in range(period)]
    found = run(before + passage * (400 // period + 8))
    assert found is not None
    num_seen, keep = found
    assert keep == len(before) + period
    assert num_seen <= len(before) + max(period + 50, 4 * period + 1)


def test_endless_empty_rows_are_found_though_tags_may_repeat() -> None:
    found = run(prose(50) + [900, 901, 902, 903] * 400)
    assert found is not None
    assert found[1] <= 60


def test_a_long_table_of_numbers_is_no_loop() -> None:
    ids = []
    for row in range(120):
        ids += [900, 901, *prose(2, seed=row, vocabulary=60), 902, 901, *prose(2, seed=1000 + row, vocabulary=60), 903]
    assert run(ids) is None


@pytest.mark.parametrize("num_copies", [2, 3])
def test_a_letterhead_said_two_or_three_times_is_no_loop(num_copies: int) -> None:
    assert run((prose(30, seed=7) + prose(80, seed=9)) * 1 + prose(30, seed=7) * num_copies + prose(50)) is None


def see_all(passage: list[int], times: int, read_by_a_token: float) -> int | None:
    """How many tokens to keep of a passage said so often, of which each token reads so much of the page."""
    guard = LoopGuard()
    for number, token in enumerate(passage * times):
        if (keep := guard.see(token, int(number * read_by_a_token))) is not None:
            return keep
    return None


@pytest.mark.parametrize("passage", [prose(6), prose(90, seed=3)])
def test_a_passage_that_is_printed_again_and_again_is_no_loop(passage: list[int]) -> None:
    assert see_all(passage, 30, read_by_a_token=2.0) is None
    assert see_all(passage, 30, read_by_a_token=0.1) == len(passage)


def test_what_was_read_before_a_loop_does_not_excuse_it() -> None:
    guard = LoopGuard()
    for number, token in enumerate(prose(200)):
        assert guard.see(token, 5 * number) is None
    assert any(guard.see(token, 1000) is not None for token in [7, 8, 9] * 100)


def test_prose_is_no_loop() -> None:
    assert run(prose(3000, vocabulary=2000)) is None


def test_few_phrases_in_turn_are_found_by_their_ngrams() -> None:
    phrases = [[10 * k + i for i in range(9)] for k in range(4)]
    ids = [token for step in range(200) for token in phrases[random.Random(step).randrange(4)]]
    assert run(ids) is not None


def test_a_retry_must_not_say_the_passage_again() -> None:
    guard = LoopGuard()
    passage = list(range(40))
    for token in passage + passage[:30]:
        guard.see(token)
    assert guard.banned() == 30


def test_nothing_is_banned_where_nothing_repeats() -> None:
    guard = LoopGuard()
    for token in prose(400, vocabulary=5000):
        guard.see(token)
    assert guard.banned() is None
