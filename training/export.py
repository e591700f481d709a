"""Writes the averaged weights where the package reads them: python -m training.export RUN/last.pt FOLDER.

With --share S and --before OLD.safetensors they are mixed with those the run began from: S of the new, the rest of the
old (WiSE-FT, arXiv 2109.01903). A short run that learns new pages forgets less so.
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from fastocr_cli.models.pocket.config import PocketConfig


def export(checkpoint: Path, folder: Path, before: Path | None = None, share: float = 1.0) -> None:
    """Half precision weights and the sizes; the tokenizer stays as it is."""
    state = torch.load(checkpoint, map_location="cpu")
    weights = state["network"] | {name: w for name, w in state["mean"].items() if name in state["network"]}
    if before:
        old = load_file(before)
        weights = {
            name: torch.lerp(old[name].to(w), w, share) if w.is_floating_point() else w for name, w in weights.items()
        }
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
    parser.add_argument("--before", type=Path)
    parser.add_argument("--share", type=float, default=1.0)
    options = parser.parse_args()
    export(options.checkpoint, options.folder, options.before, options.share)
