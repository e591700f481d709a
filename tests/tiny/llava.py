"""Tiny LLaVA-OneVision."""

from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import LlavaOnevisionConfig, LlavaOnevisionForConditionalGeneration
from transformers.models.llava_onevision.image_processing_pil_llava_onevision import LlavaOnevisionImageProcessorPil
from transformers.models.llava_onevision.processing_llava_onevision import LlavaOnevisionProcessor

from tiny.parts import NUM_BYTES, randomize, save_checkpoint

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<image>", "<video>")
IDS = {token: NUM_BYTES + index for index, token in enumerate(SPECIAL)}
SIDE, PER_SIDE = 42, 3
GRIDS = [[rows * SIDE, columns * SIDE] for rows in range(1, 7) for columns in range(1, 7)]

CONFIG = {
    "architectures": ["LlavaOnevisionForConditionalGeneration"],
    "image_grid_pinpoints": GRIDS,
    "image_token_index": IDS["<image>"],
    "model_type": "llava_onevision",
    "projector_hidden_act": "gelu",
    "text_config": {
        "_name_or_path": "Qwen/Qwen2-0.5B-Instruct",
        "architectures": ["Qwen2ForCausalLM"],
        "bos_token_id": IDS["<|endoftext|>"],
        "eos_token_id": IDS["<|im_end|>"],
        "hidden_size": 64,
        "intermediate_size": 96,
        "max_position_embeddings": 4096,
        "max_window_layers": 4,
        "model_type": "qwen2",
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "num_key_value_heads": 2,
        "rope_theta": 10000.0,
        "sliding_window": None,
        "tie_word_embeddings": True,
        "torch_dtype": "bfloat16",
        "use_sliding_window": False,
        "vocab_size": 288,
    },
    "tie_word_embeddings": False,
    "torch_dtype": "float16",
    "use_image_newline_parameter": True,
    "video_token_index": IDS["<video>"],
    "vision_aspect_ratio": "anyres_max_9",
    "vision_config": {
        "hidden_size": 32,
        "image_size": SIDE,
        "intermediate_size": 48,
        "model_type": "siglip_vision_model",
        "num_attention_heads": 2,
        "num_hidden_layers": 2,
        "patch_size": 14,
        "vision_use_head": False,
    },
    "vision_feature_layer": -1,
    "vision_feature_select_strategy": "full",
}
RENAMES = [
    (r"^model\.language_model\.", "language_model.model."),
    (r"^lm_head\.", "language_model.lm_head."),
    (r"^model\.vision_tower\.", "vision_tower.vision_model."),
    (r"^model\.", ""),
]


def build(folder: Path) -> None:
    network = LlavaOnevisionForConditionalGeneration(LlavaOnevisionConfig(**CONFIG))
    randomize(network)
    save_checkpoint(folder, network, RENAMES, CONFIG, SPECIAL)


def reference_pixels(image: Image.Image) -> dict[str, torch.Tensor]:
    processor = LlavaOnevisionImageProcessorPil(
        size={"height": SIDE, "width": SIDE}, image_grid_pinpoints=GRIDS, image_mean=[0.5] * 3, image_std=[0.5] * 3
    )
    return dict(processor([image], return_tensors="pt"))


def reference_count(image: Image.Image, side: int = SIDE, per_side: int = PER_SIDE, grids: Any = GRIDS) -> int:
    """Visual tokens by the reference processor, of which only the sums are used."""
    processor = object.__new__(LlavaOnevisionProcessor)
    processor.image_processor = type("Grids", (), {"image_grid_pinpoints": grids})()
    processor.num_image_tokens, processor.vision_aspect_ratio = per_side**2, "anyres_max_9"
    return int(processor._get_number_of_features(image.height, image.width, side, side))


def generate_inputs(model: Any, image: Image.Image) -> dict[str, Any]:
    pixels = reference_pixels(image)
    picture = "<image>" * reference_count(image)
    text = f"<|im_start|>user {picture}\n{model.checkpoint.instruction}<|im_end|><|im_start|>assistant\n"
    ids = torch.tensor([model.tokenizer.encode(text, add_special_tokens=False).ids])
    return {"input_ids": ids, "pixel_values": pixels["pixel_values"], "image_sizes": pixels["image_sizes"]}
