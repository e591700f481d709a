"""Checkpoints written from a list of published names and shapes: no class of ours or of transformers has a say."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

from tiny.parts import build_tokenizer


class Random:
    """Random weights that keep signals alive through the layers."""

    def __init__(self, seed: int) -> None:
        self.generator = torch.Generator().manual_seed(seed)

    def matrix(self, *shape: int) -> Tensor:
        spread = 1.5 / torch.Size(shape[1:]).numel() ** 0.5 if len(shape) > 1 else 0.3
        return spread * torch.randn(shape, generator=self.generator)

    def scale(self, size: int) -> Tensor:
        return 1 + 0.2 * torch.randn(size, generator=self.generator)


def write_checkpoint(
    folder: Path, config: Mapping[str, Any], weights: Mapping[str, Tensor], special: Sequence[str], **files: Any
) -> None:
    """Config, weights and tokenizer; `files`: more JSON files, by their name without ending."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(dict(weights), folder / "model.safetensors", metadata={"format": "pt"})
    build_tokenizer(special).save(str(folder / "tokenizer.json"))
    for name, values in {"config": config, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(values))
