"""DeepSeek-OCR-2 in transformers' own classes: the first model's prompt and decoder under another encoder.

Its tiles are larger and fewer, and no token ends a line of them.
"""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DeepseekOcr2Config, DeepseekOcr2ForConditionalGeneration, DeepseekOcr2TextConfig

from fastocr_cli.errors import ModelError
from fastocr_cli.models import Checkpoint, chat, deepseek_ocr
from fastocr_cli.models.base import VisionModel
from fastocr_cli.models.deepseek_tiles import TileRule
from fastocr_cli.models.hub import read_config
from fastocr_cli.models.native import load_network

ENCODER: dict[str, Any] = {
    "hidden_size": 896,
    "intermediate_size": 4864,
    "num_hidden_layers": 24,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1_000_000.0},
}
"""Sizes of Qwen2-0.5B, which the published configuration calls by name only."""


class Model(deepseek_ocr.Model):
    """Weights as first published, or with the configuration that transformers writes."""

    @classmethod
    def load(cls, checkpoint: Checkpoint, folder: Path | None, *, device: torch.device, dtype: torch.dtype) -> "Model":
        if folder is None:
            raise ModelError(f"The weights of {checkpoint.name} do not ship with the package.")
        tokenizer = chat.load_tokenizer(folder)
        published, options = read_config(folder), {}
        if deepseek_ocr.is_second(published):
            image_token_id = chat.token_id(tokenizer, deepseek_ocr.IMAGE_TOKEN)
            options["config"] = network_config(published, image_token_id)
        network = load_network(DeepseekOcr2ForConditionalGeneration, folder, dtype, **options)
        return cls(checkpoint, network.to(device), tokenizer)

    def tile_rule(self) -> TileRule:
        return TileRule(tile=768, max_tiles=6, line_ends=False)

    def hidden(self, embeds: Tensor, positions: Tensor, cache: Cache) -> Tensor:
        return VisionModel.hidden(self, embeds, positions, cache)


def network_config(published: dict[str, Any], image_token_id: int) -> DeepseekOcr2Config:
    """The published configuration in transformers' words."""
    sam = deepseek_ocr.encoder_config(published["vision_config"]["width"].get("sam_vit_b", {}), "mlp_dim")
    # the published 1024 is the first model's: these weights end at the width of the encoder that follows
    sam["downsample_channels"] = [*sam.get("downsample_channels", [512])[:1], ENCODER["hidden_size"]]
    return DeepseekOcr2Config(
        text_config=deepseek_ocr.text_config(published, {*DeepseekOcr2TextConfig.__dataclass_fields__}),
        vision_config={"sam_config": sam, "encoder_config": ENCODER},
        image_token_id=image_token_id,
    )
