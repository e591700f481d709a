"""The decoder's attention while training: the gaze of a few heads is written down, and other layers may be pruned.

Rows are queries of the text part (vision end, then the Markdown so far); columns are visual tokens.
"""

import math
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.masking_utils import sdpa_mask

NAME = "pocket_training"


@dataclass
class Pruning:
    """FastOCR's decoding, for all text rows at once."""

    focal_layers: tuple[int, ...] = (3,)
    kept_ratio: float = 0.05
    floor: int = 16
    warm_up: int = 8  # decode steps that see the whole page; row 0 belongs to prefill

    def num_kept(self, num_visual: int) -> int:
        return min(num_visual, max(self.floor, math.ceil(self.kept_ratio * num_visual)))

    def choose(self, scores: Tensor) -> Tensor:
        """Scores [batch, rows, visual] to the visual tokens each row keeps, as a mask of the same shape."""
        kept = scores.topk(self.num_kept(scores.shape[-1]), -1).indices
        return torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, kept, True)


@dataclass
class Gaze:
    """What one forward pass is asked for and what it writes down."""

    num_visual: int
    guided_heads: dict[int, int]  # layer to the number of its heads that are taught where to look
    num_layers: int
    pruning: Pruning | None = None
    pruned: bool = False  # False with `pruning`: look only, to learn the focal layers' choices
    previous: Tensor | None = None  # the last focal layer's choice at the row before, [batch, rows, visual]
    chosen: Tensor | None = None  # the newest choice
    attention: dict[int, Tensor] = field(default_factory=dict)  # layer to [batch, heads, rows, visual]

    @property
    def prefix(self) -> int:
        """Positions before the text: vision start and the visual tokens."""
        return 1 + self.num_visual

    def fixation(self, layer: int) -> Tensor | None:
        """The visual tokens this layer may see, or None for all."""
        if not self.pruned or self.pruning is None or layer in self.pruning.focal_layers:
            return None
        fixation = self.chosen if layer > min(self.pruning.focal_layers) else self.previous
        assert fixation is not None
        fixation = fixation.clone()
        fixation[:, : self.pruning.warm_up + 1] = True
        return fixation


def attend(
    module: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None,
    scaling: float, gaze: Gaze, **_: Any,
) -> tuple[Tensor, None]:  # fmt: skip
    """Attention of one layer, [batch, heads, length, size] in and [batch, length, heads, size] out."""
    groups = query.shape[1] // key.shape[1]
    key, value = (x.repeat_interleave(groups, 1) for x in (key, value))
    layer = int(module.layer_idx)  # type: ignore[arg-type]
    _look(layer, query, key, scaling, gaze)
    fixation, last = gaze.fixation(layer), layer == gaze.num_layers - 1
    if fixation is None and not last:
        out = F.scaled_dot_product_attention(query, key, value, is_causal=True, scale=scaling)
        return out.transpose(1, 2).contiguous(), None
    prefix = gaze.prefix
    visible = text_mask(query.shape[2] - prefix, prefix, fixation).to(query.device)
    text = F.scaled_dot_product_attention(query[:, :, prefix:], key, value, attn_mask=visible, scale=scaling)
    q, k, v = (x[:, :, :prefix] for x in (query, key, value))
    # nobody reads what the last layer makes of the visual tokens
    page = torch.zeros_like(q) if last else F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=scaling)
    return torch.cat([page, text], 2).transpose(1, 2).contiguous(), None


def text_mask(num_rows: int, prefix: int, fixation: Tensor | None) -> Tensor:
    """What each text row sees, [1 or batch, 1, rows, prefix + rows]; only visual tokens are ever pruned."""
    mask = torch.ones(num_rows, prefix + num_rows, dtype=torch.bool).tril(prefix)[None]
    if fixation is not None:
        mask = mask.to(fixation.device).repeat(len(fixation), 1, 1)
        mask[:, :, 1:prefix] &= fixation
    return mask[:, None]


def _look(layer: int, query: Tensor, key: Tensor, scaling: float, gaze: Gaze) -> None:
    """Write down the attention of the guided heads and, when pruning, the choice of a focal layer."""
    focal_layers = gaze.pruning.focal_layers if gaze.pruning else ()
    focal = layer in focal_layers if gaze.pruned else layer == max(focal_layers, default=-1)
    num_guided = gaze.guided_heads.get(layer, 0) if torch.is_grad_enabled() else 0
    if num_guided:
        gaze.attention[layer] = _to_visual(query[:, :num_guided], key[:, :num_guided], scaling, gaze)
    if focal and gaze.pruning is not None:
        with torch.no_grad():
            scores = _to_visual(query, key, scaling, gaze).sum(1)
            gaze.chosen = gaze.pruning.choose(scores)


def _to_visual(query: Tensor, key: Tensor, scaling: float, gaze: Gaze) -> Tensor:
    """Post-softmax attention of the text rows to the visual tokens: [batch, heads, rows, visual]."""
    prefix = gaze.prefix
    scores = (query[:, :, prefix:] @ key.transpose(-1, -2)).float() * scaling
    seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril(prefix)
    return scores.masked_fill(~seen, float("-inf")).softmax(-1)[..., 1:prefix]


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
