"""Where things are on a page: codes that are added to embeddings, and M-RoPE positions.

Rows are rows of visual tokens, columns are columns of cells; both count from 0.
"""

import math
from typing import TypeVar

import torch
from torch import Tensor

Some = TypeVar("Some", int, Tensor)

MAX_ROWS, MAX_CELLS = 256, 512
"""Most rows of visual tokens and columns of cells that have a place code."""

ROW_STEP, CELL_STEP = 10, 100
"""M-RoPE turns rows with its middle and columns with its slowest frequencies: steps that these can tell apart."""


def place_codes(width: int) -> tuple[Tensor, Tensor]:
    """Sine codes of rows and of columns of cells, in separate halves of (MAX_ROWS or MAX_CELLS, width).

    Wavelengths are 4 to 512 rows or cells.
    """
    frequency = math.tau / 4 / (128 ** (torch.arange(width // 4) / (width // 4 - 1)))
    angle = torch.arange(MAX_CELLS)[:, None] * frequency
    code, zeros = torch.cat([angle.sin(), angle.cos()], 1), torch.zeros(MAX_CELLS, width // 2)
    return 0.5 * torch.cat([code, zeros], 1)[:MAX_ROWS], 0.5 * torch.cat([zeros, code], 1)


def visual_positions(row: Tensor, cell: Tensor) -> Tensor:
    """M-RoPE positions (3, ...) of visual tokens: they come one before the first text token, all at once."""
    return text_positions(torch.full_like(row, -1), row, cell)


def text_positions(count: Tensor, row: Tensor, cell: Tensor) -> Tensor:
    """M-RoPE positions (3, ...) of text tokens: how many came before, and where each was printed.

    Rows of visual tokens and columns of cells count from 0; -1 is nowhere, where the vision end stands.
    """
    return torch.stack(place_at(count, row, cell))


def place_at(count: Some, row: Some, cell: Some) -> tuple[Some, ...]:
    """The same axis by axis, of one token or of tensors."""
    return count + 2, ROW_STEP * (row + 1), CELL_STEP * (cell + 1)


def place_of(positions: Tensor) -> tuple[Tensor, Tensor]:
    """Row and cell (...) of M-RoPE positions (3, ...)."""
    return positions[1] // ROW_STEP - 1, positions[2] // CELL_STEP - 1
