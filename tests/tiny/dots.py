"""Tiny dots.ocr: the published names and configuration fields, by hand."""

from pathlib import Path

from torch import Tensor

from tiny.parts import NUM_BYTES
from tiny.published import Random, write_checkpoint

WIDTH, VISION_WIDTH, LAYERS, VISION_LAYERS, HEADS, KV_HEADS = 32, 48, 4, 2, 4, 2
VOCABULARY = 288
SPECIAL = [
    "<|endoftext|>",
    "<|imgpad|>",
    "<|img|>",
    "<|endofimg|>",
    "<|user|>",
    "<|endofuser|>",
    "<|assistant|>",
    "<|endofassistant|>",
]
IDS = {token: NUM_BYTES + index for index, token in enumerate(SPECIAL)}

VISION = {
    "attn_implementation": "flash_attention_2",
    "embed_dim": VISION_WIDTH,
    "hidden_size": WIDTH,
    "init_merger_std": 0.02,
    "initializer_range": 0.02,
    "intermediate_size": 40,
    "is_causal": False,
    "num_attention_heads": 3,
    "num_channels": 3,
    "num_hidden_layers": VISION_LAYERS,
    "patch_size": 14,
    "post_norm": True,
    "rms_norm_eps": 1e-05,
    "spatial_merge_size": 2,
    "temporal_patch_size": 1,
    "use_bias": False,
}
CONFIG = {
    "architectures": ["DotsOCRForCausalLM"],
    "attention_bias": True,
    "attention_dropout": 0.0,
    "auto_map": {"AutoConfig": "configuration_dots.DotsOCRConfig"},
    "hidden_act": "silu",
    "hidden_size": WIDTH,
    "image_token_id": IDS["<|imgpad|>"],
    "initializer_range": 0.02,
    "intermediate_size": 64,
    "max_position_embeddings": 131072,
    "max_window_layers": 28,
    "model_type": "dots_ocr",
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": KV_HEADS,
    "rms_norm_eps": 1e-06,
    "rope_scaling": None,
    "rope_theta": 1000000,
    "sliding_window": 131072,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
    "use_cache": True,
    "use_sliding_window": False,
    "video_token_id": 151656,
    "vision_config": VISION,
    "vocab_size": VOCABULARY,
}
PIXELS = {"min_pixels": 3136, "max_pixels": 11289600, "patch_size": 14, "temporal_patch_size": 1, "merge_size": 2}


def build(folder: Path, *, tower: str = "vision_tower.") -> None:
    """Write the checkpoint; `tower` is the prefix of the tower's weights."""
    weights = text_weights(VOCABULARY) | {tower + name: weight for name, weight in tower_weights().items()}
    write_checkpoint(folder, CONFIG, weights, SPECIAL, preprocessor_config=PIXELS)


def text_weights(vocab_size: int) -> dict[str, Tensor]:
    """Qwen2's names."""
    random, kv = Random(1), WIDTH // HEADS * KV_HEADS
    weights = {
        "model.embed_tokens.weight": random.matrix(vocab_size, WIDTH),
        "model.norm.weight": random.scale(WIDTH),
        "lm_head.weight": random.matrix(vocab_size, WIDTH),
    }
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        for name, rows in (("q", WIDTH), ("k", kv), ("v", kv)):
            weights[f"{at}self_attn.{name}_proj.weight"] = random.matrix(rows, WIDTH)
            weights[f"{at}self_attn.{name}_proj.bias"] = random.matrix(rows)
        weights[f"{at}self_attn.o_proj.weight"] = random.matrix(WIDTH, WIDTH)
        weights[f"{at}mlp.gate_proj.weight"] = random.matrix(64, WIDTH)
        weights[f"{at}mlp.up_proj.weight"] = random.matrix(64, WIDTH)
        weights[f"{at}mlp.down_proj.weight"] = random.matrix(WIDTH, 64)
        weights[f"{at}input_layernorm.weight"] = random.scale(WIDTH)
        weights[f"{at}post_attention_layernorm.weight"] = random.scale(WIDTH)
    return weights


def tower_weights() -> dict[str, Tensor]:
    """The tower's names, without their prefix."""
    random, width = Random(2), VISION_WIDTH
    weights = {
        "patch_embed.patchifier.proj.weight": random.matrix(width, 3, 14, 14),
        "patch_embed.patchifier.proj.bias": random.matrix(width),
        "patch_embed.patchifier.norm.weight": random.scale(width),
        "post_trunk_norm.weight": random.scale(width),
        "merger.ln_q.weight": random.scale(width),
        "merger.ln_q.bias": random.matrix(width),
        "merger.mlp.0.weight": random.matrix(4 * width, 4 * width),
        "merger.mlp.0.bias": random.matrix(4 * width),
        "merger.mlp.2.weight": random.matrix(WIDTH, 4 * width),
        "merger.mlp.2.bias": random.matrix(WIDTH),
    }
    for block in range(VISION_LAYERS):
        at = f"blocks.{block}."
        weights[f"{at}norm1.weight"] = random.scale(width)
        weights[f"{at}attn.qkv.weight"] = random.matrix(3 * width, width)
        weights[f"{at}attn.proj.weight"] = random.matrix(width, width)
        weights[f"{at}norm2.weight"] = random.scale(width)
        weights[f"{at}mlp.fc1.weight"] = random.matrix(40, width)
        weights[f"{at}mlp.fc2.weight"] = random.matrix(width, 40)
        weights[f"{at}mlp.fc3.weight"] = random.matrix(40, width)
    return weights
