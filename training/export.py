"""Writes the averaged weights where the package reads them: python -m training.export RUN/last.pt FOLDER."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import save_file

from fastocr_cli.models.pocket.config import PocketConfig


def export(checkpoint: Path, folder: Path) -> None:
    """Half precision weights and the sizes; the tokenizer stays as it is."""
    state = torch.load(checkpoint, map_location="cpu")
    weights = state["network"] | {name: w for name, w in state["mean"].items() if name in state["network"]}
    half = {name: (w.half() if w.is_floating_point() else w).contiguous() for name, w in weights.items()}
    folder.mkdir(parents=True, exist_ok=True)
    save_file(half, folder / "model.safetensors", metadata={"step": str(state["step"])})
    config = PocketConfig(vocab_size=len(weights["lm.embed_tokens.weight"]))
    values = {"model_type": "pocket", **asdict(config), "training_step": state["step"]}
    (folder / "config.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkpoint", type=Path)
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    export(options.checkpoint, options.folder)
