"""Endless batches of pages, from small crops to whole pages."""

import itertools
import os
import pickle
import random
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch.utils.data import DataLoader, IterableDataset

from training.content import Content
from training.degrade import degrade
from training.document import Writer
from training.model import Batch
from training.page import Page, blanks, cells, halves
from training.realset import unpack
from training.typeset import typeset

END, VISION_END = 2, 4  # token ids

Shape = tuple[int, int]  # columns and rows of visual tokens
SMALL: list[Shape] = [(14, 9), (20, 12), (21, 15), (27, 15), (16, 12), (27, 18), (32, 24), (42, 30)]
MIDDLE: list[Shape] = [(21, 15), (32, 30), (42, 42), (42, 60), (29, 63)]
WHOLE: list[Shape] = [(43, 83), (42, 88), (43, 83), (42, 88), (33, 72)]  # letter, A4, a book page


@dataclass(frozen=True)
class Mixture:
    """Shares of the steps by size, and how many positions a batch holds."""

    small: float = 0.3
    middle: float = 0.25
    num_positions: int = 3000
    reuse: float = 0.5  # share of pages seen before, worn anew
    real: float = 0.2  # share of steps with a real page, where there are any

    def shape(self, rng: random.Random) -> Shape:
        dice = rng.random()
        return rng.choice(SMALL if dice < self.small else MIDDLE if dice < self.small + self.middle else WHOLE)


def token_halves(page: Page, offsets: list[tuple[int, int]]) -> tuple[list[int], list[bool]]:
    """The half cell of every text token's first printed character, and whether it is printed there itself.

    What is not printed (marks, tags) lies where the next printed token lies, the last ones where the last one does.
    """
    of_character = halves(page)
    own = []
    for start, stop in offsets:
        printed = [p for p in of_character[start:stop] if p >= 0]
        own.append(int(printed[0]) if printed else -1)
    filled = list(own)
    for i in reversed(range(len(own) - 1)):
        filled[i] = filled[i] if filled[i] >= 0 else filled[i + 1]
    for i in range(1, len(own)):
        filled[i] = filled[i] if filled[i] >= 0 else filled[i - 1]
    return filled, [place >= 0 for place in own]


def collate(pages: list[Page], tokenizer: Tokenizer) -> Batch:
    """Pages of one size as tensors."""
    encoded = [tokenizer.encode(page.target) for page in pages]
    length = 1 + max(len(e.ids) for e in encoded)
    shape = (len(pages), length)
    inputs, labels = torch.zeros(shape, dtype=torch.long), torch.full(shape, -100)
    where, printed = torch.full(shape, -1), torch.zeros(shape, dtype=torch.bool)
    inputs[:, 0] = VISION_END
    for row, (page, code) in enumerate(zip(pages, encoded, strict=True)):
        count = len(code.ids)
        inputs[row, 1 : 1 + count] = torch.tensor(code.ids)
        labels[row, : 1 + count] = torch.tensor([*code.ids, END])
        filled, own = token_halves(page, code.offsets)
        where[row, :count] = torch.tensor(filled)
        printed[row, :count] = torch.tensor(own)
    image = torch.from_numpy(np.stack([page.image for page in pages]))[:, None]
    letters, spaces = (torch.from_numpy(np.stack([grid(page) for page in pages])) for grid in (cells, blanks))
    return Batch(image, letters, spaces, inputs, labels, where, printed)


class Pages(IterableDataset[Batch]):
    """Batches without end; the seed decides all of them."""

    def __init__(self, data: Path, tokenizer: Path, mixture: Mixture, seed: int, held_out: bool = False) -> None:
        self.data, self.tokenizer, self.mixture = data, str(tokenizer), mixture
        self.seed, self.held_out = seed, held_out

    def __iter__(self) -> Iterator[Batch]:
        worker = torch.utils.data.get_worker_info()
        rng = random.Random(f"{self.seed}/{worker.id if worker else 0}")
        tokenizer = Tokenizer.from_file(self.tokenizer)
        writer = Writer(Content(self.data, rng, self.held_out), rng)
        fresh: defaultdict[Shape, list[Page]] = defaultdict(list)
        seen: defaultdict[Shape, list[Page]] = defaultdict(list)
        real_file = self.data / "real.pickle"
        real = pickle.loads(real_file.read_bytes()) if real_file.exists() and not self.held_out else []
        while True:
            if real and rng.random() < self.mixture.real:
                yield collate([degrade(unpack(rng.choice(real)), rng)], tokenizer)
                continue
            shape = self.mixture.shape(rng)
            num_visual = shape[0] * shape[1]
            count = max(1, min(28, int(self.mixture.num_positions / num_visual)))
            while len(fresh[shape]) < count:
                num_pages = max(2, min(24, 1200 // num_visual + 2))
                fresh[shape] += typeset(writer.document(*shape, num_pages), *shape)
                rng.shuffle(fresh[shape])
            chosen = [self._take(fresh[shape], seen[shape], rng) for _ in range(count)]
            yield collate([degrade(page, rng) for page in chosen], tokenizer)

    def _take(self, fresh: list[Page], seen: list[Page], rng: random.Random) -> Page:
        if seen and rng.random() < self.mixture.reuse:
            return rng.choice(seen)
        page = fresh.pop()
        seen.append(page)
        del seen[:-200]
        return page


def loader(pages: Pages, num_workers: int) -> Iterator[Batch]:
    """Batches made beside the training. Workers are spawned: a fork would inherit locks of Typst's threads."""
    if not num_workers:
        return iter(pages)
    return iter(
        DataLoader(
            pages,
            batch_size=None,
            num_workers=num_workers,
            prefetch_factor=12,
            multiprocessing_context="spawn",
            worker_init_fn=_give_way,
        )
    )


def _give_way(_: int) -> None:
    """A worker that takes a core from a matrix product holds up all of its threads."""
    os.nice(19)


def held_out_batches(data: Path, tokenizer: Path, count: int, mixture: Mixture, seed: int = 987_651) -> list[Batch]:
    """The same few batches every time, for the learning curve."""
    return list(itertools.islice(Pages(data, tokenizer, mixture, seed, held_out=True), count))
