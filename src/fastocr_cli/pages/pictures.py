"""Image files: how many pages, and what each looks like. The only file that knows Pillow's decoders.

The rules: every page of a TIFF and every frame of a GIF, WebP or animated PNG is a page; of the several pictures in
a phone's JPEG only the first is. The orientation tag is applied once. Clear ground becomes white, or black where
the page would be empty on white.
"""

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image, ImageOps, JpegImagePlugin, TiffImagePlugin

from fastocr_cli.errors import InputError, PageError
from fastocr_cli.pages.colours import flatten, simple_mode
from fastocr_cli.pages.refs import PageImage, Resolution
from fastocr_cli.pages.size import picture_scale

FORMATS = ("PNG", "JPEG", "TIFF", "WEBP", "GIF", "BMP")
MAX_DECODED_BYTES = 1 << 30
"""An image that needs more memory than this when decoded is refused: a billion bilevel pixels, or a quarter of that
in colour. Pillow's own limit (90 million pixels) would refuse a poster scan."""

_STRIP_PIXELS = 1 << 24  # larger images are shrunk strip by strip, so that no second full-size copy is made
_REDUCED_COPY = 1  # bit of TIFF tag 254: a thumbnail of another page
_SAME_SIZE = 0.05  # resampling blurs: this close to the wanted scale the pixels stay as they are


class PictureFile:
    """One open image file.

    Raises:
        InputError: not an image that can be read, or no page in it.
    """

    def __init__(self, path: Path, source: str) -> None:
        self.notes: tuple[str, ...] = ()
        self._path = path
        try:
            with _own_size_limit():
                self._image = Image.open(path, formats=FORMATS)
                self._frames = _page_frames(self._image)
        except Exception as error:  # decoders raise whatever the broken bytes lead them to
            raise InputError(f"{source} is damaged: {_reason(error)}.", "Ask for the file again.") from error
        self.num_pages = len(self._frames)
        if not self._frames or 0 in self._image.size:
            raise InputError(f"{source} holds no picture.", "Ask for the file again.")

    def render(self, number: int, resolution: Resolution, *, characters: bool) -> PageImage:
        """Page `number` (1-based), upright, RGB, on plain ground. An image has no characters of its own.

        Raises:
            PageError: cut off, damaged, or too large.
        """
        try:
            with _own_size_limit():
                if len(self._frames) > 1:
                    self._image.seek(self._frames[number - 1])
                    return _render(self._image, resolution)
                # Opened anew: an image once decoded would keep its pixels, and a JPEG its reduced size.
                with Image.open(self._path, formats=FORMATS) as image:
                    image.seek(self._frames[0])
                    return _render(image, resolution)
        except PageError:
            raise
        except Exception as error:  # as above
            raise PageError(f"The image cannot be decoded: {_reason(error)}.", "The file is damaged.") from error

    def close(self) -> None:
        self._image.close()


def _render(image: Image.Image, resolution: Resolution) -> PageImage:
    """The frame that `image` stands at."""
    if _decoded_bytes(image) > MAX_DECODED_BYTES:
        raise PageError(f"The image is too large: {image.width} x {image.height} pixels.", "Scale it down first.")
    width, height = image.size
    tag_x, tag_y = _tag_dpi(image)
    stretch = tag_x / tag_y if tag_x and tag_y and 1.1 < max(tag_x / tag_y, tag_y / tag_x) < 4 else 1.0
    sides = (width, round(height * stretch))  # a fax has half as many lines an inch as dots in a line
    scale, shrunk = picture_scale(*sides, tag_x, resolution)
    target = (max(1, round(sides[0] * scale)), max(1, round(sides[1] * scale)))
    if resolution.dpi is not None and abs(scale - 1) < _SAME_SIZE and not shrunk and stretch == 1.0:
        target = image.size
    upright = ImageOps.exif_transpose(_scaled(image, target))
    warning = f"The image was shrunk from {width} x {height} pixels to {target[0]} x {target[1]}: small print may be"
    return PageImage(upright, None, (f"{warning} unreadable.",) if shrunk else ())


def _page_frames(image: Image.Image) -> list[int]:
    """Frame numbers of the pages of an image file."""
    if isinstance(image, JpegImagePlugin.JpegImageFile):
        return [0]
    frames = list(range(getattr(image, "n_frames", 1)))
    if isinstance(image, TiffImagePlugin.TiffImageFile) and len(frames) > 1:
        return [frame for frame in frames if not _is_thumbnail(image, frame)] or frames
    return frames


def _is_thumbnail(image: TiffImagePlugin.TiffImageFile, frame: int) -> bool:
    image.seek(frame)
    return bool(int(image.tag_v2.get(254, 0)) & _REDUCED_COPY)


def _scaled(image: Image.Image, target: tuple[int, int]) -> Image.Image:
    """RGB pixels of `target` size. The orientation tag stays with the result for the caller to apply."""
    wanted = (image.width / target[0], image.height / target[1])
    if isinstance(image, JpegImagePlugin.JpegImageFile) and min(wanted) >= 2:
        image.draft(None, target)  # the decoder can leave out detail, and memory with it
    image.load()
    exif = image.getexif()
    factor = math.floor(min(image.width / target[0], image.height / target[1]))
    flat = flatten(_shrunk(image, factor))
    if flat.size != target:
        method = Image.Resampling.LANCZOS if min(wanted) > 1 else Image.Resampling.BICUBIC
        flat = flat.resize(target, method, reducing_gap=3.0)
    if _is_deep_negative(image):
        flat = ImageOps.invert(flat)
    flat.info.clear()
    if 0x0112 in exif:
        flat.getexif()[0x0112] = exif[0x0112]
    return flat


def _is_deep_negative(image: Image.Image) -> bool:
    """A 16-bit TIFF in which 0 is white. Pillow turns such files round only at eight bits."""
    deep = image.mode == "I" or image.mode.startswith("I;")
    return deep and isinstance(image, TiffImagePlugin.TiffImageFile) and image.tag_v2.get(262) == 0


def _shrunk(image: Image.Image, factor: int) -> Image.Image:
    """The image in a simple mode; a very large one with each `factor` x `factor` pixels made one."""
    if factor <= 1 or image.width * image.height <= _STRIP_PIXELS:
        return simple_mode(image)
    top_value = _top_value(image) if image.mode.startswith("I") else None
    num_rows = max(1, _STRIP_PIXELS // image.width // factor) * factor
    strips = []
    for top in range(0, image.height, num_rows):
        strip = image.crop((0, top, image.width, min(top + num_rows, image.height)))
        strip.info = image.info
        strips.append(_reduced(simple_mode(strip, top_value), factor))
    result = Image.new(strips[0].mode, (strips[0].width, sum(strip.height for strip in strips)))
    for index, strip in enumerate(strips):
        result.paste(strip, (0, index * (num_rows // factor)))
    return result


def _top_value(image: Image.Image) -> float:
    """Largest value of an image with one channel."""
    _, top = image.getextrema()
    assert isinstance(top, int | float)
    return float(top)


def _reduced(image: Image.Image, factor: int) -> Image.Image:
    """Clear pixels have colours too; these must not run into their neighbours."""
    if image.mode in ("LA", "RGBA"):
        return image.convert("RGBA").convert("RGBa").reduce(factor).convert("RGBA")
    return image.reduce(factor)


def _tag_dpi(image: Image.Image) -> tuple[float | None, float | None]:
    try:
        x, y = (float(value) for value in image.info["dpi"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        return None, None
    return (x, y) if math.isfinite(x) and math.isfinite(y) and x > 0 and y > 0 else (None, None)


def _decoded_bytes(image: Image.Image) -> int:
    bytes_per_pixel = 1 if image.mode in ("1", "L", "P") else 2 if image.mode.startswith("I;16") else 4
    return image.width * image.height * bytes_per_pixel


@contextmanager
def _own_size_limit() -> Iterator[None]:
    """Put MAX_DECODED_BYTES in the place of Pillow's limit; files.py lets one thread in at a time."""
    before = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # broken metadata; what matters comes as an exception
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = before


def _reason(error: BaseException) -> str:
    if "cannot identify image file" in str(error):
        return "its content is no image"
    return (str(error).splitlines() or [""])[0].rstrip(". ") or type(error).__name__
