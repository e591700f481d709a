"""pocket's network: a convolutional encoder and a plain Qwen2.5-VL text decoder.

Shared by reading (`models/pocket`) and by training, which adds the losses. Attribute names are the names in
the weight file. Knows nothing of files, tokens or Markdown.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers.models.qwen2_5_vl.modeling_qwen2_5_vl import Qwen2_5_VLTextModel

from fastocr_cli.models.pocket.cells import CELL
from fastocr_cli.models.pocket.config import PocketConfig
from fastocr_cli.models.pocket.letters import OWN_TRUST, Letters, letters_of
from fastocr_cli.models.pocket.places import text_positions, visual_positions
from fastocr_cli.models.pocket.spaces import Spaces
from fastocr_cli.models.pocket.vision import Vision, inked

MARGIN, WHOLE = 1, 4
"""Visual tokens of white paper that are left around the print, there is no need to look at the rest; and to how many
its first ones are rounded, so that the page from afar (`afar.py`) has the same tokens."""


@dataclass(frozen=True)
class Area:
    """The part of a page that is printed, in visual tokens."""

    top: int
    left: int
    bottom: int
    right: int

    @classmethod
    def of(cls, kept: Tensor, grid: tuple[int, int]) -> "Area":
        """Around the visual tokens with these raster indices, on a page of so many rows and columns."""
        rows, columns = kept // grid[1], kept % grid[1]
        (top, bottom), (left, right) = ((int(t.min()), int(t.max()) + 1) for t in (rows, columns))
        top, left = (max(0, edge - MARGIN) // WHOLE * WHOLE for edge in (top, left))
        return cls(top, left, min(grid[0], bottom + MARGIN), min(grid[1], right + MARGIN))

    def cut(self, page: Tensor, size: tuple[int, int]) -> Tensor:
        """This part of (..., rows, columns), of which each visual token has `size`."""
        height, width = size
        return page[..., self.top * height : self.bottom * height, self.left * width : self.right * width]

    def numbers(self, kept: Tensor, num_columns: int) -> Tensor:
        """Raster indices on a page so wide to those in this part of it."""
        return (kept // num_columns - self.top) * (self.right - self.left) + kept % num_columns - self.left


class PocketNetwork(nn.Module):
    """Encoder, decoder, and the head that tells where the next token is printed."""

    def __init__(self, config: PocketConfig, attn_implementation: str = "sdpa") -> None:
        super().__init__()
        self.config = config
        self.lm = Qwen2_5_VLTextModel._from_config(config.text_config(), attn_implementation=attn_implementation)
        self.vis = Vision(config)
        self.next_place = nn.Linear(config.hidden_size, 2 * config.hidden_size)
        self.copy = nn.Linear(config.hidden_size, 1)
        self.spaces = Spaces()
        nn.init.normal_(self.lm.embed_tokens.weight, std=0.02)

    def embed(self, ids: Tensor) -> Tensor:
        """Token ids (batch, length) to decoder inputs (batch, length, hidden)."""
        embeds: Tensor = self.lm.embed_tokens(ids) * self.config.embedding_scale
        return embeds

    def place(self, row: Tensor, cell: Tensor) -> Tensor:
        """Codes of places by row and column of cells, (...,) to (..., hidden); of nowhere (-1), nothing."""
        # not by indexing, whose gradient differs in the last bits from run to run where threads share it
        code = F.embedding(row.clamp(min=0), self.vis.rows) + F.embedding(cell.clamp(min=0), self.vis.cols)
        return torch.where((row >= 0)[..., None], code, 0)

    def visual_places(self, index: Tensor, num_columns: int) -> tuple[Tensor, Tensor]:
        """Row and cell (...) of visual tokens by raster index; each lies where its middle cell does."""
        width = self.config.token_width // CELL
        return index // num_columns, index % num_columns * width + width // 2

    def logits(self, hidden: Tensor) -> Tensor:
        """(..., hidden) to (..., vocabulary); the head is the embedding."""
        return F.linear(hidden, self.lm.embed_tokens.weight)

    def next_tokens(self, hidden: Tensor, fit: Tensor, space: Tensor, signs: Tensor) -> Tensor:
        """Scores of the next tokens, in single precision: what the decoder says, the print and the blanks.

        Args:
            hidden: (..., hidden).
            fit: (..., vocabulary), how well tokens spell what is printed; counts as far as `hidden` trusts it.
            space: (...), the logit of a blank.
            signs: (vocabulary,), half for tokens that begin with a blank, minus half for those that do not.
        """
        copied = F.softplus(self.copy(hidden)).float() * fit
        return self.logits(hidden).float() + copied + space[..., None] * signs

    def place_logits(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        """(..., hidden) to scores of the row (..., MAX_ROWS) and cell (..., MAX_CELLS) where the next token begins."""
        row, column = self.next_place(hidden).chunk(2, -1)
        return F.linear(row, self.vis.rows), F.linear(column, self.vis.cols)

    def prompt(
        self, pixels: Tensor, cells: Tensor | None = None, large: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Letters]:
        """One page's prompt: vision start, its visual tokens without white paper, vision end.

        Args:
            pixels: (1, 1, height, width).
            cells: (1, 2, height / 8, width / 8) or None.
            large: (height / 8, width / 8), bool: the page's own characters that are large print (`cells.large_print`).

        Returns:
            decoder inputs (2 + visual, hidden), M-RoPE positions (3, 2 + visual), and the letters that were read.
        """
        grid = self.grid(pixels)
        kept = inked(pixels, cells, self.config)[0].nonzero()[:, 0]
        kept = kept if len(kept) else kept.new_zeros(1)  # an empty page has a corner
        row, cell = self.visual_places(kept, grid[1])
        area = Area.of(kept, grid)
        sight = self.vis.read(
            area.cut(pixels, self.vis.token_size).contiguous(memory_format=torch.channels_last),
            None if cells is None else area.cut(cells, self.vis.patch),
            area.numbers(kept, grid[1])[None],
            None if large is None else area.cut(large, self.vis.patch),
        )
        edges = torch.tensor([self.config.vision_start_token_id, self.config.vision_end_token_id], device=pixels.device)
        start, end = self.embed(edges).split(1)
        nowhere = kept.new_zeros(3, 1)
        embeds = torch.cat([start, sight.tokens[0] + self.place(row, cell), end])
        end_position = text_positions(nowhere[0], nowhere[0] - 1, nowhere[0] - 1)
        positions = torch.cat([nowhere, visual_positions(row, cell), end_position], 1)
        letters = letters_of(sight.classes, self.vis.patch[0]).moved(area.top, area.left, self.vis.patch)
        letters.scores *= 1 if cells is None else OWN_TRUST
        return embeds, positions, letters

    def grid(self, pixels: Tensor) -> tuple[int, int]:
        """Rows and columns of visual tokens of pages of this size."""
        return pixels.shape[-2] // self.config.token_height, pixels.shape[-1] // self.config.token_width
