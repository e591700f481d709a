"""Trains pocket: python -m training.train --data DATA --out RUN [--init model.safetensors] [--steps N --decay N].

Stops and resumes anywhere; every schedule counts steps. The rate is constant after a warm-up until `--decay` steps
before the end, then falls to zero.
"""

import argparse
import json
import os
import random
import signal
import time
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from fastocr_cli.models.pocket import cells as cells_module
from fastocr_cli.models.pocket.cells import NUM_CLASSES
from fastocr_cli.models.pocket.network import PocketConfig
from training.attention import Pruning
from training.batches import Mixture, Pages, held_out_batches, loader
from training.losses import Weights, losses
from training.model import Batch, Trainee

SHIPPED = Path(cells_module.__file__).parent
HELD_OUT_MIXTURE = Mixture(small=0.2, middle=0.0, num_positions=3000, reuse=0)
NUM_HELD_OUT_BATCHES = 4


@dataclass
class Config:
    data: Path = Path("data")
    out: Path = Path("run")
    tokenizer: Path = SHIPPED / "tokenizer.json"
    init: Path | None = None  # weights to start from where `out` has no checkpoint
    steps: int = 100_000  # the last step
    decay: int = 0  # steps before the last in which the rate falls to zero
    warm_up: int = 100
    rate: float = 5e-4
    ema: float = 0.998
    own_text: float = 0.5  # share of steps with the page's characters beside the picture
    wrong_text: float = 0.35  # share of those in which some are missing or wrong
    noise: float = 0.2  # most text inputs replaced by random ones
    encoder_only: bool = False  # the decoder is left out and left alone
    pruned: float = 0.25  # share of steps in which only focal layers see the whole page
    drop_blank: float = 0.75  # share of steps on single pages without the visual tokens of white paper
    small: float = 0.3
    middle: float = 0.25
    num_positions: int = 3000
    save_every: int = 100
    num_workers: int = 1
    threads: int = 2
    seed: int = 0
    device: str = "cuda" if torch.cuda.is_available() else "cpu"

    def rate_at(self, step: int, first: int) -> float:
        falling = (self.steps - step) / self.decay if self.decay else 1.0
        return self.rate * min(1.0, (step - first + 1) / self.warm_up, max(0.0, falling))


def parse() -> Config:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    for option in fields(Config):
        kind = Path if option.name in {"data", "out", "tokenizer", "init"} else type(option.default)
        how: dict[str, Any] = {"action": "store_true"} if kind is bool else {"type": kind, "default": option.default}
        parser.add_argument(f"--{option.name.replace('_', '-')}", **how)
    return Config(**vars(parser.parse_args()))


def known_characters(cells: Tensor, config: Config) -> Tensor | None:
    """The page's own text as a step gets it: none, all, or with holes, missing lines and wrong characters."""
    if random.random() >= config.own_text:
        return None
    if random.random() >= config.wrong_text:
        return cells
    cells = cells.clone()
    cells[torch.rand(cells.shape, device=cells.device) < random.uniform(0, 0.5)] = 0
    if random.random() < 0.5:  # a region without text: a scanned figure, a stamp
        height, width = cells.shape[-2:]
        top, left = random.randrange(height), random.randrange(width)
        cells[..., top : top + random.randrange(3, 40), left : left + random.randrange(10, width)] = 0
    wrong = (torch.rand(cells.shape, device=cells.device) < random.uniform(0, 0.1)) & (cells > 0)
    cells[wrong] = torch.randint(1, NUM_CLASSES, (int(wrong.sum()),), device=cells.device)
    return cells


def mistaken(inputs: Tensor, config: Config, vocab_size: int) -> Tensor:
    """Text inputs with some tokens replaced by others of the page or of the vocabulary, so that reading recovers."""
    share = random.uniform(0, config.noise) if random.random() < 0.7 else 0.0
    replace = torch.rand(inputs.shape, device=inputs.device) < share
    replace[:, 0] = False
    foreign = torch.randint(7, vocab_size, inputs.shape, device=inputs.device)
    near = inputs[:, torch.randperm(inputs.shape[1], device=inputs.device)]
    other = torch.where(torch.rand(inputs.shape, device=inputs.device) < 0.5, foreign, near)
    return torch.where(replace, other, inputs)


class Trainer:
    """The state of a run: weights, their running mean, optimiser, step."""

    def __init__(self, config: Config) -> None:
        self.config, self.device = config, torch.device(config.device)
        torch.manual_seed(config.seed)
        self.vocab_size = Tokenizer.from_file(str(config.tokenizer)).get_vocab_size()
        self.model = Trainee(PocketConfig(vocab_size=self.vocab_size), config.encoder_only).to(self.device)
        self.step = self.first = 0
        self.pages_seen = 0.0  # in letter pages, by visual tokens
        checkpoint = config.out / "last.pt"
        if config.init and not checkpoint.exists():
            self.model.network.load_state_dict(
                {k: v.float() if v.is_floating_point() else v for k, v in load_file(config.init).items()}
            )
        self.parameters = dict(self.model.network.named_parameters())
        wide = [p for p in self.parameters.values() if p.ndim > 1]
        narrow = [p for p in self.parameters.values() if p.ndim <= 1]
        groups = [{"params": wide, "weight_decay": 0.05}, {"params": narrow, "weight_decay": 0.0}]
        self.optimizer = torch.optim.AdamW(groups, lr=config.rate, betas=(0.9, 0.98), fused=True)
        self.mean = {name: p.detach().clone() for name, p in self.parameters.items()}
        if checkpoint.exists():
            self.load(checkpoint)

    def load(self, path: Path) -> None:
        state = torch.load(path, map_location=self.device)
        self.model.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.mean, self.step, self.pages_seen = state["mean"], state["step"], state["pages_seen"]
        self.first = state["first"]
        torch.set_rng_state(state["torch_rng"].cpu())
        random.setstate(state["python_rng"])

    def save(self) -> None:
        """Written beside and renamed, so that a run killed at any time resumes."""
        state = {
            "network": self.model.network.state_dict(),
            "mean": self.mean,
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "first": self.first,
            "pages_seen": self.pages_seen,
            "torch_rng": torch.get_rng_state(),
            "python_rng": random.getstate(),
        }
        self.config.out.mkdir(parents=True, exist_ok=True)
        torch.save(state, self.config.out / "writing.pt")
        os.replace(self.config.out / "writing.pt", self.config.out / "last.pt")

    def forward(
        self, batch: Batch, cells: Tensor | None, inputs: Tensor, pruning: Pruning | None, drop_blank: bool
    ) -> tuple[Tensor, dict[str, float]]:
        """bf16 where it is fast, fp32 weights, softmaxes and losses."""
        with torch.autocast(self.device.type, dtype=torch.bfloat16):
            outputs = self.model(batch, cells, inputs, pruning, drop_blank)
            return losses(self.model, outputs, batch, Weights())

    def train_step(self, batch: Batch) -> dict[str, float]:
        config = self.config
        self.model.train()
        batch = batch.to(self.device)
        for group in self.optimizer.param_groups:
            group["lr"] = config.rate_at(self.step, self.first)
        cells = known_characters(batch.cells, config)
        pruning = Pruning() if random.random() < config.pruned and not config.encoder_only else None
        drop_blank = len(batch.image) == 1 and random.random() < config.drop_blank
        inputs = mistaken(batch.inputs, config, self.vocab_size)
        loss, parts = self.forward(batch, cells, inputs, pruning, drop_blank)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.optimizer.step()
        weights = [p.detach() for p in self.parameters.values()]
        torch._foreach_lerp_(list(self.mean.values()), weights, 1 - config.ema)
        self.step += 1
        self.pages_seen += len(batch.image) * batch.num_visual / 3520
        name = "pixels" if cells is None else "own_text"
        return {f"{k}_{name}" if k in {"text", "accuracy"} else k: v for k, v in parts.items()}

    @torch.no_grad()
    def held_out(self, batches: list[Batch]) -> dict[str, float]:
        """Next-token loss of the averaged weights: pixels alone, with the page's text, and pruned as in decoding."""
        weights = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._assign(self.mean)
        self.model.eval()
        found = {}
        kinds = [("pixels", False, None, False), ("own_text", True, None, False), ("pruned", True, Pruning(), False)]
        for name, own_text, pruning, drop in [*kinds, ("dropped", True, None, True)]:
            total = 0.0
            for batch in (b.to(self.device) for b in batches):
                cells = batch.cells if own_text else None
                parts = self.forward(batch, cells, batch.inputs, pruning, drop and len(batch.image) == 1)[1]
                total += parts["visual" if self.config.encoder_only else "text"]
            found[f"held_out_{name}"] = total / len(batches)
        self._assign(weights)
        return found

    def _assign(self, weights: dict[str, Tensor]) -> None:
        with torch.no_grad():
            torch._foreach_copy_(list(self.parameters.values()), list(weights.values()))


def run(config: Config) -> None:
    torch.set_num_threads(config.threads)
    trainer = Trainer(config)
    mixture = Mixture(config.small, config.middle, config.num_positions)
    held_out = held_out_batches(config.data, config.tokenizer, NUM_HELD_OUT_BATCHES, HELD_OUT_MIXTURE)
    batches = loader(Pages(config.data, config.tokenizer, mixture, config.seed + trainer.step), config.num_workers)
    running: dict[str, float] = {}
    asked_to_stop: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: asked_to_stop.append(number))
    began, active = time.process_time(), time.monotonic()
    while trainer.step < config.steps and not asked_to_stop:
        parts = trainer.train_step(next(batches))
        running |= {k: 0.95 * running.get(k, v) + 0.05 * v for k, v in parts.items()}
        if trainer.step % 20 == 0:
            report(trainer, running, (time.monotonic() - active) / 20)
            active = time.monotonic()
        if trainer.step % config.save_every == 0 or trainer.step == config.steps:
            trainer.save()
            found = trainer.held_out(held_out) | {"cpu_seconds": time.process_time() - began}
            report(trainer, found, 0)
            active = time.monotonic()
    trainer.save()


def report(trainer: Trainer, values: dict[str, float], seconds: float) -> None:
    """One line to look at, one JSON line for the learning curve."""
    line = dict(step=trainer.step, pages=round(trainer.pages_seen, 1), **{k: round(v, 4) for k, v in values.items()})
    print(" ".join(f"{k}={v}" for k, v in line.items()), f"{seconds:.2f} s/step", flush=True)
    with (trainer.config.out / "curve.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    run(parse())
