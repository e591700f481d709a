"""pocket's network: a convolutional encoder and a plain Qwen2.5-VL text decoder.

Shared by reading (`models/pocket`) and by training, which adds the losses. Attribute names are the names in
the weight file. Knows nothing of files, tokens or Markdown.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import Qwen2_5_VLConfig
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextModel

from fastocr_cli.models.pocket.cells import CELL, NUM_CLASSES

MAX_ROWS, MAX_CELLS = 256, 512
"""Most rows of visual tokens and columns of cells that have a place code."""


@dataclass(frozen=True)
class PocketConfig:
    """The sizes, as `config.json` holds them; the defaults are those of the shipped weights."""

    vocab_size: int = 2126
    hidden_size: int = 256
    num_hidden_layers: int = 6
    num_attention_heads: int = 4
    num_key_value_heads: int = 2
    intermediate_size: int = 704
    rope_theta: float = 10000.0
    mrope_section: list[int] = field(default_factory=lambda: [8, 12, 12])
    vision_channels: list[int] = field(default_factory=lambda: [24, 48, 96])
    token_height: int = 16
    token_width: int = 24
    dpi: int = 120
    embedding_scale: float = 16
    image_token_id: int = 5
    vision_start_token_id: int = 3
    vision_end_token_id: int = 4
    eos_token_id: int = 2
    pad_token_id: int = 0

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "PocketConfig":
        """Ignores what is not a size (`model_type`, `training_step`)."""
        return cls(**{k: v for k, v in values.items() if k in cls.__dataclass_fields__})

    def text_config(self) -> Any:
        """The decoder's configuration in transformers' words."""
        rope = {"rope_type": "default", "rope_theta": self.rope_theta, "mrope_section": self.mrope_section}
        return Qwen2_5_VLConfig(
            text_config={
                "vocab_size": self.vocab_size,
                "hidden_size": self.hidden_size,
                "intermediate_size": self.intermediate_size,
                "num_hidden_layers": self.num_hidden_layers,
                "num_attention_heads": self.num_attention_heads,
                "num_key_value_heads": self.num_key_value_heads,
                "max_position_embeddings": 32768,
                "rope_parameters": rope,
                "bos_token_id": 1,
                "eos_token_id": self.eos_token_id,
                "pad_token_id": self.pad_token_id,
            }
        ).text_config


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
        self.n = nn.BatchNorm2d(channels)
        self.u = nn.Linear(channels, 4 * channels)
        self.d = nn.Linear(4 * channels, channels)

    def forward(self, x: Tensor, kept: Tensor) -> Tensor:
        """(batch, rows, columns, channels) and indices (batch, kept) in raster order; shaped as `x`."""
        with torch.autocast(x.device.type, enabled=False):  # a depthwise backward pass in bf16 is slow on CPUs
            mixed = self.n(self.dw(x.to(self.dw.weight.dtype).permute(0, 3, 1, 2))).permute(0, 2, 3, 1).flatten(1, 2)
        index = kept[..., None].expand(-1, -1, mixed.shape[-1])
        added = self.d(F.gelu(self.u(mixed.gather(1, index))))
        return x + torch.zeros_like(mixed, dtype=added.dtype).scatter(1, index, added).view_as(x)


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
        self.shapes = nn.Linear(large, large)  # what no character says: rules, figures, formulas
        nn.init.zeros_(self.shapes.weight)
        self.patch = (config.token_height // CELL, config.token_width // CELL)
        self.pool = nn.Linear(self.patch[0] * self.patch[1] * large, width)
        self.mix = nn.ModuleList(Mix(width) for _ in range(4))
        self.norm = nn.LayerNorm(width)

    def forward(self, pixels: Tensor, cells: Tensor | None, kept: Tensor) -> Tensor:
        """Encode pages of one size.

        Args:
            pixels: (batch, 1, height, width), 0 for white to 1 for black.
            cells: (batch, 2, height / 8, width / 8), the class of the character in each half cell, 0 for none.
            kept: (batch, kept), indices in raster order of the visual tokens that are not white paper.

        Returns:
            those visual tokens (batch, kept, hidden), without their place codes.
        """
        features = self.look(pixels)
        seen = self.see(features).softmax(-1).to(features.dtype)
        classes = seen if cells is None else known(cells, seen)
        return self.words(self.letters(classes) + self.shapes(features), kept)

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


def known(cells: Tensor, seen: Tensor) -> Tensor:
    """The page's own characters where it has them, what the trunk saw where it has none: shaped as `seen`.

    A region without own characters (a scan, a stamp, a figure) begins one cell beside the last one. Characters that the
    trunk does not see on the page (a font with a wrong table, the text of another page) are not believed.
    """
    own = F.one_hot(cells, NUM_CLASSES).permute(0, 2, 3, 1, 4).to(seen.dtype)
    has_own = (cells > 0).any(1, keepdim=True)
    near = F.max_pool2d(has_own.to(seen.dtype), 3, 1, 1)[:, 0, :, :, None, None] > 0
    believed = agreement(cells, seen) > 0.3
    return torch.where(near & believed[:, None, None, None, None], own, seen)


def agreement(cells: Tensor, seen: Tensor) -> Tensor:
    """How sure the trunk is of the page's own characters, half a cell aside at most: (batch,), a mean over them."""
    own = cells.movedim(1, -1).flatten(-2)  # (batch, rows, halves)
    scores = F.pad(seen.flatten(2, 3).float(), (0, 0, 1, 1))
    sure = torch.stack([scores[:, :, i : i + own.shape[2]].gather(-1, own[..., None])[..., 0] for i in range(3)]).sum(0)
    return (sure * (own > 0)).sum((1, 2)) / (own > 0).sum((1, 2)).clamp(min=1)


def place_codes(width: int) -> tuple[Tensor, Tensor]:
    """Sine codes of rows and of columns of cells, in separate halves of (MAX_ROWS or MAX_CELLS, width).

    Wavelengths are 4 to 512 rows or cells.
    """
    frequency = math.tau / 4 / (128 ** (torch.arange(width // 4) / (width // 4 - 1)))
    angle = torch.arange(MAX_CELLS)[:, None] * frequency
    code, zeros = torch.cat([angle.sin(), angle.cos()], 1), torch.zeros(MAX_CELLS, width // 2)
    return 0.5 * torch.cat([code, zeros], 1)[:MAX_ROWS], 0.5 * torch.cat([zeros, code], 1)


class PocketNetwork(nn.Module):
    """Encoder, decoder, and the head that tells where the next token is printed."""

    def __init__(self, config: PocketConfig, attn_implementation: str = "sdpa") -> None:
        super().__init__()
        self.config = config
        self.lm = Qwen2_5_VLTextModel._from_config(config.text_config(), attn_implementation=attn_implementation)
        self.vis = Vision(config)
        self.next_place = nn.Linear(config.hidden_size, 2 * config.hidden_size)
        nn.init.normal_(self.lm.embed_tokens.weight, std=0.02)

    def embed(self, ids: Tensor) -> Tensor:
        """Token ids (batch, length) to decoder inputs (batch, length, hidden)."""
        embeds: Tensor = self.lm.embed_tokens(ids) * self.config.embedding_scale
        return embeds

    def place(self, row: Tensor, cell: Tensor) -> Tensor:
        """Codes of places by row and column of cells, (...,) to (..., hidden); of nowhere (-1), nothing."""
        code = self.vis.rows[row.clamp(min=0)] + self.vis.cols[cell.clamp(min=0)]
        return torch.where((row >= 0)[..., None], code, 0)

    def visual_place(self, index: Tensor, num_columns: int) -> Tensor:
        """Codes of visual tokens by raster index; each lies where its middle cell does."""
        width = self.config.token_width // CELL
        return self.place(index // num_columns, index % num_columns * width + width // 2)

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., hidden) to (..., vocabulary); the head is the embedding."""
        return F.linear(hidden, self.lm.embed_tokens.weight)

    def place_logits(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """(..., hidden) to scores of the row (..., MAX_ROWS) and cell (..., MAX_CELLS) where the next token begins."""
        row, column = self.next_place(hidden).chunk(2, -1)
        return F.linear(row, self.vis.rows), F.linear(column, self.vis.cols)

    def prompt(self, pixels: Tensor, cells: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """One page's prompt: vision start, its visual tokens without white paper, vision end.

        Args:
            pixels: (1, 1, height, width).
            cells: (1, 2, height / 8, width / 8) or None.

        Returns:
            decoder inputs (2 + visual, hidden) and M-RoPE positions (3, 2 + visual).
        """
        _, num_columns = self.grid(pixels)
        kept = inked(pixels, cells, self.config)[0].nonzero()[:, 0]
        kept = kept if len(kept) else kept.new_zeros(1)  # an empty page has a corner
        tokens = self.vis(pixels, cells, kept[None])[0] + self.visual_place(kept, num_columns)
        edges = torch.tensor([self.config.vision_start_token_id, self.config.vision_end_token_id], device=pixels.device)
        start, end = self.embed(edges).split(1)
        nowhere = kept.new_zeros(3, 1)
        return torch.cat([start, tokens, end]), torch.cat(
            [nowhere, visual_positions(kept, num_columns), text_positions(nowhere[0], nowhere[0] - 1, nowhere[0] - 1)],
            1,
        )

    def grid(self, pixels: Tensor) -> tuple[int, int]:
        """Rows and columns of visual tokens of pages of this size."""
        return pixels.shape[-2] // self.config.token_height, pixels.shape[-1] // self.config.token_width


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


ROW_STEP, CELL_STEP = 10, 100
"""M-RoPE turns rows with its middle and columns with its slowest frequencies: steps that these can tell apart."""


def visual_positions(index: Tensor, num_columns: int, cells_per_token: int = 3) -> Tensor:
    """M-RoPE positions (3, ...) of visual tokens by raster index, columns those of their middle cells."""
    row, cell = index // num_columns, index % num_columns * cells_per_token + cells_per_token // 2
    return torch.cat([torch.ones_like(index)[None], text_positions(index, row, cell)[1:]])


def text_positions(count: Tensor, row: Tensor, cell: Tensor) -> Tensor:
    """M-RoPE positions (3, ...) of text tokens: how many came before, and where each was printed.

    Rows of visual tokens and columns of cells count from 0; -1 is nowhere, where the vision end stands.
    """
    return torch.stack([count + 2, ROW_STEP * (row + 1), CELL_STEP * (cell + 1)])


def place_of(positions: Tensor) -> tuple[Tensor, Tensor]:
    """Row and cell (...) of M-RoPE positions (3, ...)."""
    return positions[1] // ROW_STEP - 1, positions[2] // CELL_STEP - 1
