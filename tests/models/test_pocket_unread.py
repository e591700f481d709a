"""What was not read is counted between letters, and as the largest stretch."""

import numpy as np
import pytest

from fastocr_cli.models.pocket.unread import AMONG, MOST_LEFT_OUT, largest_stretch, left_out


def read(text: str) -> np.ndarray:
    """`x` was read, `.` was not."""
    return np.array([char == "x" for char in text], bool)


def test_letters_passed_over_are_counted_from_the_last_token() -> None:
    assert left_out(read("xx..x."), 2).tolist() == [0, 0, 0, 1, 1, 2]
    assert left_out(read("...."), 0).tolist() == [0, 1, 2, 3]
    assert left_out(~np.ones(MOST_LEFT_OUT + 9, bool), 0).max() == MOST_LEFT_OUT


@pytest.mark.parametrize(
    ("text", "first", "num_letters"),
    [("xxx", 0, 0), ("", 0, 0), ("x..xxxxxx...x", 9, 3), ("x...x...x", 1, 6 - AMONG), ("..", 0, 2)],
)
def test_the_largest_stretch_may_hold_letters_that_were_read(text: str, first: int, num_letters: float) -> None:
    assert largest_stretch(read(text)) == (first, num_letters)
