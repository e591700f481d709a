"""What a training step is punished for. Each loss is a mean in nats."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from training.model import Batch, Outputs, Trainee


@dataclass(frozen=True)
class Weights:
    text: float = 1.0
    cells: float = 0.3
    visual: float = 0.6
    gaze: float = 0.4


def cell_loss(outputs: Outputs, batch: Batch) -> Tensor:
    """Which character has its centre in each half cell; most have none, which counts less."""
    logits = outputs.cell_logits.flatten(0, 3).float()
    weight = torch.ones(logits.shape[1], device=logits.device)
    weight[0] = 0.3
    return F.cross_entropy(logits, batch.cells.permute(0, 2, 3, 1).flatten(), weight=weight)


def visual_loss(model: Trainee, outputs: Outputs, batch: Batch) -> Tensor:
    """Which text tokens begin in a visual token, read from it without the decoder."""
    chosen = batch.printed & (batch.places >= 0) & (batch.labels >= 0)
    page = torch.arange(len(chosen), device=chosen.device)[:, None].expand_as(chosen)
    return F.cross_entropy(model.logits(outputs.visual[page[chosen], batch.places[chosen]]), batch.labels[chosen])


def gaze_loss(outputs: Outputs, batch: Batch) -> Tensor:
    """The guided heads look at the visual token in which the next text token is printed."""
    assert outputs.hidden is not None
    assert outputs.gaze is not None
    places = batch.places
    if outputs.kept is not None:
        number = torch.full((batch.num_visual,), -1, device=places.device)
        number[outputs.kept] = torch.arange(len(outputs.kept), device=places.device)
        places = torch.where(places >= 0, number[places.clamp(min=0)], -1)
    known = (places >= 0) & (batch.labels >= 0)
    target = places.clamp(min=0)[:, None, :, None]
    total = outputs.hidden.new_zeros((), dtype=torch.float32)
    for attention in outputs.gaze.attention.values():
        hit = attention.gather(-1, target.expand(-1, attention.shape[1], -1, 1))[..., 0]
        total = total - (hit.transpose(1, 2)[known] + 1e-6).log().mean()
    return total


def losses(model: Trainee, outputs: Outputs, batch: Batch, weights: Weights) -> tuple[Tensor, dict[str, float]]:
    """The weighted sum, and each part with the accuracy of the next token."""
    parts = {"cells": cell_loss(outputs, batch), "visual": visual_loss(model, outputs, batch)}
    found: dict[str, float] = {}
    if outputs.hidden is not None:
        logits = model.logits(outputs.hidden)
        parts["text"] = F.cross_entropy(logits.flatten(0, 1), batch.labels.flatten())
        parts["gaze"] = gaze_loss(outputs, batch)
        labelled = batch.labels >= 0
        found["accuracy"] = (logits.argmax(-1) == batch.labels)[labelled].float().mean().item()
    total = torch.stack([getattr(weights, name) * part for name, part in parts.items()]).sum()
    return total, found | {name: part.item() for name, part in parts.items()}
