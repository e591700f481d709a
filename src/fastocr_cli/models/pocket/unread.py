"""What was not read yet: between the finger and a letter, and in the largest stretch of a page. Knows reading order."""

import numpy as np
from numpy.typing import NDArray

MOST_LEFT_OUT = 300
"""Letters; more are not counted."""

AMONG = 0.5
"""How much each letter of a stretch that was read counts against those that were not."""

Bools = NDArray[np.bool_]


def left_out(read: Bools, onward: int) -> NDArray[np.int64]:
    """How many letters that were not read lie between the last token and each letter that comes later.

    Args:
        read: of each letter, in reading order.
        onward: the number of the letter after the last token.
    """
    unread = np.cumsum(~read)
    before = unread[onward - 1] if onward else 0
    between: NDArray[np.int64] = np.clip(unread - before - 1, 0, MOST_LEFT_OUT)
    return between


def largest_stretch(read: Bools) -> tuple[int, float]:
    """Number of the first letter of the largest stretch that was mostly not read, and how many letters were not.

    Those within it that were read (a column beside it, where the order is wrong) count against it, AMONG each.
    """
    sums = np.cumsum(np.concatenate([[0.0], np.where(read, -AMONG, 1.0)]))
    gains = sums - np.minimum.accumulate(sums)
    behind = int(gains.argmax())
    return behind - int(sums[behind::-1].argmin()), float(gains[behind])
