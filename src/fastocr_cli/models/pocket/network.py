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

MAX_SIDE = 256
"""Most rows and columns of visual tokens that have a place code."""


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
    token_height: int = 24
    token_width: int = 16
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
    """Neighbouring visual tokens exchange what they know: depthwise 3 x 7, then a pointwise MLP."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.dw = nn.Conv2d(channels, channels, (3, 7), 1, (1, 3), groups=channels)
        self.n = nn.BatchNorm2d(channels)
        self.u = nn.Conv2d(channels, 4 * channels, 1)
        self.d = nn.Conv2d(4 * channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        mixed: Tensor = x + self.d(F.gelu(self.u(self.n(self.dw(x)))))
        return mixed


class Vision(nn.Module):
    """Grey page in, one visual token per `token_height` x `token_width` pixels out."""

    def __init__(self, config: PocketConfig) -> None:
        super().__init__()
        width = config.hidden_size
        small, middle, large = config.vision_channels
        self.layer = nn.Embedding(2 * NUM_CLASSES, large)  # the page's own characters: left halves, then right
        rows, columns = place_codes(width)
        self.rows, self.cols = nn.Parameter(rows), nn.Parameter(columns)
        self.trunk = nn.Sequential(
            conv_norm_relu(1, small, 2),
            conv_norm_relu(small, middle, 2),
            Residual(middle),
            conv_norm_relu(middle, large, 2),
            *(Residual(large) for _ in range(3)),
        )
        cells = (config.token_height // CELL, config.token_width // CELL)
        self.pool = nn.Conv2d(large, width, cells, cells)
        self.mix = nn.Sequential(*(Mix(width) for _ in range(4)))
        self.norm = nn.LayerNorm(width)

    def forward(self, pixels: Tensor, cells: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Encode pages of one size.

        Args:
            pixels: (batch, 1, height, width), 0 for white to 1 for black.
            cells: (batch, 2, height / 8, width / 8), the class of the character in each half cell, 0 for none.

        Returns:
            features (batch, channels, height / 8, width / 8) before the characters joined, and visual tokens
            (batch, rows * columns, hidden) in raster order, without their place codes.
        """
        features = self.trunk(pixels)
        joined = features
        if cells is not None:
            known = self.layer(cells[:, 0]) + self.layer(cells[:, 1] + NUM_CLASSES)
            joined = features + known.permute(0, 3, 1, 2)
        tokens = self.mix(self.pool(joined))
        return features, self.norm(tokens.flatten(2).transpose(1, 2))


def place_codes(width: int) -> tuple[Tensor, Tensor]:
    """Sine codes of rows and columns, each (MAX_SIDE, width): wavelengths 4 to 512 tokens, in separate halves."""
    frequency = math.tau / 4 / (128 ** (torch.arange(width // 4) / (width // 4 - 1)))
    angle = torch.arange(MAX_SIDE)[:, None] * frequency
    code, zeros = torch.cat([angle.sin(), angle.cos()], 1), torch.zeros(MAX_SIDE, width // 2)
    return 0.5 * torch.cat([code, zeros], 1), 0.5 * torch.cat([zeros, code], 1)


class PocketNetwork(nn.Module):
    """Encoder, decoder and the head that names the character in each cell (training only)."""

    def __init__(self, config: PocketConfig, attn_implementation: str = "sdpa") -> None:
        super().__init__()
        self.config = config
        self.lm = Qwen2_5_VLTextModel._from_config(config.text_config(), attn_implementation=attn_implementation)
        self.vis = Vision(config)
        self.aux = nn.Conv2d(config.vision_channels[-1], 2 * NUM_CLASSES, 1)
        nn.init.normal_(self.lm.embed_tokens.weight, std=0.02)

    def embed(self, ids: Tensor) -> Tensor:
        """Token ids (batch, length) to decoder inputs (batch, length, hidden)."""
        embeds: Tensor = self.lm.embed_tokens(ids) * self.config.embedding_scale
        return embeds

    def place(self, num_rows: int, num_columns: int) -> Tensor:
        """Place codes of a grid of visual tokens, (rows * columns, hidden)."""
        return (self.vis.rows[:num_rows, None] + self.vis.cols[None, :num_columns]).flatten(0, 1)

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., hidden) to (..., vocabulary); the head is the embedding."""
        return F.linear(hidden, self.lm.embed_tokens.weight)

    def prompt(self, pixels: Tensor, cells: Tensor | None = None) -> Tensor:
        """Vision start, the page's visual tokens with their places, vision end: (batch, 2 + visual, hidden)."""
        num_rows, num_columns = self.grid(pixels)
        _, tokens = self.vis(pixels, cells)
        edges = torch.tensor([self.config.vision_start_token_id, self.config.vision_end_token_id], device=pixels.device)
        start, end = self.embed(edges).expand(len(pixels), -1, -1).split(1, dim=1)
        return torch.cat([start, tokens + self.place(num_rows, num_columns), end], 1)

    def grid(self, pixels: Tensor) -> tuple[int, int]:
        """Rows and columns of visual tokens of pages of this size."""
        return pixels.shape[-2] // self.config.token_height, pixels.shape[-1] // self.config.token_width


def positions(num_rows: int, num_columns: int, num_text: int = 1) -> Tensor:
    """M-RoPE positions (3, 1 + visual + num_text): start at 0, visual (0, row, column) + 1, then text.

    Text begins with the vision end at 1 + max(rows, columns); all its three axes are equal.
    """
    token = torch.arange(num_rows * num_columns)
    visual = torch.stack([torch.zeros_like(token), token // num_columns, token % num_columns]) + 1
    text = torch.arange(num_text).expand(3, -1) + 1 + max(num_rows, num_columns)
    return torch.cat([torch.zeros(3, 1, dtype=torch.long), visual, text], 1)
