"""pocket's encoder: letters by convolutions, then visual tokens that hold words.

Shared by reading and by training. Knows nothing of the decoder.
"""

from dataclasses import dataclass
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from fastocr_cli.models.pocket.afar import from_afar, with_large_print
from fastocr_cli.models.pocket.cells import ASCII, CELL, NUM_CLASSES
from fastocr_cli.models.pocket.closer import enlarged, laid_back, magnification
from fastocr_cli.models.pocket.config import PocketConfig
from fastocr_cli.models.pocket.doubles import part_doubles
from fastocr_cli.models.pocket.hyphens import strengthen_hyphens
from fastocr_cli.models.pocket.letters import letters_of
from fastocr_cli.models.pocket.places import place_codes
from fastocr_cli.models.pocket.strokes import NUM_STROKES, strokes

LEAST_SIDE = 128
"""Pixels; a smaller part of a page is not looked at from further away."""


def conv_norm_relu(channels_in: int, channels_out: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, 3, stride, 1, bias=False),
        nn.BatchNorm2d(channels_out),
        nn.ReLU(inplace=True),
    )


class Residual(nn.Module):
    """Two 3 x 3 convolutions around which the input is carried."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.a = conv_norm_relu(channels, channels)
        self.b = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x + self.b(self.a(x)))


class Mix(nn.Module):
    """Neighbouring visual tokens exchange what they know: depthwise 3 x 7, then an MLP over the inked ones."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dw = nn.Conv2d(channels, channels, (3, 7), 1, (1, 3), groups=channels)
        self.n: nn.Module = nn.BatchNorm2d(channels)
        self.u = nn.Linear(channels, 4 * channels)
        self.d = nn.Linear(4 * channels, channels)

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        """(batch, rows, columns, channels) and indices (batch, kept) in raster order; shaped as `x`."""
        with torch.autocast(x.device.type, enabled=False):  # a depthwise backward pass in bf16 is slow on CPUs
            mixed = self.n(self.dw(x.to(self.dw.weight.dtype).permute(0, 3, 1, 2))).permute(0, 2, 3, 1).flatten(1, 2)
        index = kept[..., None].expand(-1, -1, mixed.shape[-1])
        added = self.d(F.gelu(self.u(mixed.gather(1, index))))
        return x + torch.zeros_like(mixed, dtype=added.dtype).scatter(1, index, added).view_as(x)


def fold_norms(network: nn.Module) -> None:
    """Put batch norms into the convolutions before them, for reading: the same numbers in less time."""
    for module in network.modules():
        if isinstance(module, Mix) and isinstance(module.n, nn.BatchNorm2d):
            module.dw, module.n = fuse_conv_bn_eval(module.dw, module.n), nn.Identity()
        elif isinstance(module, nn.Sequential):
            for i, (before, after) in enumerate(pairwise(module)):
                if isinstance(before, nn.Conv2d) and isinstance(after, nn.BatchNorm2d):
                    module[i], module[i + 1] = fuse_conv_bn_eval(before, after), nn.Identity()


@dataclass
class Sight:
    """What the encoder makes of pages."""

    tokens: Tensor
    """(batch, kept, hidden): the visual tokens, without their place codes."""
    classes: Tensor
    """(batch, height / 8, width / 8, 2, classes): the probabilities that they were made from."""
    scores: Tensor | None
    """Shaped as `classes`: the trunk's own scores, None where no picture was read."""


class Vision(nn.Module):
    """Grey page in, one visual token per `token_height` x `token_width` pixels out.

    It reads twice: a convolutional trunk names the character in every half cell, then cells are pooled into visual
    tokens that hold words. A page that knows its own characters hands them to the second half.
    """

    def __init__(self, config: PocketConfig) -> None:
        super().__init__()
        width = config.hidden_size
        small, middle, large = config.vision_channels
        rows, columns = place_codes(width)
        self.rows, self.cols = nn.Parameter(rows), nn.Parameter(columns)
        self.trunk = nn.Sequential(
            conv_norm_relu(1, small, 2),
            conv_norm_relu(small, middle, 2),
            Residual(middle),
            conv_norm_relu(middle, large, 2),
            *(Residual(large) for _ in range(3)),
        )
        self.characters = nn.Linear(large, 2 * NUM_CLASSES)
        self.layer = nn.Embedding(2 * NUM_CLASSES, large)  # what a character says: left halves, then right
        self.shapes = nn.Linear(large, large)  # what no character says: figures, formulas
        self.strokes = nn.Linear(NUM_STROKES, large, bias=False)  # bold print, rules, the bars of fractions
        nn.init.zeros_(self.shapes.weight)
        nn.init.zeros_(self.strokes.weight)
        self.token_size = (config.token_height, config.token_width)
        self.patch = (config.token_height // CELL, config.token_width // CELL)
        self.pool = nn.Linear(self.patch[0] * self.patch[1] * large, width)
        self.mix = nn.ModuleList(Mix(width) for _ in range(4))
        self.norm = nn.LayerNorm(width)

    def forward(self, pixels: Tensor, cells: Tensor | None, kept: Tensor, look: bool = True) -> Sight:
        """Encode pages of one size, from their pictures, from their characters or from both.

        Args:
            pixels: (batch, 1, height, width), 0 for white to 1 for black.
            cells: (batch, 2, height / 8, width / 8), the class of the character in each half cell, 0 for none.
            kept: (batch, kept), indices in raster order of the visual tokens that are not white paper.
            look: False leaves the trunk out and takes the cells' word; of the picture only its strokes are seen.
        """
        if not look:
            assert cells is not None
            letters = self.layer(cells[:, 0]) + self.layer(cells[:, 1] + NUM_CLASSES)
            return Sight(self.words(letters + self.strokes(strokes(pixels)), kept), certain(cells), None)
        features = self.look(pixels)
        scores = self.see(features)
        classes = scores.detach().softmax(-1).to(features.dtype)  # in training, words must not bend the alphabet
        if cells is not None:
            classes = known(cells, classes)
        return Sight(self.tokens(pixels, features, classes, kept), classes, scores)

    def read(self, pixels: Tensor, cells: Tensor | None, kept: Tensor, large: Tensor | None = None) -> Sight:
        """Encode one page: as `forward` does, but small and large print without characters is looked at twice.

        Args:
            pixels, cells, kept: as `forward`, of a batch of one.
            large: (height / 8, width / 8), bool, where the page's own characters are in large print, if any are.
        """
        features = self.look(pixels)
        scores = self.see(features)
        if cells is not None:
            classes = known(cells, scores.softmax(-1).to(features.dtype), large)
        else:
            classes = self.told(pixels, scores)
            classes = self.afar(pixels, self.closer(pixels, classes)).to(features.dtype)
        return Sight(self.tokens(pixels, features, classes, kept), classes, scores)

    def closer(self, pixels: Tensor, classes: Tensor) -> Tensor:
        """The classes of a page; where its print is small, as they are seen enlarged."""
        factor = magnification(letters_of(classes, self.patch[0]))
        if factor == 1:
            return classes
        larger = enlarged(pixels, factor, self.token_size)
        seen = self.told(larger, self.see(self.look(larger)))
        return laid_back(letters_of(seen, self.patch[0]), factor, *pixels.shape[-2:]).to(classes.dtype)

    def afar(self, pixels: Tensor, classes: Tensor) -> Tensor:
        """The classes of a page; lines of large print as they are seen from afar, of still larger from further."""
        smaller = from_afar(pixels, self.token_size)
        seen = self.see(self.look(smaller)).softmax(-1)
        if min(smaller.shape[-2:]) > LEAST_SIDE:
            seen = self.afar(smaller, seen)
        return with_large_print(classes, seen, self.patch[0])

    def told(self, pixels: Tensor, scores: Tensor) -> Tensor:
        """Probabilities of a page's classes; what the trunk doubts is told from the print around it."""
        classes = scores.softmax(-1)
        part_doubles(classes, pixels)
        strengthen_hyphens(classes, self.patch[0])
        return classes

    def look(self, pixels: Tensor) -> Tensor:
        """What the trunk makes of each cell, (batch, height / 8, width / 8, channels)."""
        features: Tensor = self.trunk(pixels).permute(0, 2, 3, 1)
        return features

    def see(self, features: Tensor) -> Tensor:
        """Scores of every class in the halves of each cell, (batch, height / 8, width / 8, 2, classes)."""
        scores: Tensor = self.characters(features).unflatten(-1, (2, NUM_CLASSES)).float()
        return scores

    def letters(self, classes: Tensor) -> Tensor:
        """Probabilities of classes to what the cells say, (batch, height / 8, width / 8, channels)."""
        return classes.flatten(-2) @ self.layer.weight.to(classes.dtype)

    def tokens(self, pixels: Tensor, features: Tensor, classes: Tensor, kept: Tensor) -> Tensor:
        """Visual tokens (batch, kept, hidden) of what was seen: its characters, its shapes, its strokes."""
        said = self.letters(classes) + self.shapes(features.detach()) + self.strokes(strokes(pixels))
        return self.words(said, kept)

    def words(self, cells: Tensor, kept: Tensor) -> Tensor:
        """Cells (batch, height / 8, width / 8, channels) to visual tokens (batch, kept, hidden)."""
        rows, columns = self.patch
        patches = cells.unflatten(2, (-1, columns)).unflatten(1, (-1, rows)).transpose(2, 3)
        tokens = self.pool(patches.flatten(3))
        for mix in self.mix:
            tokens = mix(tokens, kept)
        tokens = tokens.flatten(1, 2)
        chosen: Tensor = self.norm(tokens.gather(1, kept[..., None].expand(-1, -1, tokens.shape[-1])))
        return chosen


def certain(cells: Tensor) -> Tensor:
    """Classes (batch, 2, rows, columns) as probabilities of 0 and 1, (batch, rows, columns, 2, classes)."""
    cells = cells.permute(0, 2, 3, 1)[..., None]
    return torch.zeros(*cells.shape[:-1], NUM_CLASSES, device=cells.device).scatter_(-1, cells, 1)


def known(cells: Tensor, seen: Tensor, large: Tensor | None = None) -> Tensor:
    """`seen`, changed in place: the page's own characters where it has them, what the trunk saw where it has none.

    A region without own characters (a scan, a stamp, a figure) begins one cell beside the last one, and beside `large`
    print (height / 8, width / 8). Characters that the trunk does not see on the page (a font with a wrong table, the
    text of another page) are not believed.
    """
    has_own = (cells > 0).any(1, keepdim=True)
    near = F.max_pool2d(has_own.to(seen.dtype), 3, 1, 1)[:, 0] > 0
    if large is not None:
        near |= large
    near &= (agreement(cells if large is None else cells.masked_fill(large, 0), seen) > 0.3)[:, None, None]
    page, row, column = near.nonzero(as_tuple=True)
    seen.masked_fill_(near[..., None, None], 0)
    for half in range(cells.shape[1]):
        seen[page, row, column, half, cells[page, half, row, column]] = 1
    return seen


def agreement(cells: Tensor, seen: Tensor) -> Tensor:
    """How sure the trunk is of the page's own characters, half a cell aside at most: (batch,), a mean over them.

    Only those of ASCII are asked for: it has hardly seen the others. A page without any is taken at its word.
    """
    own = cells.movedim(1, -1).flatten(-2)  # (batch, rows, halves)
    page, row, half = asked = ((own > 0) & (own <= len(ASCII))).nonzero(as_tuple=True)
    halves, sure = seen.flatten(2, 3), seen.new_zeros(len(page), dtype=torch.float32)
    for aside in (half - 1, half, half + 1):
        inside = (aside >= 0) & (aside < own.shape[2])
        sure += halves[page, row, aside.clamp(0, own.shape[2] - 1), own[asked]].float() * inside
    num_asked = page.bincount(minlength=len(cells))
    total = sure.new_zeros(len(cells)).index_add(0, page, sure)
    return torch.where(num_asked > 0, total / num_asked.clamp(min=1), 1)


def inked(pixels: Tensor, cells: Tensor | None, config: PocketConfig, contrast: float = 0.06) -> Tensor:
    """Which visual tokens hold more than plain paper: [batch, visual] bool, of pixels [batch, 1, height, width].

    Means of 4 x 4 pixels are compared within a token, so that neither noise nor uneven light counts as ink. A token
    with one of the page's own characters is kept whatever its picture.
    """
    means = F.avg_pool2d(pixels, 4)
    size = (config.token_height // 4, config.token_width // 4)
    chosen = F.max_pool2d(means, size) + F.max_pool2d(-means, size) > contrast
    if cells is not None:
        own = (cells > 0).any(1, keepdim=True).to(pixels.dtype)
        chosen |= F.max_pool2d(own, (config.token_height // CELL, config.token_width // CELL)) > 0
    return chosen.flatten(1)
