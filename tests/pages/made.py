"""Documents made on the spot for the tests of this folder."""

from collections.abc import Callable
from pathlib import Path

import pymupdf
from PIL import Image, ImageDraw, ImageFont

from fastocr_cli.config import RunConfig
from fastocr_cli.pages import BadInput, Document, PageImage, PageRef, Resolution, find_pages, render

DPI = Resolution(dpi=120)
SIXTY_WORDS = "\n".join(["The ten blue boxes stand quietly between the wide garden gates"] * 6)


def refs(*inputs: str | Path, **config: object) -> list[PageRef | BadInput]:
    return list(find_pages([str(item) for item in inputs], RunConfig(**config)))  # type: ignore[arg-type]


def pages(*inputs: str | Path, **config: object) -> list[PageRef]:
    found = refs(*inputs, **config)
    bad = [item for item in found if isinstance(item, BadInput)]
    assert not bad, bad
    return [item for item in found if isinstance(item, PageRef)]


def draw(path: Path, number: int = 1, *, characters: bool = False, resolution: Resolution = DPI) -> PageImage:
    return render(PageRef(Document(path, "x", 99, ()), number), resolution, characters=characters)


def pdf(path: Path, *painters: Callable[[pymupdf.Page], object], width: float = 595, height: float = 842) -> Path:
    """A PDF with one page per painter."""
    with pymupdf.open() as document:
        for paint in painters:
            paint(document.new_page(width=width, height=height))
        document.save(path)
    return path


def write(text: str, y: float = 100, x: float = 72, **options: object) -> Callable[[pymupdf.Page], object]:
    return lambda page: page.insert_text((x, y), text, **{"fontsize": 12, **options})


def picture(text: str, size: tuple[int, int] = (600, 300), mode: str = "RGB") -> Image.Image:
    """Black letters on white near the top left corner."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((20, 20), text, fill="black", font=ImageFont.load_default(40))
    return image.convert(mode)


def text_of(page: PageImage) -> str | None:
    """The visible characters in the layer's order, without spaces."""
    return None if page.characters is None else "".join(character.char for character in page.characters)


def brightness(image: Image.Image) -> float:
    histogram = image.convert("L").histogram()
    return sum(value * count for value, count in enumerate(histogram)) / sum(histogram)


def difference(a: Image.Image, b: Image.Image) -> float:
    """Mean absolute difference in grey levels."""
    from PIL import ImageChops

    return brightness(ImageChops.difference(a.convert("L"), b.convert("L")))
