"""What fits: bytes of weights and of a page's keys and values, held against what the device has free.

Knows configurations and devices; loads nothing.
"""

import logging
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import torch

from fastocr_cli.models import Checkpoint, hub
from fastocr_cli.models.base import VisionModel
from fastocr_cli.pages import Resolution
from fastocr_cli.pages.size import page_scale

logger = logging.getLogger("fastocr")

A4_POINTS = (595.28, 841.89)
MOST_ROWS_CPU, MOST_ROWS = 8, 32
"""More pages at once bring little: on a CPU the products are full at 8, on a GPU the caches fill the bandwidth."""
SPARE = 0.8
"""Share of free memory that pages may take: activations, logits and fragmentation need the rest."""
CGROUP_LIMIT, CGROUP_USED = Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory.current")


def free_bytes(device: torch.device) -> int:
    """Memory that can still be taken on a device; on a CPU, what system and container leave."""
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0]
    if device.type == "mps":
        return torch.mps.recommended_max_memory() - torch.mps.driver_allocated_memory()
    free: int = psutil.virtual_memory().available
    try:
        return min(free, int(CGROUP_LIMIT.read_text()) - int(CGROUP_USED.read_text()))
    except (OSError, ValueError):  # no container, or one without a limit
        return free


def text_settings(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of a config.json that describes the decoder, wherever its maker put it."""
    for name in ("text_config", "language_config", "llm_config"):
        if isinstance(config.get(name), Mapping):
            return config[name]  # type: ignore[no-any-return]
    return config


def kv_bytes_per_token(config: Mapping[str, Any], dtype: torch.dtype) -> int:
    """Bytes of keys and values of one position over all layers; 0 where the configuration does not say."""
    text = text_settings(config)
    heads, layers = text.get("num_attention_heads"), text.get("num_hidden_layers")
    if not heads or not layers:
        return 0
    head_dim = text.get("head_dim") or text.get("hidden_size", 0) // heads
    return int(2 * layers * (text.get("num_key_value_heads") or heads) * head_dim * dtype.itemsize)


def page_bytes(model: VisionModel) -> int:
    """Keys and values of one A4 page whose reply is as long as it may be."""
    num_visual = model.visual_tokens(*a4_size(model.resolution))
    per_token = kv_bytes_per_token(model.text_config.to_dict(), model.dtype)
    return per_token * (num_visual + model.max_new_tokens)


def a4_size(resolution: Resolution) -> tuple[int, int]:
    """Pixels of an A4 page at a resolution."""
    scale, _ = page_scale(*A4_POINTS, resolution)
    width, height = (math.ceil(points * scale) for points in A4_POINTS)
    return width, height


def default_batch_size(model: VisionModel) -> int:
    """Pages decoded together when nobody says: what fits in free memory, within reason."""
    most = MOST_ROWS_CPU if model.device.type == "cpu" else MOST_ROWS
    room = int(SPARE * free_bytes(model.device))
    return max(1, min(most, room // max(1, page_bytes(model))))


def warn_if_tight(checkpoint: Checkpoint, folder: Path, device: torch.device, dtype: torch.dtype) -> None:
    """Say, before the weights are loaded, that they and one page are not likely to fit."""
    config = hub.read_config(folder)
    stored = {"float32": 4, "float8_e4m3fn": 1}.get(str(config.get("dtype") or config.get("torch_dtype")), 2)
    weights = hub.weight_bytes(folder) * dtype.itemsize // stored
    page = kv_bytes_per_token(config, dtype) * (4096 + checkpoint.max_new_tokens)
    free = free_bytes(device)
    if weights + page > free:
        logger.warning(
            "%s needs about %.1f GB on %s (%.1f GB of weights as %s, %.1f GB a page); %.1f GB are free.",
            checkpoint.name,
            (weights + page) / 1e9,
            device,
            weights / 1e9,
            str(dtype).removeprefix("torch."),
            page / 1e9,
            free / 1e9,
        )
