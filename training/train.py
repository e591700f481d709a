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
from typing import Any, get_args

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from fastocr_cli.models.pocket import cells as cells_module
from fastocr_cli.models.pocket.config import PocketConfig
from training.attention import Pruning
from training.batches import Mixture, Pages, held_out_batches, loader
from training.losses import Weights, losses
from training.mistakes import known_characters, misplaced, mistaken
from training.model import Batch, Part, Trainee
from training.optimizers import has_bfloat16, optimizers

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
    picture: float = 0.5  # share of steps that read the picture; the others read the characters alone
    own_text: float = 0.3  # share of those with the page's characters beside the picture
    noise: float = 0.1  # most text inputs, and most places, replaced by others
    part: Part = "all"  # what is trained (model.Part)
    own_places: float = 0.25  # share of steps that are told where the model itself would have read
    pruned: float = 0.25  # share of steps in which only focal layers see the whole page
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
        how: dict[str, Any] = {"type": kind, "default": option.default}
        if option.name == "part":
            how["choices"] = get_args(Part)
        parser.add_argument(f"--{option.name.replace('_', '-')}", **how)
    return Config(**vars(parser.parse_args()))


class Together:
    """Processes that share each step, as torchrun starts them; one alone without it."""

    def __init__(self) -> None:
        self.size = int(os.environ.get("WORLD_SIZE", "1"))
        self.rank = 0
        if self.size > 1:
            torch.distributed.init_process_group("nccl" if torch.cuda.is_available() else "gloo")
            self.rank = torch.distributed.get_rank()

    def average(self, parameters: list[torch.nn.Parameter], stop: bool) -> bool:
        """Make the gradients the mean over all processes; tells whether any of them was asked to stop."""
        if self.size == 1:
            return stop
        grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
        joined = torch.cat([*(g.flatten() for g in grads), grads[0].new_full((1,), float(stop))])
        torch.distributed.all_reduce(joined)
        for parameter, grad in zip(parameters, joined.split([g.numel() for g in grads] + [1]), strict=False):
            parameter.grad = (grad / self.size).view_as(parameter)
        return bool(joined[-1] > 0)

    def leave(self) -> None:
        """End together: one that is gone while another still listens may abort it."""
        if self.size > 1:
            torch.distributed.barrier()
            torch.distributed.destroy_process_group()


class Trainer:
    """The state of a run: weights, their running mean, optimiser, step."""

    def __init__(self, config: Config) -> None:
        self.config, self.device = config, torch.device(config.device)
        self.together = Together()
        self.asked_to_stop = self.stopping = False
        torch.manual_seed(config.seed)
        tokenizer = Tokenizer.from_file(str(config.tokenizer))
        self.vocab_size = tokenizer.get_vocab_size()
        sizes = PocketConfig(vocab_size=self.vocab_size)
        self.model = Trainee(sizes, tokenizer, config.part).to(self.device)
        self.step = self.first = 0
        self.pages_seen = 0.0  # in letter pages, by visual tokens
        checkpoint = config.out / "last.pt"
        if config.init and not checkpoint.exists():
            self.begin_from(load_file(config.init))
        self.parameters = {n: p for n, p in self.model.network.named_parameters() if p.requires_grad}
        self.parameters |= {f"heads.{n}": p for n, p in self.model.heads.named_parameters()}
        self.optimizers = optimizers(self.parameters, config.rate, self.device)
        self.mean = {name: p.detach().clone() for name, p in self.parameters.items()}
        if checkpoint.exists():
            self.load(checkpoint)

    def begin_from(self, weights: dict[str, Tensor]) -> None:
        """Take the weights that fit in name and shape; what is new starts from nothing."""
        own = self.model.network.state_dict()
        fitting = {k: v for k, v in weights.items() if k in own and v.shape == own[k].shape}
        print(f"{len(fitting)} of {len(own)} tensors from {self.config.init}")
        self.model.network.load_state_dict(fitting, strict=False)

    def load(self, path: Path) -> None:
        """Go on; where another part is trained than before, or with other optimisers, these and the mean start anew."""
        state = torch.load(path, map_location=self.device)
        self.model.network.load_state_dict(state["network"])
        self.model.heads.load_state_dict(state["heads"])
        self.step, self.pages_seen = state["step"], state["pages_seen"]
        same = state["mean"].keys() == self.mean.keys()
        if same and len(state.get("optimizers", [])) == len(self.optimizers):
            for optimizer, its_state in zip(self.optimizers, state["optimizers"], strict=True):
                optimizer.load_state_dict(its_state)
            self.mean, self.first = state["mean"], state["first"]
        else:
            self.mean = {name: state["mean"].get(name, p.detach().clone()) for name, p in self.parameters.items()}
            self._assign(self.mean)
            self.first = self.step
        torch.set_rng_state(state["torch_rng"].cpu())
        random.setstate(state["python_rng"])
        if self.together.rank:  # each process draws its own mistakes
            random.seed(f"{self.together.rank}/{self.step}")
            torch.manual_seed(random.getrandbits(32))

    def save(self) -> None:
        """Written beside and renamed, so that a run killed at any time resumes."""
        state = {
            "network": self.model.network.state_dict(),
            "heads": self.model.heads.state_dict(),
            "mean": self.mean,
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "step": self.step,
            "first": self.first,
            "pages_seen": self.pages_seen,
            "torch_rng": torch.get_rng_state(),
            "python_rng": random.getstate(),
        }
        self.config.out.mkdir(parents=True, exist_ok=True)
        torch.save(state, self.config.out / "writing.pt")
        os.replace(self.config.out / "writing.pt", self.config.out / "last.pt")

    def autocast(self) -> torch.autocast:
        """bf16 where it is fast; weights stay fp32."""
        return torch.autocast(self.device.type, dtype=torch.bfloat16, enabled=has_bfloat16(self.device))

    def forward(
        self,
        batch: Batch,
        cells: Tensor | None,
        inputs: Tensor,
        places: Tensor,
        pruning: Pruning | None,
        look: bool,
    ) -> tuple[Tensor, dict[str, float]]:
        """Losses, in fp32 as softmaxes are."""
        with self.autocast():
            outputs = self.model(batch, cells, inputs, places, pruning, look)
            return losses(self.model, outputs, batch, Weights())

    @torch.no_grad()
    def own_places(self, batch: Batch, cells: Tensor | None, inputs: Tensor, places: Tensor, look: bool) -> Tensor:
        """The places of the inputs as the model finds them, as it will have to in decoding: [batch, n]."""
        with self.autocast():
            hidden = self.model(batch, cells, inputs, places, None, look).hidden
            row, cell = (scores.argmax(-1) for scores in self.model.network.place_logits(hidden))
        found = (row * batch.num_cells + cell.clamp(max=batch.num_cells - 1)).clamp(max=batch.num_places - 1)
        return F.pad(found[:, :-1], (1, 0), value=-1)

    def train_step(self, batch: Batch) -> dict[str, float]:
        config = self.config
        self.model.train()
        batch = batch.to(self.device)
        for group in (group for optimizer in self.optimizers for group in optimizer.param_groups):
            group["lr"] = config.rate_at(self.step, self.first)
        shared = random.Random(f"{config.seed}/{self.step}")  # processes wait for each other: all do the same kind
        decodes = config.part in {"words", "all"}
        look = config.part == "trunk" or shared.random() < config.picture
        cells = known_characters(batch.cells, look, config.own_text)
        pruning = Pruning() if shared.random() < config.pruned and decodes else None
        inputs = mistaken(batch.inputs, config.noise, self.vocab_size)
        places = misplaced(batch.places, batch.num_cells, batch.num_places, config.noise)
        if shared.random() < config.own_places and decodes:
            places = self.own_places(batch, cells, inputs, places, look)
        loss, parts = self.forward(batch, cells, inputs, places, pruning, look)
        self.model.zero_grad(set_to_none=True)
        loss.backward()
        self.stopping = self.together.average(list(self.parameters.values()), self.asked_to_stop)
        torch.nn.utils.clip_grad_norm_(self.parameters.values(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
        weights = [p.detach() for p in self.parameters.values()]
        torch._foreach_lerp_(list(self.mean.values()), weights, 1 - config.ema)
        self.step += 1
        self.pages_seen += self.together.size * len(batch.image) * batch.num_visual / 3520
        name = "pixels" if cells is None else "both" if look else "characters"
        return {f"{k}_{name}" if k in {"text", "accuracy", "places"} else k: v for k, v in parts.items()}

    @torch.no_grad()
    def held_out(self, batches: list[Batch]) -> dict[str, float]:
        """Next-token loss and accuracy of the averaged weights: from pixels, from characters, pruned as in decoding."""
        weights = {name: p.detach().clone() for name, p in self.parameters.items()}
        self._assign(self.mean)
        self.model.eval()
        found: dict[str, float] = {}
        kinds = [("pixels", False, None), ("characters", True, None), ("pruned", True, Pruning())]
        kinds = kinds[: {"trunk": 1, "blanks": 2}.get(self.config.part, 3)]
        for name, own_text, pruning in kinds:
            for batch in (b.to(self.device) for b in batches):
                cells = batch.cells if own_text else None
                places = F.pad(batch.places[:, :-1], (1, 0), value=-1)
                parts = self.forward(batch, cells, batch.inputs, places, pruning, not own_text)[1]
                for part in parts.keys() & {"text", "accuracy", "places", "visual", "cells", "blanks", "spaces"}:
                    key = f"held_out_{part}_{name}"
                    found[key] = found.get(key, 0.0) + parts[part] / len(batches)
        self._assign(weights)
        return found

    def _assign(self, weights: dict[str, Tensor]) -> None:
        with torch.no_grad():
            torch._foreach_copy_(list(self.parameters.values()), list(weights.values()))


def run(config: Config) -> None:
    torch.set_num_threads(config.threads)
    config.out.mkdir(parents=True, exist_ok=True)
    trainer = Trainer(config)
    leads = trainer.together.rank == 0
    mixture = Mixture(config.small, config.middle, config.num_positions)
    held_out = held_out_batches(config.data, config.tokenizer, NUM_HELD_OUT_BATCHES, HELD_OUT_MIXTURE) if leads else []
    seed = config.seed + trainer.step + 1_000_003 * trainer.together.rank
    batches = loader(Pages(config.data, config.tokenizer, mixture, seed), config.num_workers)
    running: dict[str, float] = {}

    def stop(*_: object) -> None:
        trainer.asked_to_stop = True

    signal.signal(signal.SIGTERM, stop)
    began, active = time.process_time(), time.monotonic()
    while trainer.step < config.steps and not trainer.stopping:
        parts = trainer.train_step(next(batches))
        running |= {k: 0.95 * running.get(k, v) + 0.05 * v for k, v in parts.items()}
        if leads and trainer.step % 20 == 0:
            report(trainer, running, (time.monotonic() - active) / 20)
            active = time.monotonic()
        if leads and (trainer.step % config.save_every == 0 or trainer.step == config.steps):
            trainer.save()
            found = trainer.held_out(held_out) | {"cpu_seconds": time.process_time() - began}
            report(trainer, found, 0)
            active = time.monotonic()
    if leads:
        trainer.save()
    trainer.together.leave()


def report(trainer: Trainer, values: dict[str, float], seconds: float) -> None:
    """One line to look at, one JSON line for the learning curve."""
    line = dict(step=trainer.step, pages=round(trainer.pages_seen, 1), **{k: round(v, 4) for k, v in values.items()})
    print(" ".join(f"{k}={v}" for k, v in line.items()), f"{seconds:.2f} s/step", flush=True)
    with (trainer.config.out / "curve.jsonl").open("a") as file:
        file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    run(parse())
