"""From any colour model that an image file can have to RGB on plain ground. Knows Pillow's modes, no files."""

import numpy as np
from PIL import Image, ImageCms

from fastocr_cli.pages.ink import is_blank

_SIMPLE = ("L", "LA", "RGB", "RGBA")


def simple_mode(image: Image.Image, top_value: float | None = None) -> Image.Image:
    """The same picture in one of L, LA, RGB, RGBA, eight bits a channel.

    `top_value` is the largest value of the whole image where `image` is a strip of a 16-bit one.
    """
    if image.mode == "I" or image.mode == "F" or image.mode.startswith("I;"):
        return _eight_bits(image, top_value)
    if image.mode == "1":
        return image.convert("L")
    if image.mode == "LAB":
        to_rgb = ImageCms.buildTransform(ImageCms.createProfile("LAB"), ImageCms.createProfile("sRGB"), "LAB", "RGB")
        converted = ImageCms.applyTransform(image, to_rgb)
        assert converted is not None
        return converted
    if "transparency" in image.info or image.mode in ("PA", "La", "RGBa"):
        return image.convert("RGBA")
    return image if image.mode in _SIMPLE else image.convert("RGB")


def flatten(image: Image.Image) -> Image.Image:
    """RGB of an image in a simple mode: clear parts white, or black where on white nothing would be seen."""
    if image.mode not in ("LA", "RGBA"):
        return image.convert("RGB")
    image = image.convert("RGBA")
    on_white = _over(image, "white")
    if is_blank(on_white):
        on_black = _over(image, "black")
        if not is_blank(on_black):
            return on_black
    return on_white


def _over(image: Image.Image, ground: str) -> Image.Image:
    sheet = Image.new("RGB", image.size, ground)
    sheet.paste(image, mask=image.getchannel("A"))
    return sheet


def _eight_bits(image: Image.Image, top_value: float | None) -> Image.Image:
    """Integers and floats to grey. Values that use a part of the range only (12-bit scanners) fill it."""
    values = np.nan_to_num(np.asarray(image).astype(np.float32), nan=0.0, posinf=0.0, neginf=0.0)
    top = float(values.max(initial=0.0)) if top_value is None else float(top_value)
    usual = (1.0, 255.0) if image.mode == "F" else (255.0, 4095.0, 65535.0)
    white = next((value for value in usual if top <= value), top)
    return Image.fromarray(np.clip(values * (255.0 / white) + 0.5, 0, 255).astype(np.uint8))
