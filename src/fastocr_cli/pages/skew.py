"""Pages that were laid askew on the scanner are turned level. Looks at pixels only and knows no model.

Turned level, the lines of print give the sharpest profile of ink by height (Postl 1986).
"""

import math

import numpy as np
from numpy.typing import NDArray
from PIL.Image import Image, Resampling

from fastocr_cli.pages.ink import ink_map

MOST, LEAST = 10.0, 0.3
"""Degrees: a page is turned by no more than this, and below this it is left as it is, since turning blurs."""

SHARPER = 1.3
"""How much sharper the profile has to become: photographs and drawings have no lines of print."""

_COARSE, _FINE = 0.5, 0.05  # degrees
_HEIGHT, _MOST_POINTS = 1200, 60_000


def level(image: Image) -> Image:
    """The page with its lines of print level, of the same size; the very same image where they are already."""
    angle = skew(image)
    if abs(angle) < LEAST:
        return image
    paper = tuple(int(np.median(np.asarray(band))) for band in image.split())
    return image.rotate(angle, Resampling.BICUBIC, fillcolor=paper)


def skew(image: Image) -> float:
    """Degrees by which the lines of print fall to the right, 0 where there are none or no angle stands out."""
    grey = image.convert("L")
    if (factor := math.ceil(max(grey.size) / _HEIGHT)) > 1:
        grey = grey.reduce(factor)
    ink = ink_map(grey)
    feet = np.argwhere(ink[:-1] & ~ink[1:]).astype(np.float64)  # of letters
    if not len(feet):
        return 0.0
    y, x = feet[:: -(-len(feet) // _MOST_POINTS)].T
    best = _sharpest(x, y, np.arange(-MOST, MOST + _COARSE, _COARSE))
    best = _sharpest(x, y, best + np.arange(-_COARSE, _COARSE + _FINE, _FINE))
    return best if _sharpness(x, y, best) > SHARPER * _sharpness(x, y, 0.0) else 0.0


def _sharpest(x: NDArray[np.float64], y: NDArray[np.float64], angles: NDArray[np.float64]) -> float:
    return max((float(angle) for angle in angles), key=lambda angle: _sharpness(x, y, angle))


def _sharpness(x: NDArray[np.float64], y: NDArray[np.float64], angle: float) -> float:
    """Sum of squares of how many feet of letters stand at each height."""
    tilt = math.radians(angle)
    height = y * math.cos(tilt) - x * math.sin(tilt)
    counts = np.bincount((height - height.min()).astype(np.int64))
    return float((counts.astype(np.float64) ** 2).sum())
