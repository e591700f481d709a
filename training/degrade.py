"""Makes a clean page look printed, photographed and scanned."""

import io
import math
import random
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFilter

from training.page import Page


def degrade(page: Page, rng: random.Random) -> Page:
    """Half of the pages stay as they are; the centres turn with the page."""
    if rng.random() < 0.5:
        return page
    if rng.random() < 0.3:
        page = turned(page, rng.uniform(-1.2, 1.2))
    return replace(page, image=worn(page.image, rng))


def turned(page: Page, degrees: float) -> Page:
    """The page turned about its middle."""
    image = Image.fromarray(page.image).rotate(degrees, Image.Resampling.BILINEAR, fillcolor=255)
    angle = math.radians(degrees)
    matrix = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]], np.float32)
    middle = np.array(page.image.shape[::-1], np.float32) / 2
    centres, glyph_centres = (
        ((old - middle) @ matrix + middle).astype(np.float32) for old in (page.centres, page.glyph_centres)
    )
    return replace(page, image=np.asarray(image), centres=centres, glyph_centres=glyph_centres)


def worn(image: NDArray[np.uint8], rng: random.Random) -> NDArray[np.uint8]:
    picture = Image.fromarray(image)
    if rng.random() < 0.15:  # ink that spreads or fades
        picture = Image.blend(
            picture,
            picture.filter(rng.choice([ImageFilter.MinFilter, ImageFilter.MaxFilter])(3)),
            rng.uniform(0.1, 0.5),
        )
    if rng.random() < 0.4:
        picture = picture.filter(ImageFilter.GaussianBlur(rng.uniform(0.3, 0.9)))
    if rng.random() < 0.2:
        buffer = io.BytesIO()
        picture.save(buffer, "JPEG", quality=rng.randint(25, 75))
        picture = Image.open(buffer)
    values = np.asarray(picture, np.float32)
    noise = np.random.default_rng(rng.getrandbits(32))
    height, width = values.shape
    if rng.random() < 0.3:  # uneven light: a plane across the page
        down = np.linspace(0, rng.uniform(-40, 40), height, dtype=np.float32)[:, None]
        across = np.linspace(0, rng.uniform(-40, 40), width, dtype=np.float32)[None]
        values = values - np.abs(down) - np.abs(across)
    if rng.random() < 0.3:
        values = values * rng.uniform(0.75, 1)
    if rng.random() < 0.6:
        values = values + noise.standard_normal(values.shape, np.float32) * rng.uniform(1, 12)
    return np.clip(values, 0, 255).astype(np.uint8)
