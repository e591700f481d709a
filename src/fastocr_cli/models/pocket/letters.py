"""The letters of a page, line by line.

Shared by reading and by training. Knows neither tokens nor the decoder.
"""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from fastocr_cli.models.pocket.cells import NUM_CLASSES
from fastocr_cli.models.pocket.spelling import LEAST_LETTER, MAX_LETTERS, spelled

NEIGHBOURS = [(up, left) for up in (1, 0, -1) for left in (1, 0, -1) if (up, left) != (0, 0)]
"""Of a half cell, those above and to the left first."""

FOUND = 0.3
"""Probability, over a half cell and its neighbours, from which on a letter counts."""

TWO = 1.85
"""Probabilities of the same letter in neighbouring half cells that make two of them."""

LEANS, LINE = 0.15, 30
"""Share of a row of cells from which on a letter leans out of its row, and the half cells to both sides in which
letters that lean towards each other are one line of print."""

ABOVE = 3
"""Letters above others that make two lines of a row of visual tokens."""

OWN_TRUST = 2.0
"""How much more than the trunk a page is believed that names its characters itself."""

OWN_SPACE = 8.0
"""The logit of a blank where the page says itself that there is one."""

BLANK = 2.0
"""The logit of a blank from which on there is one without doubt, and below whose negative there is none."""

AROUND, WIDE = 3, 16
"""Letters to both sides whose gaps tell how wide the print is, and the widest gap in half cells."""


@dataclass
class Letters:
    """Letters of pages line by line, from left to right; pages with fewer are padded."""

    row: Tensor
    """(batch, letters): the row of visual tokens, -1 for padding."""
    cell_row: Tensor
    """(batch, letters): the row of cells."""
    line: Tensor
    """(batch, letters): the first row of cells of the printed line, -1 for padding; small print has two lines in a row
    of visual tokens."""
    half: Tensor
    """(batch, letters): the column of half cells."""
    scores: Tensor
    """(batch, letters, classes): log probabilities."""

    @property
    def num_letters(self) -> int:
        """Of a page (batch 1)."""
        return int((self.row[0] >= 0).sum())

    def only(self, numbers: Tensor) -> "Letters":
        """Some letters of a page (batch 1)."""
        return Letters(*(getattr(self, field.name)[:, numbers] for field in fields(self)))

    def moved(self, rows: int, columns: int, patch: tuple[int, int]) -> "Letters":
        """So many visual tokens of `patch` cells further down and to the right."""
        down = torch.where(self.row >= 0, rows, 0)
        cells = down * patch[0]
        row, cell_row, line = self.row + down, self.cell_row + cells, self.line + cells
        return Letters(row, cell_row, line, self.half + 2 * columns * patch[1], self.scores)

    def begins_line(self) -> Tensor:
        """(batch, letters), bool."""
        begins = self.line != self.line.roll(1, 1)
        begins[:, 0] = True
        return begins

    def gap(self) -> Tensor:
        """Half cells from each letter to the one before, (batch, letters); WIDE at most and where a line begins."""
        gap = (self.half - self.half.roll(1, 1)).clamp(max=WIDE)
        return torch.where(self.begins_line(), WIDE, gap).float()

    @staticmethod
    def around(values: Tensor) -> Tensor:
        """Each letter's value (batch, letters) among those of AROUND letters to both sides, WIDE beyond the page's."""
        return F.pad(values, (AROUND, AROUND), value=WIDE).unfold(1, 2 * AROUND + 1, 1)


def letters_of(classes: Tensor, cells_in_a_token: int) -> Letters:
    """Letters from probabilities of the half cells' classes: (batch, height / 8, width / 8, 2, classes).

    A letter on the border of half cells is partly seen in each. It stands where it is seen best; only two that are both
    nearly sure are two. Letters of a line on the border of two rows stand in the same one.
    """
    seen = classes.float().flatten(2, 3)
    sure, which = seen[..., 1:].max(-1)  # (batch, height / 8, halves)
    support, doubled, drift = sure.clone(), torch.zeros_like(sure, dtype=torch.bool), torch.zeros_like(sure)
    for number, (up, left) in enumerate(NEIGHBOURS):
        beside = _beside(seen, which + 1, up, left)
        support += beside
        drift -= up * beside
        stronger = beside >= sure if number < len(NEIGHBOURS) // 2 else beside > sure
        doubled |= stronger & (sure + beside < TWO)
    found = (support >= FOUND) & (sure >= FOUND / 2) & ~doubled
    return _in_order(lined_up(found, drift / support), seen, cells_in_a_token)


def _beside(classes: Tensor, which: Tensor, up: int, left: int) -> Tensor:
    """How much of the class `which` (batch, rows, columns) is seen `up` rows above and `left` columns to the left."""
    rows, columns = which.shape[1:]
    row = torch.arange(rows, device=which.device)[:, None] - up
    column = torch.arange(columns, device=which.device) - left
    inside = (row >= 0) & (row < rows) & (column >= 0) & (column < columns)
    place = row.clamp(0, rows - 1) * columns + column.clamp(0, columns - 1)
    batch = torch.arange(len(which), device=which.device)[:, None]
    seen = classes.flatten(1, 2)[batch, place.flatten(), which.flatten(1)].view_as(which)
    return torch.where(inside, seen, 0)


def lined_up(found: Tensor, drift: Tensor) -> Tensor:
    """Moves letters of a line on the border of two rows of cells into the same row.

    Args:
        found: (batch, rows, halves), where a letter is seen best.
        drift: shaped alike, how far below (above: negative) the middle of that row it lies, in rows.

    Returns:
        Shaped alike, the row in which the letter that stands there now was seen, -1 for none.
    """
    down, up = found & (drift > LEANS), found & (drift < -LEANS)
    with_above = _mean_of_line((found, drift), (_shifted(down, 1, 0), _shifted(drift, 1, 0) - 1))
    with_below = _mean_of_line((found, drift), (_shifted(up, -1, 0), _shifted(drift, -1, 0) + 1))
    down &= (with_below > 0.5) & ~_shifted(found, -1, 0)
    from_above = _shifted(down, 1, 0)
    up &= (with_above < -0.5) & ~_shifted(found, 1, 0) & ~_shifted(from_above, 1, 0)
    row = torch.arange(found.shape[1], device=found.device)[:, None].expand_as(found)
    seen = torch.where(found & ~down & ~up, row, -1)
    return torch.where(from_above, row - 1, torch.where(_shifted(up, -1, 0), row + 1, seen))


def _mean_of_line(*parts: tuple[Tensor, Tensor]) -> Tensor:
    """The mean of values over the letters around each place, parts being (which letters, values) of a row each."""
    count, total = (
        F.avg_pool1d(torch.stack(each).sum(0), 2 * LINE + 1, 1, LINE)
        for each in zip(*((chosen.float(), value.where(chosen, 0)) for chosen, value in parts), strict=True)
    )
    return total / count.clamp(min=1e-6)


def _shifted(values: Tensor, up: int, left: int) -> Tensor:
    """What lies `up` rows above and `left` columns to the left of each place of (batch, rows, columns, ...)."""
    rows, columns = values.shape[1:3]
    margin = (0, 0) * (values.ndim - 3) + (1, 1, 1, 1)
    return F.pad(values, margin)[:, 1 - up : 1 - up + rows, 1 - left : 1 - left + columns]


def _in_order(seen_in: Tensor, classes: Tensor, cells_in_a_token: int) -> Letters:
    """The letters line by line and from left to right, from where each was seen (`lined_up`)."""
    found, width = seen_in >= 0, seen_in.shape[2]
    cell_row = torch.arange(seen_in.shape[1], device=seen_in.device)
    two_lines = _two_lines(found.unflatten(1, (-1, cells_in_a_token))).repeat_interleave(cells_in_a_token, 1)
    line = cell_row - torch.where(two_lines, 0, cell_row % cells_in_a_token)
    nowhere = seen_in[0].numel()
    order = line[..., None] * width + torch.arange(width, device=seen_in.device)
    order, place = order.where(found, nowhere).flatten(1).sort(dim=1, stable=True)
    most = max(1, int(found.sum((1, 2)).max()))
    order, place = order[:, :most], place[:, :most]
    half, is_letter = place % width, order < nowhere
    source = seen_in.flatten(1).gather(1, place).clamp(min=0) * width + half
    seen = classes.flatten(1, 2).gather(1, source[..., None].expand(-1, -1, classes.shape[-1]))[..., 1:]
    scores = (seen / seen.sum(-1, keepdim=True).clamp(min=1e-6)).log().clamp(min=LEAST_LETTER)
    cell_row = place // width
    row, line = (torch.where(is_letter, rows, -1) for rows in (cell_row // cells_in_a_token, order // width))
    return Letters(row, cell_row, line, half, F.pad(scores, (1, 0), value=LEAST_LETTER))


def _two_lines(found: Tensor) -> Tensor:
    """Whether letters stand above letters in a row of visual tokens: (batch, rows, cells, halves) to (batch, rows)."""
    beside = F.max_pool2d(found[:, :, 1:].float().flatten(0, 1), (1, 3), 1, (0, 1)) > 0
    return (found[:, :, :-1] & beside.view_as(found[:, :, 1:])).sum((2, 3)) >= ABOVE


def windows(letters: Letters, space: Tensor, start: Tensor) -> Tensor:
    """What is printed from letters `start` (batch, n) on, -1 for nowhere: (batch, n, MAX_LETTERS, classes + 1).

    From the end of the line on, and from a blank that is there without doubt by its logit `space` (batch, letters), no
    letter fits: no token goes on there. Nowhere does any.
    """
    index = start[..., None] + torch.arange(MAX_LETTERS, device=start.device)
    inside = (start[..., None] >= 0) & (index < letters.row.shape[1])
    flat = index.clamp(0, letters.row.shape[1] - 1).flatten(1)
    same = letters.line.gather(1, flat).view_as(index)
    inside &= (same == same[..., :1]) & (same >= 0)
    apart = (space > BLANK).gather(1, flat).view_as(index)
    inside[..., 1:] &= apart[..., 1:].cumsum(-1) == 0
    scores = letters.scores.gather(1, flat[..., None].expand(-1, -1, NUM_CLASSES)).unflatten(1, index.shape[1:])
    return spelled(scores.masked_fill(~inside[..., None], LEAST_LETTER))


def nearest(letters: Letters, cell_row: Tensor, half: Tensor, cells_in_a_token: int, most: int = 3) -> Tensor:
    """The number of the letter nearest to each place (batch, n), -1 where none is within `most` half cells."""
    width = max(int(letters.half.max()), int(half.max())) + 2 * most + 1
    rows = max(int(letters.row.max()), int(cell_row.max()) // cells_in_a_token) + 1
    second = (letters.line % cells_in_a_token) * (letters.row >= 0)
    two_lines = second.new_zeros(len(second), rows).scatter_reduce(1, letters.row.clamp(min=0), second, "amax") > 0
    below = two_lines.gather(1, cell_row.clamp(min=0) // cells_in_a_token)
    line = cell_row - torch.where(below, 0, cell_row % cells_in_a_token)
    flat = torch.where(letters.row >= 0, letters.line * width + letters.half, torch.iinfo(torch.long).max // 2)
    place = line * width + half
    after = torch.searchsorted(flat.contiguous(), place.contiguous()).clamp(max=flat.shape[1] - 1)
    before = (after - 1).clamp(min=0)
    to_after, to_before = ((flat.gather(1, i) - place).abs() for i in (after, before))
    found = torch.where(to_after <= to_before, after, before)
    return torch.where((cell_row >= 0) & (torch.minimum(to_after, to_before) <= most), found, -1)
