"""The next page is rendered while this one is read: in order, one at a time, and a failure is the page's own."""

import threading
from collections.abc import Iterator

import pytest

from fastocr_cli.pages.ahead import ahead


def test_every_item_comes_in_order_with_its_outcome() -> None:
    assert [(item, outcome.result()) for item, outcome in ahead(lambda n: n * n, range(5))] == [
        (0, 0), (1, 1), (2, 4), (3, 9), (4, 16)
    ]  # fmt: skip
    assert list(ahead(str, [])) == []


def test_one_call_is_ahead_and_no_more() -> None:
    taken: list[int] = []
    begun: list[int] = []
    running, most = 0, 0
    lock, go_on = threading.Lock(), threading.Semaphore(0)

    def items() -> Iterator[int]:
        for number in range(4):
            taken.append(number)
            yield number

    def call(number: int) -> int:
        nonlocal running, most
        with lock:
            begun.append(number)
            running += 1
            most = max(most, running)
        if number == 1:
            go_on.acquire(timeout=10)
        with lock:
            running -= 1
        return number

    pairs = ahead(call, items())
    item, outcome = next(pairs)
    assert (item, outcome.result()) == (0, 0)  # while the next one is under way
    assert taken == [0, 1]
    go_on.release()
    assert [item for item, _ in pairs] == [1, 2, 3]
    assert begun == [0, 1, 2, 3]
    assert most == 1


def test_a_failure_is_told_where_its_item_is_and_ends_nothing() -> None:
    seen = []
    for item, outcome in ahead(lambda n: 1 / n, [1, 0, 2]):
        if item == 0:
            with pytest.raises(ZeroDivisionError):
                outcome.result()
        else:
            seen.append(outcome.result())
    assert seen == [1, 0.5]


def test_items_that_end_in_a_failure_cost_no_item_before_it() -> None:
    def items() -> Iterator[int]:
        yield 1
        yield 2
        raise OSError("the folder is gone")

    pairs = ahead(lambda n: n, items())
    assert [next(pairs)[0], next(pairs)[0]] == [1, 2]
    with pytest.raises(OSError, match="gone"):
        next(pairs)
