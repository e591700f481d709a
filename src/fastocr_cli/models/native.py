"""What families over transformers' own classes share: loading without remote code, prompts, heads, replies.

Knows a network with `get_image_features` behind a chat; a family adds its pixels and its positions.
"""

import logging
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import torch
from PIL import Image
from safetensors import SafetensorError
from tokenizers import Tokenizer
from torch import Tensor
from transformers.utils import logging as transformers_logging

from fastocr_cli.errors import ModelError
from fastocr_cli.markdown import Reply
from fastocr_cli.models import Checkpoint, chat
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.pages import PageImage, Resolution

logger = logging.getLogger("fastocr")


class Seen(NamedTuple):
    """A picture after the encoder."""

    tokens: Tensor
    """(visual, hidden)"""
    grid: Tensor | None = None
    """int64 (1, 3) of patches, for families whose positions follow it."""
    deepstack: Tensor | None = None
    """(layers, visual, hidden)"""


class ChatModel(VisionModel):
    """A transformers class with an encoder, a decoder and a head, spoken to in ChatML."""

    network_class: ClassVar[Any]
    form: ClassVar[chat.ChatFormat]

    def __init__(self, checkpoint: Checkpoint, network: Any, tokenizer: Tokenizer, folder: Path) -> None:
        self.checkpoint, self.network, self.tokenizer = checkpoint, network, tokenizer
        self.text_model = network.model.language_model
        self.max_new_tokens = checkpoint.max_new_tokens
        self.image_token_id = chat.token_id(tokenizer, self.form.image_token)
        self.stop_token_ids = chat.stop_token_ids(tokenizer)
        self.free_token_ids = chat.repeatable(tokenizer)
        self.context_limit = checkpoint.context_limit or int(self.text_config.max_position_embeddings)
        self.read_pixel_rules(folder)
        self.resolution = Resolution(
            dpi=None if checkpoint.longest_side else checkpoint.dpi,
            longest_side=checkpoint.longest_side,
            max_pixels=self.max_pixels,
        )

    @classmethod
    def load(cls, checkpoint: Checkpoint, folder: Path | None, *, device: torch.device, dtype: torch.dtype) -> Self:
        if folder is None:
            raise ModelError(f"The weights of {checkpoint.name} do not ship with the package.")
        tokenizer = chat.load_tokenizer(folder)
        network = load_network(cls.network_class, folder, dtype)
        return cls(checkpoint, network.to(device), tokenizer, folder)

    @property
    @abstractmethod
    def max_pixels(self) -> int:
        """Most pixels of a page that the encoder can make use of."""

    @abstractmethod
    def read_pixel_rules(self, folder: Path) -> None:
        """Take resize rules from the family, the checkpoint's row and the weights' own files."""

    @abstractmethod
    def see(self, image: Image.Image) -> Seen:
        """Run the encoder over a page."""

    @abstractmethod
    def place(self, ids: Tensor, seen: Seen) -> Tensor:
        """Positions (axes, length) of a prompt's token ids (length,)."""

    def encode(self, page: PageImage, prompt: str | None = None) -> Prompt:
        seen = self.see(page.image)
        text = chat.page_text(self.checkpoint, self.form, prompt)
        ids = torch.tensor(chat.page_ids(self.tokenizer, self.form, text, len(seen.tokens)), device=self.device)
        is_visual = self.visual_span(ids, len(seen.tokens))
        embeds = self.embed(ids)
        embeds[is_visual] = seen.tokens.to(embeds.dtype)
        positions = self.place(ids, seen)
        return Prompt(
            embeds, positions, is_visual, int(positions.max()) + 1, self.context_limit, deepstack=seen.deepstack
        )

    def visual_span(self, ids: Tensor, num_visual: int) -> Tensor:
        """bool (length,): the one run of placeholders that we laid, not those that an instruction may spell."""
        is_image = ids == self.image_token_id
        if int(is_image.sum()) != num_visual:
            raise ModelError(
                f"The instruction holds {self.form.image_token}: leave it out, the picture goes in by itself."
            )
        return is_image

    def detokenize(self, ids: list[int]) -> str:
        text: str = self.tokenizer.decode(ids, skip_special_tokens=True)
        return text

    def parse(self, text: str, page: PageImage) -> Reply:
        return parse_reply(self.checkpoint, text, self.seen_size(page.image))

    def seen_size(self, image: Image.Image) -> tuple[int, int]:
        """Width and height of the picture as the encoder saw it."""
        return image.size

    def embed(self, ids: Tensor) -> Tensor:
        embeds: Tensor = self.text_model.embed_tokens(ids)  # type: ignore[operator]
        return embeds

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.network.lm_head(hidden)
        return scores


def parse_reply(checkpoint: Checkpoint, text: str, size: tuple[int, int]) -> Reply:
    """What the model wrote, read by the row's own parser; HTML with boxes is known by sight.

    Args:
        size: width and height that boxes count in where the row names no scale.
    """
    module = "qwen_html" if "data-bbox=" in text else checkpoint.reply
    if checkpoint.box_scale:
        size = (checkpoint.box_scale, checkpoint.box_scale)
    reply: Reply = import_module(f"fastocr_cli.markdown.replies.{module}").parse(text, *size)
    return reply


@contextmanager
def no_progress_bar() -> Iterator[None]:
    """Inside, transformers draws none: it would write over ours."""
    shown = transformers_logging.is_progress_bar_enabled()
    transformers_logging.disable_progress_bar()
    try:
        yield
    finally:
        if shown:
            transformers_logging.enable_progress_bar()


def load_network(network_class: Any, folder: Path, dtype: torch.dtype, **kwargs: Any) -> Any:
    """A transformers model from the safetensors of a local folder, on the CPU, ready to read.

    Raises:
        ModelError: files are missing or broken, or the weights are not those of the class.
    """
    try:
        with no_progress_bar():
            network, info = network_class.from_pretrained(
                folder, dtype=dtype, output_loading_info=True, local_files_only=True, use_safetensors=True, **kwargs
            )
    except (OSError, ValueError, KeyError, RuntimeError, ImportError, SafetensorError) as error:
        reason = str(error).partition("\n")[0]
        raise ModelError(f"{folder} cannot be loaded as {network_class.__name__}: {reason}") from error
    if info["missing_keys"]:
        some = ", ".join(sorted(info["missing_keys"])[:3])
        raise ModelError(f"{folder} lacks {len(info['missing_keys'])} weights of {network_class.__name__}: {some}, ...")
    if info["unexpected_keys"]:
        some = ", ".join(sorted(info["unexpected_keys"])[:3])
        logger.warning("%s holds %d weights that are not used: %s", folder, len(info["unexpected_keys"]), some)
    return network.eval()
