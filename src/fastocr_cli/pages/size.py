"""How many pixels a page gets. Pure sums: knows no PDF, no image and no model."""

import math

from fastocr_cli.pages.refs import Resolution

POINTS_PER_INCH = 72.0
_PLAUSIBLE_DPI = (50.0, 1200.0)
_LONGEST_PAPER_INCHES = 17.0
_PAGE_WIDTH_INCHES = 8.27
_PAGE_ASPECTS = (1.2, 1.5)
_PAGE_MIN_SHORT_SIDE = 600
_SCREEN_DPI = 96.0
_MAX_GUESS_DPI = 600.0  # more pixels than that are a larger sheet, not a denser scan
_MAX_UPSCALE = 2.0


def page_scale(width: float, height: float, resolution: Resolution) -> tuple[float, bool]:
    """Pixels per point for a page of `width` x `height` points, and whether a cap made it smaller."""
    if resolution.dpi is not None:
        wanted = resolution.dpi / POINTS_PER_INCH
    else:
        wanted = _longest_side(resolution) / max(width, height)
    return _capped(width, height, wanted, resolution)


def picture_scale(width: int, height: int, tag_dpi: float | None, resolution: Resolution) -> tuple[float, bool]:
    """Rendered pixels per pixel of an image file, and whether that may cost small print: by a cap, or on a poster.

    A model that wants a longest side gets it. For one that wants dpi, `picture_dpi` says how dense the image is.
    Nothing is enlarged more than twice: that adds work and no detail.
    """
    dpi = picture_dpi(width, height, tag_dpi)
    is_poster = max(width, height) / dpi > _LONGEST_PAPER_INCHES + 0.1
    wanted = resolution.dpi / dpi if resolution.dpi is not None else _longest_side(resolution) / max(width, height)
    scale, capped = _capped(width, height, min(wanted, _MAX_UPSCALE), resolution)
    return scale, capped or (is_poster and scale < 1)


def picture_dpi(width: int, height: int, tag_dpi: float | None) -> float:
    """The density of an image, which files rarely tell truly.

    1. The file's own tag, if it lies in 50..1200 and the sheet it implies is at most 17 in long (a phone photo
       tagged 72 dpi would be 56 in long).
    2. Else, if aspect and size look like a page scan (1.2 to 1.5, short side 600 px or more): as if the short side
       were 8.27 in, the width of A4 and nearly of letter.
    3. Else (screenshots, receipts, crops): 96 dpi, or as much more as makes the long side 17 in.
    Rules 2 and 3 guess 600 dpi at most: 16,000 pixels across are a poster.
    """
    short, long = sorted((width, height))
    if tag_dpi and _PLAUSIBLE_DPI[0] <= tag_dpi <= _PLAUSIBLE_DPI[1] and long / tag_dpi <= _LONGEST_PAPER_INCHES:
        return tag_dpi
    if short >= _PAGE_MIN_SHORT_SIDE and _PAGE_ASPECTS[0] <= long / short <= _PAGE_ASPECTS[1]:
        return min(short / _PAGE_WIDTH_INCHES, _MAX_GUESS_DPI)
    return min(max(_SCREEN_DPI, long / _LONGEST_PAPER_INCHES), _MAX_GUESS_DPI)


def _longest_side(resolution: Resolution) -> int:
    if resolution.longest_side is None:
        raise ValueError("Resolution needs dpi or longest_side.")
    return resolution.longest_side


def _capped(width: float, height: float, wanted: float, resolution: Resolution) -> tuple[float, bool]:
    # Sides are rounded up to whole pixels, hence the margin of one pixel a side.
    side_cap = (resolution.max_side - 1) / max(width, height)
    scale = min(wanted, side_cap, math.sqrt(resolution.max_pixels / (width * height)))
    while math.ceil(width * scale) * math.ceil(height * scale) > max(resolution.max_pixels, 1) and scale > 1e-6:
        scale *= 0.999 if width * scale > 2 and height * scale > 2 else 0.9
    return scale, scale < wanted * 0.99
