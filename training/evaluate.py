"""Next-token loss of weights on held-out whole pages, in a minute: python -m training.evaluate DATA WEIGHTS...

The pages are those of the learning curve (`held_out_*` in curve.jsonl): from pixels, from the characters of the page,
and from these with pruned attention. How well pages are read, letter by letter, is measured by
benchmarks/pocket_quality.py.
"""

import argparse
import tempfile
from pathlib import Path

import torch

from training.batches import held_out_batches
from training.train import HELD_OUT_MIXTURE, NUM_HELD_OUT_BATCHES, Config, Trainer


def evaluate(data: Path, weights: Path) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        config = Config(data=data, out=Path(folder), init=weights)
        batches = held_out_batches(data, config.tokenizer, NUM_HELD_OUT_BATCHES, HELD_OUT_MIXTURE)
        return Trainer(config).held_out(batches)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for path in options.weights:
        print(path, " ".join(f"{name}={value:.3f}" for name, value in evaluate(options.data, path).items()))
