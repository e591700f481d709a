"""DeepSeek-OCR's encoder once more, as plain sums over the published weights: what ours must agree with.

SAM's transformer (windows, decomposed relative positions), its neck and two halvings; CLIP's transformer over SAM's
map; both side by side through one projection.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from tiny.deepseek import CLIP_HEADS, CLIP_LAYERS, SAM_HEADS, SAM_LAYERS, WINDOW

Weights = dict[str, Tensor]


def page_features(weights: Weights, whole: Tensor, tiles: Tensor | None, grid: tuple[int, int]) -> Tensor:
    """(visual, width): line by line the tiles' grid, then the whole, each line with its end; last the separator."""
    line_end, separator = weights["model.image_newline"], weights["model.view_seperator"]
    found = []
    if tiles is not None:
        columns, rows = grid
        maps = view_features(weights, tiles)  # (tiles, side, side, width)
        for row in range(rows):
            strip = torch.cat(list(maps[row * columns : (row + 1) * columns]), 1)
            found += [torch.cat([line, line_end[None]]) for line in strip]
    found += [torch.cat([line, line_end[None]]) for line in view_features(weights, whole)[0]]
    return torch.cat([*found, separator[None]])


def view_features(weights: Weights, pixels: Tensor) -> Tensor:
    """(views, 3, side, side) to (views, side / 64, side / 64, width)."""
    sam = sam_map(part(weights, "model.sam_model."), pixels)  # (views, channels, side, side)
    clip = clip_map(part(weights, "model.vision_model."), sam)
    both = torch.cat([clip, sam.flatten(2).transpose(1, 2)], -1)
    features = F.linear(both, weights["model.projector.layers.weight"], weights["model.projector.layers.bias"])
    return features.unflatten(1, sam.shape[-2:])


def part(weights: Weights, prefix: str) -> Weights:
    return {name.removeprefix(prefix): weight for name, weight in weights.items() if name.startswith(prefix)}


def linear(weights: Weights, name: str, states: Tensor) -> Tensor:
    return F.linear(states, weights[f"{name}.weight"], weights[f"{name}.bias"])


def norm(weights: Weights, name: str, states: Tensor, eps: float) -> Tensor:
    return F.layer_norm(states, states.shape[-1:], weights[f"{name}.weight"], weights[f"{name}.bias"], eps)


def resized(table: Tensor, side: int) -> Tensor:
    """A square table (rows, columns, width) of places at another size."""
    if len(table) == side:
        return table
    return F.interpolate(table.permute(2, 0, 1)[None], (side, side), mode="bicubic", antialias=True)[0].permute(1, 2, 0)


def sam_map(weights: Weights, pixels: Tensor) -> Tensor:
    states = F.conv2d(pixels, weights["patch_embed.proj.weight"], weights["patch_embed.proj.bias"], stride=16)
    states = states.permute(0, 2, 3, 1)
    states = states + resized(weights["pos_embed"][0], states.shape[1])
    for index in range(SAM_LAYERS):
        block = part(weights, f"blocks.{index}.")
        normed = norm(block, "norm1", states, 1e-6)
        states = states + (
            windowed(block, normed) if len(block["attn.rel_pos_h"]) == 2 * WINDOW - 1 else sam_attention(block, normed)
        )
        states = states + linear(
            block, "mlp.lin2", F.gelu(linear(block, "mlp.lin1", norm(block, "norm2", states, 1e-6)))
        )
    channels = F.conv2d(states.permute(0, 3, 1, 2), weights["neck.0.weight"])
    channels = F.conv2d(channel_norm(weights, "neck.1", channels), weights["neck.2.weight"], padding=1)
    channels = channel_norm(weights, "neck.3", channels)
    for name in ("net_2", "net_3"):
        channels = F.conv2d(channels, weights[f"{name}.weight"], stride=2, padding=1)
    return channels


def channel_norm(weights: Weights, name: str, channels: Tensor) -> Tensor:
    return norm(weights, name, channels.permute(0, 2, 3, 1), 1e-6).permute(0, 3, 1, 2)


def windowed(block: Weights, states: Tensor) -> Tensor:
    """Attention inside windows of 14 x 14, the last ones filled up with zeros."""
    side = states.shape[1]
    padded = F.pad(states, (0, 0, 0, -side % WINDOW, 0, -side % WINDOW))
    output = torch.empty_like(padded)
    for y in range(0, padded.shape[1], WINDOW):
        for x in range(0, padded.shape[2], WINDOW):
            window = (slice(None), slice(y, y + WINDOW), slice(x, x + WINDOW))
            output[window] = sam_attention(block, padded[window])
    return output[:, :side, :side]


def sam_attention(block: Weights, states: Tensor) -> Tensor:
    """Full attention over (views, side, side, width), with what each query says to the distance along both axes."""
    side = states.shape[1]
    query, key, value = linear(block, "attn.qkv", states).unflatten(-1, (3, SAM_HEADS, -1)).unbind(3)
    distance = torch.arange(side)[:, None] - torch.arange(side) + side - 1
    by_row, by_column = (stretched(block[f"attn.rel_pos_{axis}"], 2 * side - 1)[distance] for axis in "hw")
    scores = torch.einsum("byxnc,bYXnc->bnyxYX", query, key) * query.shape[-1] ** -0.5
    scores = scores + torch.einsum("byxnc,yYc->bnyxY", query, by_row)[..., None]
    scores = scores + torch.einsum("byxnc,xXc->bnyxX", query, by_column)[..., None, :]
    mixed = scores.flatten(-2).softmax(-1) @ value.flatten(1, 2).transpose(1, 2)[:, :, None]
    return linear(block, "attn.proj", mixed.permute(0, 2, 3, 1, 4).flatten(3))


def stretched(table: Tensor, length: int) -> Tensor:
    """A table of distances (distances, width) at another length."""
    return F.interpolate(table.T[None], length, mode="linear")[0].T if len(table) != length else table


def clip_map(weights: Weights, sam: Tensor) -> Tensor:
    """(views, side * side, width)"""
    patches = sam.flatten(2).transpose(1, 2)
    states = torch.cat([weights["embeddings.class_embedding"].expand(len(patches), 1, -1), patches], 1)
    places = weights["embeddings.position_embedding.weight"]
    grid = resized(places[1:].unflatten(0, (16, 16)), sam.shape[-1]).flatten(0, 1)
    states = norm(weights, "pre_layrnorm", states + torch.cat([places[:1], grid]), 1e-5)
    for index in range(CLIP_LAYERS):
        layer = part(weights, f"transformer.layers.{index}.")
        qkv = linear(layer, "self_attn.qkv_proj", norm(layer, "layer_norm1", states, 1e-5))
        query, key, value = qkv.unflatten(-1, (3, CLIP_HEADS, -1)).permute(2, 0, 3, 1, 4)
        weight = (query @ key.transpose(-1, -2) * query.shape[-1] ** -0.5).softmax(-1)
        states = states + linear(layer, "self_attn.out_proj", (weight @ value).transpose(1, 2).flatten(2))
        inner = linear(layer, "mlp.fc1", norm(layer, "layer_norm2", states, 1e-5))
        states = states + linear(layer, "mlp.fc2", inner * torch.sigmoid(1.702 * inner))
    return states[:, 1:]
