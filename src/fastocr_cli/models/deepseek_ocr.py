"""DeepSeek-OCR (the first): its published weights in transformers' Unlimited-OCR network, which has the same parts.

Builds the configuration by hand, for transformers knows no class of that name. Knows no method.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from PIL import Image
from tokenizers import Tokenizer
from torch import Tensor
from transformers import Cache, UnlimitedOcrConfig, UnlimitedOcrForConditionalGeneration, UnlimitedOcrTextConfig

from fastocr_cli.errors import ModelError
from fastocr_cli.markdown import Reply
from fastocr_cli.models import Checkpoint, chat
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.models.deepseek_tiles import TileRule
from fastocr_cli.models.hub import read_config
from fastocr_cli.models.line import line_prompt
from fastocr_cli.models.native import load_network, parse_reply
from fastocr_cli.pages import PageImage, Resolution

IMAGE_TOKEN = "<image>"


class Model(VisionModel):
    """The page, then a short instruction, without any chat around them; the model is sensitive to its words."""

    def __init__(self, checkpoint: Checkpoint, network: Any, tokenizer: Tokenizer) -> None:
        self.checkpoint, self.network, self.tokenizer = checkpoint, network, tokenizer
        self.text_model = network.model.language_model
        config = self.text_config
        self.max_new_tokens = checkpoint.max_new_tokens
        self.context_limit = checkpoint.context_limit or config.max_position_embeddings
        self.tiling = self.tile_rule()
        self.resolution = Resolution(dpi=checkpoint.dpi)
        ends = config.eos_token_id
        self.stop_token_ids = frozenset(ends if isinstance(ends, list) else [ends])
        self.free_token_ids = chat.repeatable(tokenizer)

    @classmethod
    def load(cls, checkpoint: Checkpoint, folder: Path | None, *, device: torch.device, dtype: torch.dtype) -> "Model":
        if folder is None:
            raise ModelError(f"The weights of {checkpoint.name} do not ship with the package.")
        published = read_config(folder)
        if is_second(published):  # both models, and all made from them, go by one model type
            second: type[Model] = import_module("fastocr_cli.models.deepseek_ocr2").Model
            return second.load(checkpoint, folder, device=device, dtype=dtype)
        tokenizer = chat.load_tokenizer(folder)
        config = network_config(published, chat.token_id(tokenizer, IMAGE_TOKEN))
        network = load_network(UnlimitedOcrForConditionalGeneration, folder, dtype, config=config)
        return cls(checkpoint, network.to(device), tokenizer)

    def tile_rule(self) -> TileRule:
        """How pages are cut: the published sizes, but for the whole's, which the weights name."""
        return TileRule(base=self.network.config.vision_config.sam_config.image_size)

    def encode(self, page: PageImage, prompt: str | None = None) -> Prompt:
        # the maker writes the picture's place into the instruction: here it is known
        asked = chat.page_instruction(self.checkpoint, prompt).strip().removeprefix(IMAGE_TOKEN).strip()
        after = self.tokenizer.encode(f"\n{asked}", add_special_tokens=False).ids
        before = [self.text_config.bos_token_id]
        return line_prompt(before, self.see(page.image), after, self.embed, self.context_limit)

    def see(self, image: Image.Image) -> Tensor:
        """The page as the decoder takes it, (visual, hidden): its tiles, then the whole."""
        whole, tiles, grid = self.tiling.views(image)
        inputs: dict[str, Any] = {"pixel_values": whole.to(self.device, self.dtype)}
        if tiles is not None:
            inputs["pixel_values_local"] = tiles.to(self.device, self.dtype)
            inputs["num_local_patches"] = [len(tiles)]
        if self.tiling.line_ends:
            inputs["patches_grid"] = [grid]
        tokens: Tensor = self.network.get_image_features(**inputs).pooler_output[0]
        return tokens

    def visual_tokens(self, width: int, height: int) -> int:
        return self.tiling.visual_tokens(width, height)

    def detokenize(self, ids: list[int]) -> str:
        # table cells and regions are special tokens in this vocabulary: skipping them would lose the tables
        text: str = self.tokenizer.decode(ids, skip_special_tokens=False)
        return text

    def parse(self, text: str, page: PageImage) -> Reply:
        return parse_reply(self.checkpoint, text, page.image.size)

    def embed(self, ids: Tensor) -> Tensor:
        embeds: Tensor = self.network.model.language_model.embed_tokens(ids)
        return embeds

    def logits(self, hidden: Tensor) -> Tensor:
        scores: Tensor = self.network.lm_head(hidden)
        return scores

    def hidden(self, embeds: Tensor, positions: Tensor, cache: Cache) -> Tensor:
        # a ready mask: else the network builds that of Unlimited-OCR's sliding window too, at twice a step's cost
        output = self.text_model(
            inputs_embeds=embeds,
            position_ids=positions[0],
            attention_mask={"full_attention": None},
            cache=cache,
            use_cache=True,
        )
        states: Tensor = output.last_hidden_state
        return states


def is_second(published: dict[str, Any]) -> bool:
    """Whether a published configuration is that of DeepSeek-OCR-2."""
    return any(name.startswith("qwen2") for name in published.get("vision_config", {}).get("width", {}))


def network_config(published: dict[str, Any], image_token_id: int) -> UnlimitedOcrConfig:
    """The published configuration in the words of the Unlimited-OCR classes; what it leaves out is as they have it."""
    text = text_config(published, {*UnlimitedOcrTextConfig.__dataclass_fields__})
    # the sliding window is Unlimited-OCR's own: it must have a number, and no layer uses it here
    text |= {"layer_types": ["full_attention"] * text["num_hidden_layers"], "sliding_window": 128}
    vision = published.get("vision_config", {})
    encoders = vision.get("width", {})
    sam = {"image_size": vision.get("image_size", 1024), **encoder_config(encoders.get("sam_vit_b", {}), "mlp_dim")}
    clip = encoder_config(encoders.get("clip-l-14-224", {}), "intermediate_size")
    return UnlimitedOcrConfig(
        text_config=text,
        vision_config={"sam_config": sam, "encoder_config": clip},
        image_token_id=image_token_id,
    )


def text_config(published: dict[str, Any], known: set[str]) -> dict[str, Any]:
    """The decoder's part of a published configuration, as far as its class has a name for it."""
    language = published.get("language_config") or published
    num_dense, num_layers = language.get("first_k_dense_replace", 1), language["num_hidden_layers"]
    text = {key: value for key, value in language.items() if key in known}
    return text | {"mlp_layer_types": ["dense"] * num_dense + ["sparse"] * (num_layers - num_dense)}


def encoder_config(published: dict[str, Any], mlp: str) -> dict[str, Any]:
    """Sizes of one of the two encoders. `mlp` is what its class calls the width that is four times the model's."""
    names = {"width": "hidden_size", "layers": "num_hidden_layers", "heads": "num_attention_heads"}
    sizes = {names.get(key, key): value for key, value in published.items()}
    return sizes | ({mlp: 4 * sizes["hidden_size"]} if "hidden_size" in sizes else {})
