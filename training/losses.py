"""What a training step is punished for. Each loss is a mean in nats."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.models.pocket.cells import CELL, NUM_CLASSES
from fastocr_cli.models.pocket.spelling import NOTHING
from training.model import Batch, Outputs, Trainee, row_and_column
from training.page import TOKEN_HEIGHT, TOKEN_WIDTH

TURN = 4.0
"""Weight of the place of a token in another row than the one before."""


UNSPELLED = 2.0
"""Weight of tokens that no print spells (tags, marks, LaTeX): the others are copied, and come easily."""


@dataclass(frozen=True)
class Weights:
    text: float = 1.0
    cells: float = 0.3
    visual: float = 1.0
    letters: float = 1.0
    gaze: float = 0.1
    place: float = 0.3
    blanks: float = 1.0


def cell_loss(logits: Tensor, batch: Batch) -> Tensor:
    """Which character has its centre in each half cell; most have none."""
    return F.cross_entropy(logits.flatten(0, 3).float(), batch.cells.permute(0, 2, 3, 1).flatten())


def kept_places(outputs: Outputs, batch: Batch) -> Tensor:
    """[batch, n]: number among the kept visual tokens of the one in which each label is printed, -1 for none."""
    assert outputs.rank is not None
    places = batch.visual_places
    return torch.where(places >= 0, outputs.rank.gather(1, places.clamp(min=0)), -1)


def visual_loss(model: Trainee, outputs: Outputs, batch: Batch) -> Tensor:
    """Which text tokens begin in a visual token, first, second and later ones, read without the decoder."""
    assert outputs.visual is not None
    places = kept_places(outputs, batch)
    chosen = batch.printed & (places >= 0) & (batch.labels >= 0)
    same = (places == places.roll(1, 1)) & chosen & chosen.roll(1, 1)
    same[:, 0] = False
    number = (same.int() + (same & same.roll(1, 1)).int())[chosen]  # 0 for the first token in its visual token
    page = torch.arange(len(chosen), device=chosen.device)[:, None].expand_as(chosen)
    visual = outputs.visual[page[chosen], places[chosen]]
    for which, name in enumerate(("second", "third"), start=1):
        visual = torch.where((number == which)[:, None], model.heads[name](visual), visual)
    return F.cross_entropy(model.logits(visual), batch.labels[chosen])


def letter_loss(model: Trainee, outputs: Outputs, batch: Batch) -> Tensor:
    """The characters in a visual token, from left to right, read without the decoder."""
    assert outputs.visual is not None
    assert outputs.rank is not None
    width = 2 * TOKEN_WIDTH // CELL
    halves = batch.cells.movedim(1, -1).flatten(-2)  # [batch, height / 8, width / 4]
    rows = halves.unflatten(1, (-1, TOKEN_HEIGHT // CELL)).amax(2)  # one line of print at most
    letters = rows.unflatten(2, (-1, width)).flatten(1, 2)  # [batch, visual, halves]
    kept = outputs.rank >= 0
    logits = model.heads["letters"](outputs.visual).float().unflatten(-1, (width, NUM_CLASSES))
    return F.cross_entropy(logits.flatten(0, 2), letters[kept].flatten())


def gaze_loss(outputs: Outputs, batch: Batch) -> Tensor:
    """The guided heads look at the visual token in which the next text token is printed."""
    assert outputs.hidden is not None
    assert outputs.gaze is not None
    places = kept_places(outputs, batch)
    known = (places >= 0) & (batch.labels >= 0)
    target = places.clamp(min=0)[:, None, :, None]
    total = outputs.hidden.new_zeros((), dtype=torch.float32)
    for attention in outputs.gaze.attention.values():
        hit = attention.gather(-1, target.expand(-1, attention.shape[1], -1, 1))[..., 0]
        total = total - (hit.transpose(1, 2)[known] + 1e-6).log().mean()
    return total


def place_loss(model: Trainee, hidden: Tensor, batch: Batch) -> tuple[Tensor, float]:
    """The row and the cell in which the next text token begins, and the share found, half a token aside at most.

    Where lines begin counts more: a wrong turn loses a column, a wrong cell within a line hardly a letter.
    """
    known = (batch.places >= 0) & (batch.labels >= 0)
    row, cell = (scores.float() for scores in model.network.place_logits(hidden[known]))
    rows, cells = row_and_column(batch.places, batch.num_cells)
    weight = torch.where(rows == rows.roll(1, 1), 1.0, TURN)[known]
    true_row, true_cell = rows[known], cells[known]
    found = (row.argmax(-1) == true_row) & ((cell.argmax(-1) - true_cell).abs() <= 1)
    miss = F.cross_entropy(row, true_row, reduction="none") + F.cross_entropy(cell, true_cell, reduction="none")
    return (weight * miss).sum() / weight.sum(), found.float().mean().item()


def text_loss(logits: Tensor, labels: Tensor, spelling: Tensor) -> tuple[Tensor, float]:
    """The next token, tokens without letters in `spelling` weighed more; and the plain mean."""
    miss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")[labels.flatten() >= 0]
    unspelled = spelling[labels[labels >= 0], 0] == NOTHING
    weight = torch.where(unspelled, UNSPELLED, 1.0)
    return (weight * miss).sum() / weight.sum(), miss.mean().item()


def blank_loss(outputs: Outputs, batch: Batch) -> tuple[Tensor, float]:
    """Whether a blank is printed before each letter, and the share that is told right."""
    assert outputs.letters is not None
    assert outputs.spaces is not None
    letters = outputs.letters
    page = torch.arange(len(letters.row), device=letters.row.device)[:, None]
    said = batch.blanks[page, letters.cell_row.clamp(0, batch.blanks.shape[1] - 1), letters.half]
    known = (said != 0) & (letters.row >= 0) & ~letters.begins_line()
    logit, blank = outputs.spaces[known], (said[known] > 0).float()
    found = ((logit > 0) == (blank > 0)).float().mean().item() if len(logit) else 1.0
    return F.binary_cross_entropy_with_logits(logit, blank, reduction="sum") / max(1, len(logit)), found


def losses(model: Trainee, outputs: Outputs, batch: Batch, weights: Weights) -> tuple[Tensor, dict[str, float]]:
    """The weighted sum, and each part with the accuracy of the next token."""
    parts: dict[str, Tensor] = {}
    found: dict[str, float] = {}
    if outputs.cell_logits is not None:
        parts["cells"] = cell_loss(outputs.cell_logits, batch)
    if outputs.visual is not None:
        parts |= {"visual": visual_loss(model, outputs, batch), "letters": letter_loss(model, outputs, batch)}
    if outputs.spaces is not None:
        parts["blanks"], found["spaces"] = blank_loss(outputs, batch)
    if outputs.hidden is not None:
        logits = model.copying_logits(outputs, batch)
        parts["text"], found["text"] = text_loss(logits, batch.labels, model.spelling)
        parts["gaze"] = gaze_loss(outputs, batch)
        parts["place"], found["places"] = place_loss(model, outputs.hidden, batch)
        labelled = batch.labels >= 0
        found["accuracy"] = (logits.argmax(-1) == batch.labels)[labelled].float().mean().item()
    total = torch.stack([getattr(weights, name) * part for name, part in parts.items()]).sum()
    return total, {name: part.item() for name, part in parts.items()} | found
