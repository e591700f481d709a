"""Is there anything on the page? Looks at pixels only and knows no model: a blank page is never asked about."""

import math

import numpy as np
from numpy.typing import NDArray
from PIL import ImageChops, ImageFilter
from PIL.Image import Image, Resampling

CONTRAST = 28
"""Grey levels (of 255) between ink and the paper around it. Show-through at 4 % and scanner noise stay below."""
CLUMP = 8
"""Dark pixels among 5 x 5 that make a clump: the strokes of 6 pt print at 120 dpi do, scattered specks do not."""
MIN_CLUMPS = 14
"""Places with a clump that a page needs to count as written on. A dot of 3 x 3 pixels has 9, a lone `1` more."""

_PAPER_BLOCK = 16  # pixels; the paper's own shade is taken to be even over about this length
_JUDGED_PIXELS = 2_000_000  # larger pictures are judged at half size or less, so that dust stays dust
_MIN_SIDE = 8  # pixels; nothing smaller holds a letter


def is_blank(image: Image) -> bool:
    """Whether a picture shows no ink: even paper of any colour, noise, show-through, or a speck.

    Takes a few milliseconds for a letter page at 120 dpi. In doubt the page is not blank.
    """
    if min(image.size) < _MIN_SIDE:
        return True
    if (factor := math.isqrt(image.width * image.height // _JUDGED_PIXELS)) > 1:
        image = image.convert("L").reduce(factor)
    return int(np.count_nonzero(ink_map(image))) < MIN_CLUMPS


def ink_map(image: Image) -> NDArray[np.bool_]:
    """(height, width): where marks that stand out from the paper around them lie in a clump."""
    grey = image.convert("L")
    dark = ImageChops.difference(grey, _paper(grey)).point([255 * (level >= CONTRAST) for level in range(256)])
    share = np.asarray(dark.filter(ImageFilter.BoxBlur(2)))  # mean over 5 x 5
    clumps: NDArray[np.bool_] = share >= 255 * CLUMP / 25 - 1
    return clumps


def _paper(grey: Image) -> Image:
    """The shade around each pixel: block means, median-filtered so that a line of print does not count as paper."""
    blocks = grey.reduce(min(_PAPER_BLOCK, *grey.size)).filter(ImageFilter.MedianFilter(5))
    return blocks.resize(grey.size, Resampling.BILINEAR)
