"""What every model family gives to the reader and to the decoding loop.

A family knows its prompt, its pixels and its positions. It knows nothing of pruning, batching or files.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from transformers import Cache

from fastocr_cli.markdown import Reply
from fastocr_cli.models import Checkpoint
from fastocr_cli.pages import PageImage, Resolution


@dataclass
class Prompt:
    """One page as the decoder takes it, before the first token is written."""

    embeds: Tensor
    """(length, hidden)"""
    positions: Tensor
    """(axes, length): three axes for M-RoPE, one for plain rotary positions."""
    is_visual: Tensor
    """bool (length,): which positions came from the picture."""
    next_position: int
    """Position of the first token that will be written, before the model places it (`VisionModel.next_tokens`)."""
    context_limit: int | None = None
    """Most positions, prompt and reply together, that the model was made for."""
    deepstack: Tensor | None = None
    """(layers, visual, hidden): added to the visual positions after the first decoder layers, at prefill only."""

    memory: Any = None
    """What the family itself needs of the page while it is written (`VisionModel.begin`)."""

    @property
    def num_visual(self) -> int:
        return int(self.is_visual.sum())

    def __len__(self) -> int:
        return len(self.embeds)


Place = tuple[int, ...]
"""Where a token stands, one number an axis of positions."""


@dataclass(frozen=True)
class Draft:
    """Tokens with which a page will likely go on, to be read in one step and kept as far as they prove right."""

    tokens: list[int]
    places: list[Place]


NO_DRAFT = Draft([], [])


@dataclass(frozen=True)
class Outlook:
    """What may be written next on one page: after its last token, and after those of its draft up to the first that
    stands elsewhere than drafted."""

    scores: Tensor
    """(tokens, vocabulary)"""
    likeliest: list[int]
    """The token of the highest score after each; asked of the device once for all pages."""
    places: list[Place]
    """Where what follows each token stands; one number for all axes, or one an axis."""
    readings: list["Reading"]
    """What is remembered of the page after each."""


class Reading:
    """What a family remembers of one page while it is written; here nothing."""

    num_read = 0
    """How much of the page was read so far, nothing twice, in a measure of about a letter."""

    def copy(self) -> Self:
        """The same, to go on from by itself."""
        return copy(self)

    def wrote(self, token: int) -> None:
        """Take note of a token that was written."""

    def warnings(self) -> tuple[str, ...]:
        """What a person should doubt of the page, once it is written."""
        return ()


class VisionModel(ABC):
    """One loaded checkpoint.

    A family sets the four attributes and writes `load`, `encode`, `detokenize` and `parse`.
    """

    checkpoint: Checkpoint
    text_model: nn.Module
    """The decoder layers, transformers' own class: its attention is what FastOCR switches."""
    resolution: Resolution
    stop_token_ids: frozenset[int]

    max_new_tokens: int = 8192
    """Longest reply that the checkpoint is trusted with."""
    takes_characters: bool = False
    """Whether the page's own characters go in beside the picture."""
    takes_prompt: bool = True
    """Whether it can be told what to do."""
    free_token_ids: frozenset[int] = frozenset()
    """Tokens that may repeat without being a loop: table tags, spaces, dot leaders."""

    @classmethod
    @abstractmethod
    def load(
        cls, checkpoint: Checkpoint, folder: Path | None, *, device: torch.device, dtype: torch.dtype
    ) -> "VisionModel":
        """Load from a local folder (None: the weights in the package), without a network or remote code.

        Raises:
            ModelError: the folder lacks files or does not fit the family.
        """

    @abstractmethod
    def encode(self, page: PageImage, prompt: str | None = None) -> Prompt:
        """Turn a rendered page into decoder inputs. `prompt` replaces the family's own instruction."""

    @abstractmethod
    def detokenize(self, ids: list[int]) -> str:
        """Token ids, without the stop token, to the model's raw reply."""

    @abstractmethod
    def parse(self, text: str, page: PageImage) -> Reply:
        """The raw reply to Markdown and to boxes as shares of the page."""

    @abstractmethod
    def embed(self, ids: Tensor) -> Tensor:
        """Token ids (batch, 1) to decoder inputs (batch, 1, hidden)."""

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """Last hidden states (batch, hidden) to scores (batch, vocabulary)."""

    def begin(self, prompt: Prompt) -> Reading:
        """Begin to write a page, once for each attempt."""
        return Reading()

    def next_tokens(self, hidden: Tensor, counts: Tensor, readings: Sequence[Reading]) -> tuple[Tensor, Tensor]:
        """Score the tokens that follow, and say where they stand.

        Args:
            hidden: last hidden states (batch, hidden).
            counts: (batch,): positions by counting on from the prompt.
            readings: of each page of the batch, its last token noted.

        Returns:
            scores (batch, vocabulary) and positions (1 or axes, batch); here `counts` on every axis, as all families
            from the hub have it.
        """
        return self.logits(hidden), counts[None]

    def draft(self, reading: Reading, token: int, count: int) -> Draft:
        """Guess what follows `token`, which was written and not yet read; `count` is the first position after it.

        Wrong guesses cost time and nothing else. Here none is made.
        """
        return NO_DRAFT

    def outlook(
        self, hidden: Tensor, counts: Sequence[int], readings: Sequence[Reading], drafts: Sequence[Draft]
    ) -> list[Outlook]:
        """Score what follows the last token of each page, and what follows each token of its draft.

        Args:
            hidden: last hidden states (batch, 1 + drafted, hidden).
            counts: positions by counting on, of what follows the last token.
            readings: of each page of the batch, its last token noted.
            drafts: of each page; here none has any.
        """
        scores, positions = self.next_tokens(hidden[:, 0], torch.tensor(counts, device=hidden.device), readings)
        pages = zip(scores[:, None], scores.argmax(-1).tolist(), positions.T.tolist(), readings, strict=True)
        return [Outlook(some, [token], [tuple(place)], [reading]) for some, token, place, reading in pages]

    def prefill(self, prompt: Prompt, cache: Cache) -> Tensor:
        """Run the decoder over a page's prompt: hidden states (1, length, hidden), normalised."""
        return self.hidden(prompt.embeds[None], prompt.positions[:, None], cache)

    def visual_tokens(self, width: int, height: int) -> int:
        """Visual tokens of a page picture of so many pixels, known before it is encoded; here a fair guess."""
        return width * height // 784

    def hidden(self, embeds: Tensor, positions: Tensor, cache: Cache) -> Tensor:
        """Run the decoder over new tokens.

        Args:
            embeds: (batch, length, hidden).
            positions: (axes, batch, length).
            cache: extended by the new tokens.

        Returns:
            hidden states (batch, length, hidden), normalised.
        """
        position_ids = positions if len(positions) > 1 else positions[0]
        output = self.text_model(inputs_embeds=embeds, position_ids=position_ids, cache=cache, use_cache=True)
        states: Tensor = output.last_hidden_state
        return states

    @property
    def text_config(self) -> Any:
        """transformers' configuration of the decoder: layers, heads, sizes."""
        return self.text_model.config

    @property
    def device(self) -> torch.device:
        return next(self.text_model.parameters()).device

    @property
    def dtype(self) -> torch.dtype:
        return next(self.text_model.parameters()).dtype
