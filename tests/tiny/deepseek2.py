"""Tiny DeepSeek-OCR-2. transformers writes its weights under the published names."""

from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import DeepseekOcr2Config, DeepseekOcr2ForConditionalGeneration

from tiny import deepseek
from tiny.parts import build_tokenizer, randomize

IDS = deepseek.IDS
ENCODER = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 3,
    "num_key_value_heads": 1,
    "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0},
}
SAM = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "global_attn_indexes": []}
PUBLISHED = deepseek.CONFIG | {
    "vision_config": {
        "image_size": 1024,
        "mlp_ratio": 3.7362,
        "model_name": "deepencoderv2",
        "model_type": "vision",
        "width": {
            "qwen2-0-5b": {"dim": 24},
            "sam_vit_b": {
                "downsample_channels": [20, 1024],
                "global_attn_indexes": [],
                "heads": 2,
                "layers": 2,
                "width": 16,
            },
        },
    }
}


def build(folder: Path) -> None:
    """With the configuration that transformers writes."""
    language = {key: value for key, value in deepseek.LANGUAGE.items() if key not in ("architectures", "auto_map")}
    language["mlp_layer_types"] = ["dense"] + ["sparse"] * (deepseek.LAYERS - 1)
    config = DeepseekOcr2Config(
        text_config=language,
        vision_config={"sam_config": SAM | {"downsample_channels": [20, 24]}, "encoder_config": ENCODER},
        image_token_id=IDS["<image>"],
    )
    network = DeepseekOcr2ForConditionalGeneration(config)
    randomize(network)
    network.save_pretrained(folder)
    build_tokenizer(deepseek.SPECIAL).save(str(folder / "tokenizer.json"))


def generate_inputs(model: Any, image: Image.Image, grid: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    """One page and its instruction as the published code lays them out."""
    whole, tiles = deepseek.reference_views(image, grid, 1024, 768)
    asked = model.tokenizer.encode(f"\n{model.checkpoint.instruction}", add_special_tokens=False).ids
    num_tiles = grid[0] * grid[1]
    num_visual = 16 * 16 + num_tiles * 12 * 12 + 1
    ids = [deepseek.LANGUAGE["bos_token_id"], *[IDS["<image>"]] * num_visual, *asked]
    inputs = {"input_ids": torch.tensor([ids]), "pixel_values": whole, "num_local_patches": [num_tiles]}
    return inputs if tiles is None else {**inputs, "pixel_values_local": tiles}
