"""Where a word divided at the end of a line goes on."""

import numpy as np
import pytest

from fastocr_cli.models.pocket.cells import CLASS_OF
from fastocr_cli.models.pocket.hyphens import second_halves


@pytest.mark.parametrize(
    ("lines", "begins"),
    [
        (["com-", "mon"], [4]),
        (["a-b"], []),  # in the middle of a line
        (["com-", "Mon"], []),  # a name of its own
        (["1-", "two"], []),  # a range
        (["--", "x"], []),  # an option, a dash
        (["a-", "b-", "c"], [2, 4]),
        (["a-"], []),
        ([], []),
    ],
)
def test_second_halves(lines: list[str], begins: list[int]) -> None:
    classes = np.array([CLASS_OF[char] for line in lines for char in line], np.int64)
    line = np.array([number for number, text in enumerate(lines) for _ in text], np.int64)
    assert np.flatnonzero(second_halves(line, classes)).tolist() == begins
