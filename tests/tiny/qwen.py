"""Tiny Qwen2.5-VL and Qwen3-VL."""

from pathlib import Path
from typing import Any

import torch
from PIL import Image
from transformers import (
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen3VLConfig,
    Qwen3VLForConditionalGeneration,
)
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from tiny.parts import NUM_BYTES, randomize, save_checkpoint

SPECIAL = (
    "<|endoftext|>",
    "<|im_start|>",
    "<|im_end|>",
    "<|object_ref_start|>",
    "<|object_ref_end|>",
    "<|box_start|>",
    "<|box_end|>",
    "<|quad_start|>",
    "<|quad_end|>",
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
IDS = {token: NUM_BYTES + index for index, token in enumerate(SPECIAL)}
VOCABULARY = 288
VISION_IDS = {
    "vision_start_token_id": IDS["<|vision_start|>"],
    "vision_end_token_id": IDS["<|vision_end|>"],
    "image_token_id": IDS["<|image_pad|>"],
    "video_token_id": IDS["<|video_pad|>"],
}

QWEN2_5_VL = {  # flat, as in the real file
    "architectures": ["Qwen2_5_VLForConditionalGeneration"],
    "attention_dropout": 0.0,
    "bos_token_id": IDS["<|endoftext|>"],
    "eos_token_id": IDS["<|im_end|>"],
    "vision_token_id": IDS["<|vision_pad|>"],
    **VISION_IDS,
    "hidden_act": "silu",
    "hidden_size": 64,
    "initializer_range": 0.02,
    "intermediate_size": 96,
    "max_position_embeddings": 4096,
    "max_window_layers": 4,
    "model_type": "qwen2_5_vl",
    "num_attention_heads": 4,
    "num_hidden_layers": 4,
    "num_key_value_heads": 2,
    "rms_norm_eps": 1e-06,
    "rope_theta": 10000.0,
    "sliding_window": 32768,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "transformers_version": "4.41.2",
    "use_cache": True,
    "use_sliding_window": False,
    "vision_config": {
        "depth": 2,
        "hidden_act": "silu",
        "hidden_size": 32,
        "intermediate_size": 48,
        "num_heads": 2,
        "in_chans": 3,
        "out_hidden_size": 64,
        "patch_size": 14,
        "spatial_merge_size": 2,
        "spatial_patch_size": 14,
        "window_size": 112,
        "fullatt_block_indexes": [1],
        "tokens_per_second": 2,
        "temporal_patch_size": 2,
    },
    "rope_scaling": {"type": "mrope", "mrope_section": [2, 3, 3]},
    "vocab_size": VOCABULARY,
}
QWEN2_5_VL_PIXELS = {
    "min_pixels": 3136,
    "max_pixels": 12845056,
    "patch_size": 14,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "image_mean": [0.48145466, 0.4578275, 0.40821073],
    "image_std": [0.26862954, 0.26130258, 0.27577711],
    "image_processor_type": "Qwen2VLImageProcessor",
}
QWEN3_VL = {
    "architectures": ["Qwen3VLForConditionalGeneration"],
    **VISION_IDS,
    "model_type": "qwen3_vl",
    "text_config": {
        "attention_bias": False,
        "attention_dropout": 0.0,
        "bos_token_id": IDS["<|endoftext|>"],
        "dtype": "bfloat16",
        "eos_token_id": IDS["<|im_end|>"],
        "head_dim": 16,
        "hidden_act": "silu",
        "hidden_size": 64,
        "initializer_range": 0.02,
        "intermediate_size": 96,
        "max_position_embeddings": 4096,
        "model_type": "qwen3_vl_text",
        "num_attention_heads": 4,
        "num_hidden_layers": 4,
        "num_key_value_heads": 2,
        "rms_norm_eps": 1e-06,
        "rope_scaling": {"mrope_interleaved": True, "mrope_section": [4, 2, 2], "rope_type": "default"},
        "rope_theta": 10000.0,
        "tie_word_embeddings": True,
        "use_cache": True,
        "vocab_size": VOCABULARY,
    },
    "tie_word_embeddings": True,
    "transformers_version": "4.57.0.dev0",
    "vision_config": {
        "deepstack_visual_indexes": [0, 1],
        "depth": 3,
        "hidden_act": "gelu_pytorch_tanh",
        "hidden_size": 32,
        "in_channels": 3,
        "initializer_range": 0.02,
        "intermediate_size": 48,
        "model_type": "qwen3_vl",
        "num_heads": 2,
        "num_position_embeddings": 64,
        "out_hidden_size": 64,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
    },
}
QWEN3_VL_PIXELS = {
    "size": {"longest_edge": 16777216, "shortest_edge": 4096},
    "patch_size": 16,
    "temporal_patch_size": 2,
    "merge_size": 2,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
    "processor_class": "Qwen3VLProcessor",
    "image_processor_type": "Qwen2VLImageProcessorFast",
}


def build_qwen2_5_vl(folder: Path) -> None:
    network = Qwen2_5_VLForConditionalGeneration(Qwen2_5_VLConfig(**QWEN2_5_VL))
    randomize(network)
    renames = [(r"^model\.visual\.", "visual."), (r"^model\.language_model\.", "model.")]
    save_checkpoint(folder, network, renames, QWEN2_5_VL, SPECIAL, preprocessor_config=QWEN2_5_VL_PIXELS)


def build_qwen3_vl(folder: Path) -> None:
    network = Qwen3VLForConditionalGeneration(Qwen3VLConfig(**QWEN3_VL))
    randomize(network)
    save_checkpoint(folder, network, [], QWEN3_VL, SPECIAL, preprocessor_config=QWEN3_VL_PIXELS)


def reference_pixels(model: Any, image: Image.Image) -> dict[str, torch.Tensor]:
    """What the reference image processor makes of a page with the settings of the checkpoint's own file."""
    values = QWEN3_VL_PIXELS if model.rule.patch == 16 else QWEN2_5_VL_PIXELS
    known = {k: v for k, v in values.items() if k not in ("processor_class", "image_processor_type")}
    return dict(Qwen2VLImageProcessorPil(**known)([image], return_tensors="pt"))


def generate_inputs(model: Any, image: Image.Image) -> dict[str, Any]:
    pixels = reference_pixels(model, image)
    num_visual = int(pixels["image_grid_thw"].prod()) // 4
    row = model.checkpoint
    system = f"<|im_start|>system\n{row.system}<|im_end|>\n" if row.system else ""
    picture = f"<|vision_start|>{'<|image_pad|>' * num_visual}<|vision_end|>"
    asked = picture + row.instruction if row.image_first else row.instruction + picture
    text = f"{system}<|im_start|>user\n{asked}<|im_end|>\n<|im_start|>assistant\n"
    ids = torch.tensor([model.tokenizer.encode(text, add_special_tokens=False).ids])
    return {"input_ids": ids, "mm_token_type_ids": (ids == IDS["<|image_pad|>"]).int(), **pixels}
