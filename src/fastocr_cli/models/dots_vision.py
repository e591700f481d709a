"""The vision tower of dots.ocr: 14 x 14 patches in, one visual token for every 2 x 2 of them out.

Attribute names are the names in the published weights. Knows nothing of images, prompts or the decoder.
"""

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ROPE_THETA = 10_000.0


@dataclass(frozen=True)
class DotsVisionConfig:
    """The sizes, in the words of `vision_config`; the defaults are those of the published weights."""

    embed_dim: int = 1536
    """Width of the tower."""
    hidden_size: int = 1536
    """Width of the decoder, which the merger writes."""
    intermediate_size: int = 4224
    num_hidden_layers: int = 42
    num_attention_heads: int = 12
    num_channels: int = 3
    patch_size: int = 14
    spatial_merge_size: int = 2
    rms_norm_eps: float = 1e-5
    use_bias: bool = False

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "DotsVisionConfig":
        """Ignores what is not a size: initialisation, the choice of attention kernel."""
        return cls(**{key: value for key, value in values.items() if key in cls.__dataclass_fields__})

    @property
    def head_dim(self) -> int:
        return self.embed_dim // self.num_attention_heads


class DotsVisionTower(nn.Module):
    """A transformer over the patches of one page, each patch seeing all others."""

    def __init__(self, config: DotsVisionConfig) -> None:
        super().__init__()
        self.config = config
        self.patch_embed = PatchEmbed(config)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.num_hidden_layers))
        self.post_trunk_norm = nn.RMSNorm(config.embed_dim, eps=config.rms_norm_eps)
        self.merger = Merger(config)

    def forward(self, patches: Tensor, num_rows: int, num_columns: int) -> Tensor:
        """Encode one page.

        Args:
            patches: (num_rows * num_columns, channels * patch * patch), the four of each token side by side.
            num_rows, num_columns: of the page in patches; even.

        Returns:
            (num_rows * num_columns / 4, hidden_size), tokens row by row.
        """
        hidden = self.patch_embed(patches)
        places = patch_places(num_rows, num_columns, self.config.spatial_merge_size, patches.device)
        rotation = rotary(places, self.config.head_dim)
        for block in self.blocks:
            hidden = block(hidden, rotation)
        merged: Tensor = self.merger(self.post_trunk_norm(hidden))
        return merged


class PatchEmbed(nn.Module):
    def __init__(self, config: DotsVisionConfig) -> None:
        super().__init__()
        self.patchifier = Patchifier(config)

    def forward(self, patches: Tensor) -> Tensor:
        embedded: Tensor = self.patchifier(patches)
        return embedded


class Patchifier(nn.Module):
    """Patches (count, pixels) to (count, embed_dim)."""

    def __init__(self, config: DotsVisionConfig) -> None:
        super().__init__()
        size = config.patch_size
        self.proj = nn.Conv2d(config.num_channels, config.embed_dim, kernel_size=size, stride=size)
        self.norm = nn.RMSNorm(config.embed_dim, eps=config.rms_norm_eps)

    def forward(self, patches: Tensor) -> Tensor:
        # a convolution whose stride is its kernel is one matrix product, and far faster as one
        embedded: Tensor = self.norm(F.linear(patches, self.proj.weight.flatten(1), self.proj.bias))
        return embedded


class Block(nn.Module):
    def __init__(self, config: DotsVisionConfig) -> None:
        super().__init__()
        self.norm1 = nn.RMSNorm(config.embed_dim, eps=config.rms_norm_eps)
        self.attn = Attention(config)
        self.norm2 = nn.RMSNorm(config.embed_dim, eps=config.rms_norm_eps)
        self.mlp = GatedMlp(config)

    def forward(self, hidden: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        hidden = hidden + self.attn(self.norm1(hidden), rotation)
        hidden = hidden + self.mlp(self.norm2(hidden))
        return hidden


class Attention(nn.Module):
    """Full attention inside the page: SDPA without a mask, so that no (patches, patches) matrix is ever held."""

    def __init__(self, config: DotsVisionConfig) -> None:
        super().__init__()
        self.num_heads = config.num_attention_heads
        self.qkv = nn.Linear(config.embed_dim, 3 * config.embed_dim, bias=config.use_bias)
        self.proj = nn.Linear(config.embed_dim, config.embed_dim, bias=config.use_bias)

    def forward(self, hidden: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
        query, key, value = self.qkv(hidden).view(len(hidden), 3, self.num_heads, -1).permute(1, 2, 0, 3)
        query, key = rotate(query, rotation), rotate(key, rotation)
        output = F.scaled_dot_product_attention(query[None], key[None], value[None])[0]  # (heads, patches, head_dim)
        projected: Tensor = self.proj(output.transpose(0, 1).flatten(1))
        return projected


class GatedMlp(nn.Module):
    def __init__(self, config: DotsVisionConfig) -> None:
        super().__init__()
        self.fc1 = nn.Linear(config.embed_dim, config.intermediate_size, bias=config.use_bias)  # gate
        self.fc2 = nn.Linear(config.intermediate_size, config.embed_dim, bias=config.use_bias)
        self.fc3 = nn.Linear(config.embed_dim, config.intermediate_size, bias=config.use_bias)

    def forward(self, hidden: Tensor) -> Tensor:
        narrowed: Tensor = self.fc2(F.silu(self.fc1(hidden)) * self.fc3(hidden))
        return narrowed


class Merger(nn.Module):
    """The patches of one token, side by side, to one vector of the decoder's width."""

    def __init__(self, config: DotsVisionConfig) -> None:
        super().__init__()
        self.width = config.embed_dim * config.spatial_merge_size**2
        self.ln_q = nn.LayerNorm(config.embed_dim, eps=1e-6)
        self.mlp = nn.Sequential(
            nn.Linear(self.width, self.width), nn.GELU(), nn.Linear(self.width, config.hidden_size)
        )

    def forward(self, hidden: Tensor) -> Tensor:
        merged: Tensor = self.mlp(self.ln_q(hidden).view(-1, self.width))
        return merged


def patch_places(num_rows: int, num_columns: int, merge: int, device: torch.device) -> Tensor:
    """Row and column of each patch, (num_rows * num_columns, 2), the patches of a token side by side."""
    rows = torch.arange(num_rows, device=device)[:, None].expand(num_rows, num_columns)
    columns = torch.arange(num_columns, device=device).expand(num_rows, num_columns)
    grid = torch.stack([rows, columns], -1).view(num_rows // merge, merge, num_columns // merge, merge, 2)
    return grid.transpose(1, 2).reshape(-1, 2)


def rotary(places: Tensor, head_dim: int) -> tuple[Tensor, Tensor]:
    """Cosine and sine, float32 (patches, head_dim), of angles that grow with row and column, a quarter each, twice."""
    steps = torch.arange(0, head_dim // 2, 2, device=places.device, dtype=torch.float32)
    angles = places[..., None].float() * ROPE_THETA ** (-steps / (head_dim // 2))  # (patches, 2, head_dim / 4)
    twice = angles.flatten(1).repeat(1, 2)
    return twice.cos(), twice.sin()


def rotate(states: Tensor, rotation: tuple[Tensor, Tensor]) -> Tensor:
    """Turn (heads, patches, head_dim) by its angles; in float32, as the weights were trained."""
    cosine, sine = rotation
    first, second = states.float().chunk(2, -1)
    return (states.float() * cosine + torch.cat([-second, first], -1) * sine).to(states.dtype)
