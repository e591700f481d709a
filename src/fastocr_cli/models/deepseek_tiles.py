"""How DeepSeek-OCR looks at a page: the whole of it in a square, and a grid of tiles where it is larger than one.

Pillow in, tensors out. Knows the sums of the maker's "Gundam" mode and nothing of networks.
"""

from dataclasses import dataclass
from typing import NamedTuple

from PIL import Image, ImageOps
from torch import Tensor

from fastocr_cli.models.pixels import HALF, normalised

GREY = (127, 127, 127)
"""What stands beside a page that is no square."""
PIXELS_PER_TOKEN = 64
"""Along each side: patches of 16, then two halvings."""


class Views(NamedTuple):
    """A page as the encoder takes it."""

    whole: Tensor
    """float32 (1, 3, base, base)"""
    tiles: Tensor | None
    """float32 (tiles, 3, tile, tile), row by row; None: the page is no larger than a tile."""
    grid: tuple[int, int]
    """Columns and rows of tiles."""


@dataclass(frozen=True)
class TileRule:
    """Sizes of the views, in pixels, and how many tiles a page may have."""

    base: int = 1024
    tile: int = 640
    min_tiles: int = 2
    max_tiles: int = 9
    line_ends: bool = True
    """Whether a token ends each row of a view's, or of all tiles' together."""

    def grid(self, width: int, height: int) -> tuple[int, int]:
        """Columns and rows of tiles for a picture of so many pixels; (0, 0) where it fits one tile.

        The grid whose shape is nearest to the picture's. Among equals (1 x 2 and 2 x 4) the larger one, if the
        picture has more than half its pixels.
        """
        if max(width, height) <= self.tile:
            return 0, 0
        best, least = (1, 1), float("inf")
        for columns, rows in self._grids():
            off = abs(width / height - columns / rows)
            fills = width * height > columns * rows * self.tile**2 / 2
            if off < least or (off == least and fills):
                best, least = (columns, rows), off
        return best

    def _grids(self) -> list[tuple[int, int]]:
        """All grids, fewest tiles first."""
        sides = range(1, self.max_tiles + 1)
        grids = [(columns, rows) for columns in sides for rows in sides]
        return sorted((g for g in grids if self.min_tiles <= g[0] * g[1] <= self.max_tiles), key=lambda g: g[0] * g[1])

    def visual_tokens(self, width: int, height: int) -> int:
        """Visual tokens of a picture: each view's, the line ends, and one that parts the views."""
        columns, rows = self.grid(width, height)
        whole, tile = self.base // PIXELS_PER_TOKEN, self.tile // PIXELS_PER_TOKEN
        tiles = rows * tile * (columns * tile + self.line_ends) if columns else 0
        return tiles + whole * (whole + self.line_ends) + 1

    def views(self, image: Image.Image) -> Views:
        """Cut a page. The whole keeps its shape, on grey; tiles share a page that is stretched to fill their grid."""
        image = image.convert("RGB")
        columns, rows = self.grid(*image.size)
        square = ImageOps.pad(image, (self.base, self.base), Image.Resampling.BICUBIC, color=GREY)
        whole = normalised(square, HALF, HALF)[None]
        if not columns:
            return Views(whole, None, (columns, rows))
        side = self.tile
        stretched = image.resize((columns * side, rows * side), Image.Resampling.BICUBIC)
        cut = normalised(stretched, HALF, HALF).view(3, rows, side, columns, side).permute(1, 3, 0, 2, 4)
        return Views(whole, cut.reshape(rows * columns, 3, side, side), (columns, rows))
