"""follow(): read pages along a text that is given, and say where the method would have written the same.

Teacher-forced, so that one early slip does not hide all that comes after. Profiles and benchmarks stand on it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.pruning.base import Method


@dataclass
class Followed:
    """How a method did along the given text."""

    num_tokens: int
    num_agreed: int
    """Steps whose most likely next token is the given one."""
    visual_kv_read: float
    """Mean over pages."""
    coverage: float | None
    """Mean over pages; None where the method measures none."""

    @property
    def agreement(self) -> float:
        return self.num_agreed / max(1, self.num_tokens)


@torch.inference_mode()
def follow(model: VisionModel, method: Method, prompts: Sequence[Prompt], texts: Sequence[Sequence[int]]) -> Followed:
    """Write `texts` (token ids, at least one a page) after their prompts, all pages in one batch.

    Drafts are read as in decoding, so that their tokens share a fixation here, too.
    """
    num_tokens = num_agreed = 0
    num_read = [0] * len(texts)
    with Decoder[int](model, method, len(prompts)) as decoder:
        for row, prompt in enumerate(prompts):
            decoder.prefill(Job(row, prompt, max_new_tokens=len(texts[row]) + 1))
        while any(num < len(text) - 1 for num, text in zip(num_read, texts, strict=True)):
            rest = [text[min(num, len(text) - 1) :] for num, text in zip(num_read, texts, strict=True)]
            for row, likeliest in enumerate(decoder.follow(rest)):
                truth = rest[row][1:]  # nothing for a text at its end, which waits for the others
                num_tokens += len(truth[: len(likeliest)])
                num_agreed += sum(token == given for token, given in zip(likeliest, truth, strict=False))
                num_read[row] += len(likeliest)
    reads = [decoder.gaze.visual_kv_read(row) for row in range(len(prompts))]
    coverages = [c for row in range(len(prompts)) if (c := decoder.gaze.coverage(row)) is not None]
    return Followed(
        num_tokens,
        num_agreed,
        sum(1.0 if read is None else read for read in reads) / len(reads),
        sum(coverages) / len(coverages) if coverages else None,
    )
