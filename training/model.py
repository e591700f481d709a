"""The network with everything a training step needs from it in one forward pass."""

from dataclasses import dataclass
from typing import Literal

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor, nn

from fastocr_cli.models.pocket.cells import CELL, NUM_CLASSES
from fastocr_cli.models.pocket.config import PocketConfig
from fastocr_cli.models.pocket.letters import Letters, letters_of, nearest, windows
from fastocr_cli.models.pocket.network import PocketNetwork
from fastocr_cli.models.pocket.places import text_positions, visual_positions
from fastocr_cli.models.pocket.spelling import Spelling, fits
from fastocr_cli.models.pocket.vision import certain, inked
from training.attention import NAME, Gaze, Pruning
from training.page import TOKEN_HEIGHT, TOKEN_WIDTH

Part = Literal["trunk", "blanks", "encoder", "words", "all"]
"""What is trained: what names the characters; what tells blanks between them; the trunk and what makes visual tokens of
it; all but the trunk; all."""

GUIDED_HEADS = {2: 1, 4: 2}  # layer to number of heads taught to look where the next token is


@dataclass
class Batch:
    """Pages of one size. `n` is the longest text, vision end or end mark included."""

    image: Tensor  # [batch, 1, height, width] uint8, 255 for white
    cells: Tensor  # [batch, 2, height / 8, width / 8], character classes
    blanks: Tensor  # [batch, height / 8, width / 4]: for the letter there 1 after a blank, -1 after a letter, 0 unknown
    inputs: Tensor  # [batch, n]: vision end, then the Markdown
    labels: Tensor  # [batch, n]: the Markdown, then the end mark; -100 where there is none
    halves: (
        Tensor  # [batch, n]: where each label is printed, row of cells * (half cells in one) + half cell; -1 nowhere
    )
    printed: Tensor  # [batch, n]: the label is printed itself, not only near it

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(getattr(self, name).to(device, non_blocking=True) for name in self.__dataclass_fields__))

    @property
    def num_visual(self) -> int:
        return (self.image.shape[-2] // TOKEN_HEIGHT) * self.num_columns

    @property
    def num_columns(self) -> int:
        return self.image.shape[-1] // TOKEN_WIDTH

    @property
    def num_cells(self) -> int:
        """In a row."""
        return self.image.shape[-1] // CELL

    @property
    def places(self) -> Tensor:
        """[batch, n]: where each label is printed, row of visual tokens * (cells in a row) + cell, -1 for nowhere."""
        row, half = row_and_column(self.halves, 2 * self.num_cells)
        return torch.where(self.halves < 0, -1, row // (TOKEN_HEIGHT // CELL) * self.num_cells + half // 2)

    @property
    def num_places(self) -> int:
        return self.image.shape[-2] // TOKEN_HEIGHT * self.num_cells

    @property
    def visual_places(self) -> Tensor:
        """[batch, n]: the visual token in which each label is printed, -1 for none."""
        row, cell = self.places // self.num_cells, self.places % self.num_cells
        return torch.where(self.places < 0, -1, row * self.num_columns + cell // (TOKEN_WIDTH // CELL))


@dataclass
class Outputs:
    """What is not made by the part under training is None."""

    cell_logits: Tensor | None  # [batch, height / 8, width / 8, 2, classes]; None where no picture was read
    visual: Tensor | None = None  # [batch, kept, hidden], before the decoder
    rank: Tensor | None = None  # [batch, visual]: number of each visual token among the kept, -1 for white paper
    hidden: Tensor | None = None  # [batch, n, hidden]
    gaze: Gaze | None = None
    letters: Letters | None = None  # what a token can be copied from
    spaces: Tensor | None = None  # [batch, letters], the logit of a blank before each


class Trainee(nn.Module):
    """pocket's network under training, with heads that are not shipped.

    They read from a visual token, before the decoder, its letters and the second and third text token that begins in
    it.
    """

    spelling: Tensor
    signs: Tensor
    ends: Tensor

    def __init__(self, config: PocketConfig, tokenizer: Tokenizer, part: Part = "all") -> None:
        super().__init__()
        spelling = Spelling.of(tokenizer, config.vocab_size)
        self.register_buffer("spelling", spelling.compared, persistent=False)
        self.register_buffer("signs", spelling.signs, persistent=False)
        self.register_buffer("ends", spelling.ends, persistent=False)
        self.part = part
        self.network = PocketNetwork(config, attn_implementation=NAME)
        self.network.vis.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        width = config.hidden_size
        self.heads = nn.ModuleDict(
            {
                "second": nn.Linear(width, width),
                "third": nn.Linear(width, width),
                "letters": nn.Linear(width, 2 * TOKEN_WIDTH // CELL * NUM_CLASSES),
            }
        )
        if part == "blanks":
            self.requires_grad_(False)
            self.network.spaces.requires_grad_()
        self.network.vis.trunk.requires_grad_(part not in {"words", "blanks"})

    def train(self, mode: bool = True) -> "Trainee":
        """Once the encoder reads, batch norms keep their statistics: crops and pages differ, reading has one set."""
        super().train(mode)
        self.network.vis.trunk.eval()
        self.network.vis.mix.train(mode and self.part == "encoder")
        return self

    def forward(
        self,
        batch: Batch,
        cells: Tensor | None,
        inputs: Tensor,
        places: Tensor,
        pruning: Pruning | None = None,
        look: bool = True,
    ) -> Outputs:
        """What the step makes of the batch.

        Args:
            cells: the page's characters, or None to read them from the picture.
            inputs: the batch's, or with mistakes.
            places: [batch, n], where each input was printed, -1 for nowhere.
            pruning: how attention is pruned, if it is.
            look: False leaves the picture out, by far the largest part of a page's arithmetic.
        """
        network = self.network
        pixels = ((255 - batch.image.float()) / 255).contiguous(memory_format=torch.channels_last)
        if self.part == "trunk":
            return Outputs(network.vis.see(network.vis.look(pixels)))
        if self.part == "blanks":
            classes = network.vis.see(network.vis.look(pixels)).softmax(-1) if look else certain(batch.cells)
            letters = letters_of(classes, TOKEN_HEIGHT // CELL)
            return Outputs(None, letters=letters, spaces=network.spaces(letters, pixels).float())
        _, num_columns = network.grid(pixels)
        kept = keep(inked(pixels, batch.cells, network.config))
        rank = torch.full((len(inputs), batch.num_visual), -1, device=kept.device)
        rank.scatter_(1, kept, torch.arange(kept.shape[1], device=kept.device).expand_as(kept))
        sight = network.vis(pixels, cells, kept, look)
        if self.part == "encoder":
            return Outputs(sight.scores, sight.tokens, rank)
        start = inputs.new_full((len(inputs), 1), network.config.vision_start_token_id)
        visual_row, visual_cell = network.visual_places(kept, num_columns)
        placed = sight.tokens + network.place(visual_row, visual_cell)
        row, cell = row_and_column(places, batch.num_cells)
        embeds = torch.cat([network.embed(start), placed, network.embed(inputs) + network.place(row, cell)], 1)
        count = torch.arange(inputs.shape[1], device=inputs.device).expand_as(inputs)
        where = torch.cat(
            [
                start.new_zeros(3, len(start), 1),
                visual_positions(visual_row, visual_cell),
                text_positions(count, row, cell),
            ],
            -1,
        )
        gaze = Gaze(placed.shape[1], GUIDED_HEADS, network.config.num_hidden_layers, pruning)
        if pruning is not None:
            with torch.no_grad():  # the row before, from a pass that sees everything
                self._decode(embeds, where, gaze)
            assert gaze.chosen is not None
            gaze.previous = F.pad(gaze.chosen[:, :-1], (0, 0, 1, 0), value=True)
            gaze.pruned = True
        hidden = self._decode(embeds, where, gaze)[:, gaze.prefix :]
        letters = letters_of(sight.classes, TOKEN_HEIGHT // CELL)
        spaces = network.spaces(letters, pixels).float()
        return Outputs(sight.scores, sight.tokens, rank, hidden, gaze, letters, spaces)

    def _decode(self, embeds: Tensor, where: Tensor, gaze: Gaze) -> Tensor:
        hidden: Tensor = self.network.lm(
            inputs_embeds=embeds,
            position_ids=where,
            attention_mask={"full_attention": None},
            use_cache=False,
            gaze=gaze,
        ).last_hidden_state
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.network.logits(hidden).float()
        return logits

    def copying_logits(self, outputs: Outputs, batch: Batch) -> Tensor:
        """[batch, n, vocabulary] of the next tokens, what is printed where they begin at hand.

        One in forty begins to read a letter aside.
        """
        assert outputs.hidden is not None
        assert outputs.letters is not None
        assert outputs.spaces is not None
        cell_row, half = row_and_column(batch.halves, 2 * batch.num_cells)
        spaces = outputs.spaces.detach()  # taught by themselves (losses.blank_loss)
        with torch.no_grad():
            start = nearest(outputs.letters, cell_row, half, TOKEN_HEIGHT // CELL)
            aside = torch.rand(start.shape, device=start.device) < (0.025 if self.training else 0)
            moved = (start + torch.randint_like(start, 2) * 2 - 1).clamp(0, outputs.letters.row.shape[1] - 1)
            start = torch.where(aside & (start >= 0), moved, start)
            fit = fits(windows(outputs.letters, spaces, start), self.spelling)
        space = spaces.gather(1, start.clamp(min=0))
        space = space.masked_fill((start < 0) | self.ends[batch.inputs], 0)
        return self.network.next_tokens(outputs.hidden, fit, space, self.signs)


def row_and_column(places: Tensor, in_a_row: int) -> tuple[Tensor, Tensor]:
    """Places counted through the page, (...,), as rows and columns; -1, nowhere, is -1 in both."""
    return torch.where(places < 0, -1, places // in_a_row), torch.where(places < 0, -1, places % in_a_row)


def keep(inked: Tensor) -> Tensor:
    """Indices [batch, most] in raster order of the inked visual tokens; pages with fewer keep white ones too."""
    most = max(1, int(inked.sum(1).max()))
    return inked.to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :most].sort(1).values
