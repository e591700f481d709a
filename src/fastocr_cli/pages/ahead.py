"""The next page is rendered while this one is read. Knows threads, not pages."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


def ahead(function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[tuple[Item, Future[Value]]]:
    """Each item with the outcome of `function(item)`, which began when the item before was asked for.

    One call at a time. An item is taken from `items` one turn early.
    """
    before: tuple[Item, Future[Value]] | None = None
    try:
        for item in items:
            if before is not None:
                before[1].exception()  # waits
            following = item, _begun(function, item)
            if before is not None:
                yield before
            before = following
    except Exception:  # no more items come, but one is under way
        if before is not None:
            yield before
        raise
    if before is not None:
        yield before


def _begun(function: Callable[[Item], Value], item: Item) -> Future[Value]:
    outcome: Future[Value] = Future()

    def run() -> None:
        try:
            outcome.set_result(function(item))
        except BaseException as error:
            outcome.set_exception(error)

    threading.Thread(target=run, daemon=True).start()  # a daemon: an interrupt does not wait for a page that hangs
    return outcome
