"""The network with everything a training step needs from it in one forward pass."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from fastocr_cli.models.pocket.cells import NUM_CLASSES
from fastocr_cli.models.pocket.network import PocketConfig, PocketNetwork, Vision, positions
from training.attention import NAME, Gaze, Pruning
from training.page import TOKEN_HEIGHT, TOKEN_WIDTH

GUIDED_HEADS = {2: 1, 4: 2}  # layer to number of heads taught to look where the next token is


@dataclass
class Batch:
    """Pages of one size. `n` is the longest text, vision end or end mark included."""

    image: Tensor  # [batch, 1, height, width] uint8, 255 for white
    cells: Tensor  # [batch, 2, height / 8, width / 8], character classes
    inputs: Tensor  # [batch, n]: vision end, then the Markdown
    labels: Tensor  # [batch, n]: the Markdown, then the end mark; -100 where there is none
    places: Tensor  # [batch, n]: the visual token in which each label is printed, -1 for none
    printed: Tensor  # [batch, n]: the label is printed itself, not only near it

    def to(self, device: torch.device) -> "Batch":
        return Batch(*(getattr(self, name).to(device, non_blocking=True) for name in self.__dataclass_fields__))

    @property
    def num_visual(self) -> int:
        return (self.image.shape[-2] // TOKEN_HEIGHT) * (self.image.shape[-1] // TOKEN_WIDTH)


@dataclass
class Outputs:
    cell_logits: Tensor  # [batch, height / 8, width / 8, 2, classes]
    visual: Tensor  # [batch, visual, hidden], before the decoder
    hidden: Tensor | None = None  # [batch, n, hidden]; None where the decoder was left out
    gaze: Gaze | None = None
    kept: Tensor | None = None  # indices of the visual tokens that the decoder was given; None for all


class Trainee(nn.Module):
    """pocket's network under training."""

    def __init__(self, config: PocketConfig, encoder_only: bool = False) -> None:
        super().__init__()
        self.encoder_only = encoder_only
        self.network = PocketNetwork(config, attn_implementation=NAME)
        self.network.vis.to(memory_format=torch.channels_last)  # type: ignore[call-overload]

    def train(self, mode: bool = True) -> "Trainee":
        """Once the encoder reads, batch norms keep their statistics: crops and pages differ, reading has one set."""
        super().train(mode)
        self.network.vis.train(mode and self.encoder_only)
        return self

    def forward(
        self,
        batch: Batch,
        cells: Tensor | None,
        inputs: Tensor,
        pruning: Pruning | None = None,
        drop_blank: bool = False,
    ) -> Outputs:
        """`cells` and `inputs` are the batch's, or what the step made of them (missing, wrong).

        `drop_blank` leaves out the visual tokens of white paper; it is for batches of one page.
        """
        network = self.network
        pixels = ((255 - batch.image.float()) / 255).contiguous(memory_format=torch.channels_last)
        num_rows, num_columns = network.grid(pixels)
        features, visual = encode(network.vis, pixels, cells)
        cell_logits = network.aux(features).permute(0, 2, 3, 1).unflatten(-1, (2, -1))
        if self.encoder_only:
            return Outputs(cell_logits, visual)
        start = inputs.new_full((len(inputs), 1), network.config.vision_start_token_id)
        placed = visual + network.place(num_rows, num_columns)
        where = positions(num_rows, num_columns, inputs.shape[1]).to(placed.device)
        kept = inked(pixels)[0].nonzero()[:, 0] if drop_blank else None
        if kept is not None:
            placed = placed[:, kept]
            where = torch.cat([where[:, :1], where[:, 1 + kept], where[:, 1 + visual.shape[1] :]], 1)
        embeds = torch.cat([network.embed(start), placed, network.embed(inputs)], 1)
        where = where[:, None].expand(-1, len(inputs), -1)
        gaze = Gaze(placed.shape[1], GUIDED_HEADS, network.config.num_hidden_layers, pruning)
        if pruning is not None:
            gaze.previous = self._look_ahead(embeds, where, gaze)
            gaze.pruned = True
        hidden = network.lm(
            inputs_embeds=embeds,
            position_ids=where,
            attention_mask={"full_attention": None},
            use_cache=False,
            gaze=gaze,
        ).last_hidden_state
        return Outputs(cell_logits, visual, hidden[:, gaze.prefix :], gaze, kept)

    @torch.no_grad()
    def _look_ahead(self, embeds: Tensor, where: Tensor, gaze: Gaze) -> Tensor:
        """The last focal layer's choice at the row before, from a pass that sees everything: [batch, n, visual]."""
        self.network.lm(
            inputs_embeds=embeds,
            position_ids=where,
            attention_mask={"full_attention": None},
            use_cache=False,
            gaze=gaze,
        )
        assert gaze.chosen is not None
        return F.pad(gaze.chosen[:, :-1], (0, 0, 1, 0), value=True)

    def logits(self, hidden: Tensor) -> Tensor:
        logits: Tensor = self.network.logits(hidden).float()
        return logits


def encode(vision: Vision, pixels: Tensor, cells: Tensor | None) -> tuple[Tensor, Tensor]:
    """What `Vision.forward` gives, with its pooling and pointwise convolutions as matrix products.

    In bf16 on CPUs the backward pass of those convolutions is up to 25 times slower, depending on the page's size; the
    depthwise one is faster in fp32.
    """
    features = vision.trunk(pixels)
    joined = features
    if cells is not None:
        known = vision.layer(cells[:, 0]) + vision.layer(cells[:, 1] + NUM_CLASSES)
        joined = features + known.permute(0, 3, 1, 2)
    rows, columns = vision.pool.kernel_size
    patches = joined.permute(0, 2, 3, 1).unflatten(2, (-1, columns)).unflatten(1, (-1, rows)).transpose(2, 3)
    tokens = F.linear(patches.flatten(3), vision.pool.weight.permute(0, 2, 3, 1).flatten(1), vision.pool.bias)
    for block in vision.mix:
        with torch.autocast(pixels.device.type, enabled=False):
            mixed = block.n(block.dw(tokens.float().permute(0, 3, 1, 2)))  # type: ignore[operator]
        wide = F.gelu(F.linear(mixed.permute(0, 2, 3, 1), block.u.weight[..., 0, 0], block.u.bias))  # type: ignore
        tokens = tokens + F.linear(wide, block.d.weight[..., 0, 0], block.d.bias)  # type: ignore
    return features, vision.norm(tokens.flatten(1, 2))


def inked(pixels: Tensor, contrast: float = 0.08) -> Tensor:
    """Which visual tokens hold more than plain paper: [batch, visual] bool, of pixels [batch, 1, height, width].

    Means of 4 x 4 pixels are compared within a token, so that neither noise nor uneven light counts as ink.
    """
    means = F.avg_pool2d(pixels, 4)
    cell = (TOKEN_HEIGHT // 4, TOKEN_WIDTH // 4)
    reach = F.max_pool2d(means, cell) + F.max_pool2d(-means, cell)
    return (reach > contrast).flatten(1)
