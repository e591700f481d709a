"""pocket: the embedded model. A page's picture, and its own characters where it has them, in; Markdown out.

Made for FastOCR: a Qwen2.5-VL text decoder under a small convolutional encoder, trained by us (training/).
"""

import json
import re
from collections.abc import Sequence
from importlib.resources import as_file, files
from itertools import islice
from pathlib import Path
from typing import cast

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor
from transformers import Cache

from fastocr_cli.errors import ModelError
from fastocr_cli.markdown import Reply
from fastocr_cli.markdown.replies import plain
from fastocr_cli.models import Checkpoint
from fastocr_cli.models.base import NO_DRAFT, Draft, Outlook, Prompt, Reading, VisionModel
from fastocr_cli.models.pocket.cells import blank_grid, cell_grid, large_print
from fastocr_cli.models.pocket.config import PocketConfig
from fastocr_cli.models.pocket.dark import on_white
from fastocr_cli.models.pocket.letters import OWN_SPACE, Letters
from fastocr_cli.models.pocket.network import PocketNetwork
from fastocr_cli.models.pocket.places import place_at, place_of
from fastocr_cli.models.pocket.pointer import Pointer
from fastocr_cli.models.pocket.printed import Printed
from fastocr_cli.models.pocket.reading_size import are_seen_better, named_too_large, not_too_wide, seen_too_large
from fastocr_cli.models.pocket.spelling import NOTHING, Spelling, fits, sharpened
from fastocr_cli.models.pocket.strokes import drawn_lines
from fastocr_cli.models.pocket.vision import fold_norms
from fastocr_cli.models.pocket.wording import Wording
from fastocr_cli.models.pocket.writable import Writable
from fastocr_cli.pages import Character, PageImage, Resolution

NEVER = -1e9
"""The score of a token that must not be written; finite, since numbers that are none mean a broken model."""

MAX_SIDE = 255 * 16
"""Pixels; a longer page is scaled down: there are no more place codes."""


class Model(VisionModel):
    """The weights that ship with the package, or a folder of the same three files."""

    takes_characters = True
    takes_prompt = False
    max_new_tokens = 4096

    def __init__(self, checkpoint: Checkpoint, network: PocketNetwork, tokenizer: Tokenizer) -> None:
        config = network.config
        self.checkpoint, self.network, self.tokenizer = checkpoint, network, tokenizer
        self.text_model = network.lm
        self.resolution = Resolution(
            dpi=config.dpi,
            max_side=MAX_SIDE,
            max_pixels=8_000_000,
        )
        self.stop_token_ids = frozenset({config.eos_token_id})
        spelling = Spelling.of(tokenizer, config.vocab_size)
        self.writable = Writable(tokenizer, spelling, self.stop_token_ids)
        self.free_token_ids = repeatable(tokenizer) | self.writable.tags.last.keys()
        self.printed = spelling.letters.numpy()
        self.prints = (spelling.compared[:, 0] != NOTHING).nonzero()[:, 0].to(self.device)
        self.unprinted_ids = frozenset(self.writable.unprinted.nonzero()[:, 0].tolist())
        self.letters, self.compared, self.signs = (
            tensor.to(self.device) for tensor in (spelling.letters, spelling.compared, spelling.signs)
        )

    @classmethod
    def load(cls, checkpoint: Checkpoint, folder: Path | None, *, device: torch.device, dtype: torch.dtype) -> "Model":
        with as_file(files(__package__)) as shipped:
            source = folder or shipped
            try:
                config = PocketConfig.from_dict(json.loads((source / "config.json").read_text(encoding="utf-8")))
                network = PocketNetwork(config).eval()
                network.load_state_dict(load_file(source / "model.safetensors"))
                tokenizer = Tokenizer.from_file(str(source / "tokenizer.json"))
            except (OSError, RuntimeError, ValueError) as error:
                raise ModelError(f"{source} does not hold pocket's weights: {error}") from error
        fold_norms(network.vis)
        network.vis.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        return cls(checkpoint, network.to(device=device, dtype=dtype), tokenizer)

    def encode(self, page: PageImage, prompt: str | None = None) -> Prompt:
        page = not_too_wide(named_too_large(page) or page)
        found = self._encode(page)
        again = seen_too_large(page, found.memory[0])
        if again is not None and are_seen_better((smaller := self._encode(again)).memory[0], found.memory[0]):
            return smaller
        return found

    def _encode(self, page: PageImage) -> Prompt:
        config = self.network.config
        pixels = ink(page.image, config.token_height, config.token_width).to(self.device, self.dtype)
        cells, large = self._own(page.characters, pixels)
        embeds, places, letters = self.network.prompt(pixels, cells, large)
        is_visual = torch.ones(len(embeds), dtype=torch.bool, device=self.device)
        is_visual[[0, -1]] = False
        memory = letters, self._spaces(letters, page.characters, pixels), drawn_lines(pixels)
        return Prompt(embeds, places, is_visual, next_position=1, memory=memory)

    def begin(self, prompt: Prompt) -> Pointer:
        page = Printed(*cast(tuple[Letters, Tensor, Tensor], prompt.memory))
        wording = Wording(self.tokenizer, page.print, self.writable.ends)
        return Pointer(page, wording, self.printed, self.unprinted_ids, self.writable.tags, self.writable.marks)

    def draft(self, reading: Reading, token: int, count: int) -> Draft:
        """What is printed next."""
        pointer = cast(Pointer, reading)
        drafted = pointer.draft(token)
        places = [place_at(count + n, *pointer.page.place_of(letter)) for n, (_, letter) in enumerate(drafted)]
        return Draft([token for token, _ in drafted], places)

    def next_tokens(self, hidden: Tensor, counts: Tensor, readings: Sequence[Reading]) -> tuple[Tensor, Tensor]:
        outlooks = self.outlook(hidden[:, None], counts.tolist(), readings, [NO_DRAFT] * len(readings))
        places = torch.tensor([outlook.places[0] for outlook in outlooks], device=self.device)
        return torch.cat([outlook.scores for outlook in outlooks]), places.T

    def outlook(
        self, hidden: Tensor, counts: Sequence[int], readings: Sequence[Reading], drafts: Sequence[Draft]
    ) -> list[Outlook]:
        """A token stands where the network says it was printed, and is copied from there if the network trusts it."""
        rows, cells = (s.float().log_softmax(-1).cpu().numpy() for s in self.network.place_logits(hidden))
        pages = [cast(Pointer, r).along(*look) for r, *look in zip(readings, drafts, rows, cells, strict=True)]
        states = torch.cat([hidden[page, : len(pointers)] for page, pointers in enumerate(pages)])
        refusals = [pointers[0].refusals for pointers in pages]
        scores = self.scores(states, [pointer for pointers in pages for pointer in pointers])
        likeliest, outlooks = iter(scores.argmax(-1).tolist()), []
        for number, (some, pointers) in enumerate(zip(scores.split(list(map(len, pages))), pages, strict=True)):
            places = [place_at(counts[number] + k, *pointer.place) for k, pointer in enumerate(pointers)]
            refused = (k for k, pointer in enumerate(pointers) if pointer.refusals > refusals[number])
            known = next(refused, len(pointers)) + 1  # those after it know nothing of the refusal
            tokens = list(islice(likeliest, len(pointers)))
            outlooks.append(Outlook(some[:known], tokens[:known], places[:known], [*pointers[:known]]))
        return outlooks

    def scores(self, hidden: Tensor, pointers: Sequence[Pointer]) -> Tensor:
        """Scores (n, vocabulary) of what is written where the finger is, from the states (n, hidden) before it."""
        window = torch.stack([pointer.window() for pointer in pointers]).to(self.device)
        fit = fits(window, self.compared)
        for index in (index for index, pointer in enumerate(pointers) if pointer.at_mark):
            fit[index] = fits(window[index], self.letters)
        ends = self.writable.ends
        spaces = torch.tensor([0.0 if p.last in ends else p.space for p in pointers], device=self.device)
        scores = self.network.next_tokens(hidden, fit, spaces, self.signs)
        own = torch.tensor([pointer.page.own for pointer in pointers], device=self.device)
        scores = torch.where(own[:, None], sharpened(scores, fit, self.prints), scores)
        for index, pointer in enumerate(pointers):
            if self.writable.is_set_apart(pointer) and pointer.last not in ends:  # first the blank, then the letter
                blank = scores[index, [self.writable.blank]]
                scores[index, self.writable.blank] = torch.cat([scores[index, self.prints], blank]).logsumexp(-1)
                scores[index, self.prints] = NEVER
        unfit = torch.stack([self.writable.unfit(pointer) for pointer in pointers])
        scores.masked_fill_(unfit.to(self.device), NEVER)
        for index, (pointer, token) in enumerate(zip(pointers, scores.argmax(-1).tolist(), strict=True)):
            if (instead := self.writable.instead(pointer, token)) != token:
                scores[index, instead] = scores[index].max() + 1
        return scores

    def prefill(self, prompt: Prompt, cache: Cache) -> Tensor:
        return super().hidden(prompt.embeds[None], prompt.positions[:, None], cache)

    def hidden(self, embeds: Tensor, positions: Tensor, cache: Cache) -> Tensor:
        """Text tokens carry the code of the place where they were printed."""
        return super().hidden(embeds + self.network.place(*place_of(positions)), positions, cache)

    def visual_tokens(self, width: int, height: int) -> int:
        config = self.network.config
        return -(-width // config.token_width) * -(-height // config.token_height)

    def _own(
        self, characters: tuple[Character, ...] | None, pixels: Tensor
    ) -> tuple[Tensor, Tensor] | tuple[None, None]:
        """The page's own characters, (1, 2, height / 8, width / 8), and where its print is large."""
        if characters is None:
            return None, None
        cells, large = (grid(characters, *pixels.shape[-2:]) for grid in (cell_grid, large_print))
        return torch.from_numpy(cells)[None].to(self.device), torch.from_numpy(large).to(self.device)

    def _spaces(self, letters: Letters, characters: tuple[Character, ...] | None, pixels: Tensor) -> Tensor:
        """The logit of a blank before each letter, (1, letters): as the page says, else as it looks."""
        seen: Tensor = self.network.spaces(letters, pixels)
        if characters is None:
            return seen
        said = torch.from_numpy(blank_grid(characters, *pixels.shape[-2:])).to(seen)[letters.cell_row, letters.half]
        return torch.where(said == 0, seen, OWN_SPACE * said)

    def detokenize(self, ids: list[int]) -> str:
        text: str = self.tokenizer.decode(ids, skip_special_tokens=False)
        return text

    def parse(self, text: str, page: PageImage) -> Reply:
        return plain.parse(without_page_number(text), *page.image.size)

    def embed(self, ids: Tensor) -> Tensor:
        return self.network.embed(ids)

    def logits(self, hidden: Tensor) -> Tensor:
        return self.network.logits(hidden)


def ink(image: Image.Image, token_height: int, token_width: int) -> Tensor:
    """A page as (1, 1, height, width) from 0 (ground) to 1 (print), padded with white to whole visual tokens."""
    grey = torch.from_numpy(np.array(image.convert("L"), np.float32))
    height, width = grey.shape
    padded = F.pad(255 - grey, (0, -width % token_width, 0, -height % token_height))
    return on_white(padded[None, None] / 255)


def without_page_number(text: str) -> str:
    """A page's text without a number that was taken for a formula, first or last on the page, or an empty heading."""
    number = r"(?:\$\$)+ *(?:[Pp]age +)?\d+ *(?:\$\$)+"
    return re.sub(rf"\A\s*{number}\s*\n|\n\s*(?:{number}|#+)\s*\Z", "", text)


def repeatable(tokenizer: Tokenizer) -> frozenset[int]:
    """Tokens of marks that good text repeats: dot leaders, rules, blanks."""
    marks = set(" .·_-–—=*|\n")
    return frozenset(index for index in tokenizer.get_vocab().values() if set(tokenizer.decode([index])) <= marks)
