"""Models whose prompt is a plain line: tokens before, the page, tokens after, numbered through.

Knows no model by name and nothing of pixels.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from fastocr_cli.models.base import Prompt


def line_prompt(
    before: list[int],
    features: Tensor,
    after: list[int],
    embed: Callable[[Tensor], Tensor],
    context_limit: int | None = None,
) -> Prompt:
    """A page between two runs of token ids.

    Args:
        features: (visual, hidden): the page, as the encoder sees it.
        embed: token ids (batch, length) to embeddings (batch, length, hidden).
    """
    device, start, end = features.device, len(before), len(before) + len(features)
    text = embed(torch.tensor([before + after], dtype=torch.long, device=device))[0]
    embeds = torch.cat([text[:start], features.to(text.dtype), text[start:]])
    positions = torch.arange(len(embeds), device=device)
    is_visual = (positions >= start) & (positions < end)
    return Prompt(embeds, positions[None], is_visual, next_position=len(embeds), context_limit=context_limit)
