"""What a step is given wrongly, so that reading recovers from mistakes of its own."""

import random

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.models.pocket.cells import NUM_CLASSES


def known_characters(cells: Tensor, look: bool, own_text: float) -> Tensor | None:
    """The page's characters as a step gets them.

    Beside a picture none, all, or all but a region (a scanned figure, a stamp). Alone they stand for what the trunk
    will make of pictures: half of the time some are wrong, lost or half a cell aside.
    """
    if look:
        if random.random() >= own_text:
            return None
        if random.random() < 0.5:
            height, width = cells.shape[-2:]
            top, left = random.randrange(height), random.randrange(width)
            cells = cells.clone()
            cells[..., top : top + random.randrange(3, 40), left : left + random.randrange(10, width)] = 0
        return cells
    if random.random() < 0.5:
        return cells
    cells = cells.clone()
    share = random.uniform(0, 0.06)
    halves = cells.movedim(1, -1).flatten(-2)  # [batch, height / 8, width / 4]
    aside = (torch.rand(halves.shape, device=cells.device) < share) & (halves > 0) & (halves.roll(-1, -1) == 0)
    aside[..., -1] = False
    halves = torch.where(aside, 0, halves) + torch.where(aside, halves, 0).roll(1, -1)
    cells = halves.unflatten(-1, (-1, 2)).movedim(-1, 1).contiguous()
    wrong = (torch.rand(cells.shape, device=cells.device) < share / 2) & (cells > 0)
    cells[wrong] = torch.randint(0, NUM_CLASSES, (int(wrong.sum()),), device=cells.device)
    return cells


def mistaken(inputs: Tensor, noise: float, vocab_size: int) -> Tensor:
    """Text inputs with some tokens replaced by others of the page or of the vocabulary, so that reading recovers."""
    share = random.uniform(0, noise) if random.random() < 0.7 else 0.0
    replace = torch.rand(inputs.shape, device=inputs.device) < share
    replace[:, 0] = False
    foreign = torch.randint(7, vocab_size, inputs.shape, device=inputs.device)
    near = inputs[:, torch.randperm(inputs.shape[1], device=inputs.device)]
    other = torch.where(torch.rand(inputs.shape, device=inputs.device) < 0.5, foreign, near)
    return torch.where(replace, other, inputs)


def misplaced(places: Tensor, num_cells: int, num_places: int, noise: float) -> Tensor:
    """Where each input was printed, [batch, n], -1 for the first: many a cell aside, some more, a few anywhere."""
    places = F.pad(places[:, :-1], (1, 0), value=-1)
    share = random.uniform(0, noise) if random.random() < 0.7 else 0.0
    dice = torch.rand(places.shape, device=places.device)
    nearby = places + torch.randint(0, 2, places.shape, device=places.device) * 2 - 1
    aside = torch.tensor([-3, -2, 2, 3, -num_cells, num_cells], device=places.device)
    aside = places + aside[torch.randint(0, len(aside), places.shape, device=places.device)]
    anywhere = torch.randint(0, num_places, places.shape, device=places.device)
    moved = places
    for replacement, most in ((nearby, 5 * share), (aside, share), (anywhere, share / 8)):
        moved = torch.where(dice < most, replacement, moved)
    return torch.where(places < 0, places, moved.clamp(0, num_places - 1))
