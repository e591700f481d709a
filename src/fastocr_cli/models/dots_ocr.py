"""dots.ocr and dots.mocr: Qwen2 decoders with plain positions, under a vision tower of their own.

Says how a page becomes patches and which tokens stand around it; the reply is JSON. Knows no method.
"""

from pathlib import Path
from typing import Any, Self

import torch
from PIL import Image
from tokenizers import Tokenizer
from torch import Tensor
from transformers import Qwen2Config, Qwen2ForCausalLM

from fastocr_cli.errors import ModelError
from fastocr_cli.markdown import Reply
from fastocr_cli.models import Checkpoint, chat
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.models.dots_vision import DotsVisionConfig, DotsVisionTower
from fastocr_cli.models.hub import read_config
from fastocr_cli.models.line import line_prompt
from fastocr_cli.models.native import load_network, parse_reply
from fastocr_cli.models.pixels import PatchRule, patches, within_aspect
from fastocr_cli.pages import PageImage, Resolution

MIN_PIXELS, MAX_PIXELS = 3_136, 11_289_600


class DotsOcrConfig(Qwen2Config):
    """A flat Qwen2 configuration with the tower's sizes beside it, as published."""

    model_type = "dots_ocr"
    image_token_id: int = 151665
    vision_config: dict[str, Any] | None = None


class DotsOcrForCausalLM(Qwen2ForCausalLM):
    """transformers' Qwen2 with the vision tower at its side; names as in the published weights."""

    config_class = DotsOcrConfig

    def __init__(self, config: DotsOcrConfig) -> None:
        super().__init__(config)
        self.vision_tower = DotsVisionTower(DotsVisionConfig.from_dict(config.vision_config or {}))


class Model(VisionModel):
    """A page is resized to whole visual tokens of 28 x 28 pixels; pages beyond the pixel limit are scaled down."""

    def __init__(self, checkpoint: Checkpoint, network: DotsOcrForCausalLM, tokenizer: Tokenizer, folder: Path) -> None:
        self.checkpoint, self.network, self.tokenizer = checkpoint, network, tokenizer
        self.text_model = network.model
        self.max_new_tokens = checkpoint.max_new_tokens
        vision = network.vision_tower.config
        rule = PatchRule(vision.patch_size, 1, MIN_PIXELS, MAX_PIXELS, vision.spatial_merge_size)
        self.rule = rule.limited(folder, checkpoint.max_pixels)
        self.resolution = Resolution(dpi=checkpoint.dpi, max_pixels=self.rule.max_pixels)
        # by name: published configurations disagree about the numbers
        self.stop_token_ids = frozenset(
            chat.token_id(tokenizer, name) for name in ("<|endofassistant|>", "<|endoftext|>")
        )
        self.free_token_ids = chat.repeatable(tokenizer)

    @classmethod
    def load(cls, checkpoint: Checkpoint, folder: Path | None, *, device: torch.device, dtype: torch.dtype) -> Self:
        if folder is None:
            raise ModelError(f"The weights of {checkpoint.name} do not ship with the package.")
        tokenizer = chat.load_tokenizer(folder)
        network = load_network(
            DotsOcrForCausalLM,
            folder,
            dtype,
            config=DotsOcrConfig(**read_config(folder)),
            key_mapping={r"^model\.vision_tower\.": "vision_tower."},  # some re-exports put the tower there
        )
        return cls(checkpoint, network.to(device), tokenizer, folder)

    def encode(self, page: PageImage, prompt: str | None = None) -> Prompt:
        asked = chat.page_instruction(self.checkpoint, prompt)
        return line_prompt(
            self._ids("<|user|><|img|>"),
            self.see(page.image),
            self._ids(f"<|endofimg|>{asked}<|endofuser|><|assistant|>"),
            self.embed,
            self.checkpoint.context_limit or self.text_config.max_position_embeddings,
        )

    def see(self, image: Image.Image) -> Tensor:
        """The page as the decoder takes it, (visual, hidden)."""
        pixels, grid = patches(image, self.rule)
        _, num_rows, num_columns = grid[0].tolist()
        tokens: Tensor = self.network.vision_tower(pixels.to(self.device, self.dtype), num_rows, num_columns)
        return tokens

    def visual_tokens(self, width: int, height: int) -> int:
        return self.rule.visual_tokens(width, height)

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return ids

    def detokenize(self, ids: list[int]) -> str:
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True)
        return text

    def parse(self, text: str, page: PageImage) -> Reply:
        seen = self.rule.fit(*within_aspect(page.image).size)  # boxes are pixels of the resized picture
        return parse_reply(self.checkpoint, text, seen)

    def embed(self, ids: Tensor) -> Tensor:
        embeds: Tensor = self.network.model.embed_tokens(ids)
        return embeds

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.network.lm_head(hidden)
        return scores
