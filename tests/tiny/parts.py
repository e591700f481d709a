"""What every tiny checkpoint is made of: a byte-level tokenizer, random weights under the names of the real files."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from tokenizers import AddedToken, Tokenizer, decoders, pre_tokenizers
from tokenizers.models import BPE

NUM_BYTES = 256


def build_tokenizer(special: Sequence[str]) -> Tokenizer:
    """One token a byte, then the special tokens: their ids follow on 256."""
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(BPE({char: index for index, char in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(token, normalized=False, special=True) for token in special])
    return tokenizer


def randomize(network: torch.nn.Module, seed: int = 0) -> None:
    """Weights large enough that a picture, a position and a token each change what comes next."""
    generator = torch.Generator().manual_seed(seed)
    for name, weight in network.state_dict().items():
        if weight.ndim > 1 or "bias" in name or "newline" in name:
            weight.normal_(0, 1.5 * max(weight[0].numel(), 1) ** -0.5 if weight.ndim > 1 else 0.2, generator=generator)


def save_checkpoint(
    folder: Path,
    network: torch.nn.Module,
    renames: Sequence[tuple[str, str]],
    config: Mapping[str, Any],
    special: Sequence[str],
    **files: Mapping[str, Any],
) -> None:
    """Write config, weights and tokenizer.

    Args:
        renames: (pattern, replacement) from transformers' names to those in the real files; the first match counts.
        files: more JSON files, by their name without ending.
    """
    folder.mkdir(parents=True, exist_ok=True)
    tied = set(getattr(network, "_tied_weights_keys", None) or ()) if network.config.tie_word_embeddings else set()
    weights = {
        original_name(name, renames): weight.clone().contiguous()
        for name, weight in network.state_dict().items()
        if name not in tied
    }
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    build_tokenizer(special).save(str(folder / "tokenizer.json"))
    for name, values in {"config": config, **files}.items():
        (folder / f"{name}.json").write_text(json.dumps(values))


def original_name(name: str, renames: Sequence[tuple[str, str]]) -> str:
    for pattern, replacement in renames:
        renamed, count = re.subn(pattern, replacement, name)
        if count:
            return renamed
    return name
