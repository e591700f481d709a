"""Tiny DeepSeek-OCR: the published names and configuration fields, and its views of a page, by hand."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from torch import Tensor

from tiny.parts import NUM_BYTES
from tiny.published import Random, write_checkpoint

SPECIAL = [
    "<｜begin▁of▁sentence｜>",
    "<｜end▁of▁sentence｜>",
    "<image>",
    "<|grounding|>",
    "<|ref|>",
    "<|/ref|>",
    "<|det|>",
    "<|/det|>",
    "<td>",
    "</td>",
]
IDS = {token: NUM_BYTES + index for index, token in enumerate(SPECIAL)}
VOCABULARY = 288
BASE, TILE = 512, 640
WIDTH, HEADS, LAYERS, MLP, EXPERTS, EXPERT_MLP, SHARED = 32, 2, 4, 48, 6, 16, 2
SAM_WIDTH, SAM_LAYERS, SAM_HEADS, NECK, CLIP_WIDTH, CLIP_LAYERS, CLIP_HEADS = 16, 2, 2, 256, 24, 2, 3
WINDOW, CLIP_PLACES = 14, 257

LANGUAGE = {
    "architectures": ["DeepseekV2ForCausalLM"],
    "auto_map": {"AutoConfig": "configuration_deepseekv2.DeepseekV2Config"},
    "bos_token_id": IDS["<｜begin▁of▁sentence｜>"],
    "eos_token_id": IDS["<｜end▁of▁sentence｜>"],
    "first_k_dense_replace": 1,
    "hidden_size": WIDTH,
    "intermediate_size": MLP,
    "kv_lora_rank": None,
    "lm_head": True,
    "max_position_embeddings": 8192,
    "moe_intermediate_size": EXPERT_MLP,
    "n_group": 1,
    "n_routed_experts": EXPERTS,
    "n_shared_experts": SHARED,
    "num_attention_heads": HEADS,
    "num_experts_per_tok": 2,
    "num_hidden_layers": LAYERS,
    "num_key_value_heads": HEADS,
    "q_lora_rank": None,
    "qk_nope_head_dim": 0,
    "qk_rope_head_dim": 0,
    "rm_head": False,
    "topk_group": 1,
    "topk_method": "greedy",
    "torch_dtype": "bfloat16",
    "use_mla": False,
    "v_head_dim": 0,
    "vocab_size": VOCABULARY,
}
CONFIG = {
    "architectures": ["DeepseekOCRForCausalLM"],
    "auto_map": {"AutoModel": "modeling_deepseekocr.DeepseekOCRForCausalLM"},
    "candidate_resolutions": [[BASE, BASE]],
    "global_view_pos": "head",
    "language_config": LANGUAGE,
    "model_type": "deepseek_vl_v2",
    "projector_config": {"input_dim": 2 * CLIP_WIDTH, "n_embed": WIDTH, "projector_type": "linear"},
    "tile_tag": "2D",
    "torch_dtype": "bfloat16",
    "vision_config": {
        "image_size": BASE,
        "mlp_ratio": 3.7362,
        "model_name": "deeplip_b_l",
        "model_type": "vision",
        "width": {
            "clip-l-14-224": {
                "heads": CLIP_HEADS,
                "image_size": 224,
                "layers": CLIP_LAYERS,
                "patch_size": 14,
                "width": CLIP_WIDTH,
            },
            "sam_vit_b": {
                "downsample_channels": [20, CLIP_WIDTH],
                "global_attn_indexes": [1],
                "heads": SAM_HEADS,
                "layers": SAM_LAYERS,
                "width": SAM_WIDTH,
            },
        },
    },
    **{key: value for key, value in LANGUAGE.items() if key not in ("architectures", "auto_map")},
}


def build(folder: Path) -> None:
    write_checkpoint(folder, CONFIG, weights(), SPECIAL)


def weights() -> dict[str, Tensor]:
    """All weights under their published names."""
    random = Random(4)
    return {
        **{f"model.sam_model.{name}": weight for name, weight in sam_weights(random).items()},
        **{f"model.vision_model.{name}": weight for name, weight in clip_weights(random).items()},
        **text_weights(random),
        "model.projector.layers.weight": random.matrix(WIDTH, 2 * CLIP_WIDTH),
        "model.projector.layers.bias": random.matrix(WIDTH),
        "model.image_newline": random.matrix(WIDTH),
        "model.view_seperator": random.matrix(WIDTH),
    }


def sam_weights(random: Random) -> dict[str, Tensor]:
    side, head_dim, width = BASE // 16, SAM_WIDTH // SAM_HEADS, SAM_WIDTH
    found = {
        "patch_embed.proj.weight": random.matrix(width, 3, 16, 16),
        "patch_embed.proj.bias": random.matrix(width),
        "pos_embed": random.matrix(1, side, side, width),
        "neck.0.weight": random.matrix(NECK, width, 1, 1),
        "neck.2.weight": random.matrix(NECK, NECK, 3, 3),
        "net_2.weight": random.matrix(20, NECK, 3, 3),
        "net_3.weight": random.matrix(CLIP_WIDTH, 20, 3, 3),
    }
    for norm in ("neck.1", "neck.3"):
        found |= {f"{norm}.weight": random.scale(NECK), f"{norm}.bias": random.matrix(NECK)}
    for block in range(SAM_LAYERS):
        at, reach = f"blocks.{block}.", side if block == 1 else WINDOW
        for norm in ("norm1", "norm2"):
            found |= {f"{at}{norm}.weight": random.scale(width), f"{at}{norm}.bias": random.matrix(width)}
        for axis in ("h", "w"):
            found[f"{at}attn.rel_pos_{axis}"] = random.matrix(2 * reach - 1, head_dim)
        for name, (rows, columns) in {
            "attn.qkv": (3 * width, width),
            "attn.proj": (width, width),
            "mlp.lin1": (4 * width, width),
            "mlp.lin2": (width, 4 * width),
        }.items():
            found |= {f"{at}{name}.weight": random.matrix(rows, columns), f"{at}{name}.bias": random.matrix(rows)}
    return found


def clip_weights(random: Random) -> dict[str, Tensor]:
    width = CLIP_WIDTH
    found = {
        "embeddings.class_embedding": random.matrix(width),
        "embeddings.patch_embedding.weight": random.matrix(width, 3, 14, 14),
        "embeddings.position_embedding.weight": random.matrix(CLIP_PLACES, width),
        "pre_layrnorm.weight": random.scale(width),
        "pre_layrnorm.bias": random.matrix(width),
    }
    for layer in range(CLIP_LAYERS):
        at = f"transformer.layers.{layer}."
        for norm in ("layer_norm1", "layer_norm2"):
            found |= {f"{at}{norm}.weight": random.scale(width), f"{at}{norm}.bias": random.matrix(width)}
        for name, (rows, columns) in {
            "self_attn.qkv_proj": (3 * width, width),
            "self_attn.out_proj": (width, width),
            "mlp.fc1": (4 * width, width),
            "mlp.fc2": (width, 4 * width),
        }.items():
            found |= {f"{at}{name}.weight": random.matrix(rows, columns), f"{at}{name}.bias": random.matrix(rows)}
    return found


def text_weights(random: Random) -> dict[str, Tensor]:
    found = {
        "model.embed_tokens.weight": random.matrix(VOCABULARY, WIDTH),
        "model.norm.weight": random.scale(WIDTH),
        "lm_head.weight": random.matrix(VOCABULARY, WIDTH),
    }
    for layer in range(LAYERS):
        at = f"model.layers.{layer}."
        found |= {f"{at}{norm}.weight": random.scale(WIDTH) for norm in ("input_layernorm", "post_attention_layernorm")}
        found |= {f"{at}self_attn.{name}_proj.weight": random.matrix(WIDTH, WIDTH) for name in "qkvo"}
        if layer == 0:
            found |= mlp_weights(random, f"{at}mlp.", MLP)
            continue
        found[f"{at}mlp.gate.weight"] = random.matrix(EXPERTS, WIDTH)
        found |= mlp_weights(random, f"{at}mlp.shared_experts.", SHARED * EXPERT_MLP)
        for expert in range(EXPERTS):
            found |= mlp_weights(random, f"{at}mlp.experts.{expert}.", EXPERT_MLP)
    return found


def mlp_weights(random: Random, at: str, width: int) -> dict[str, Tensor]:
    return {
        f"{at}gate_proj.weight": random.matrix(width, WIDTH),
        f"{at}up_proj.weight": random.matrix(width, WIDTH),
        f"{at}down_proj.weight": random.matrix(WIDTH, width),
    }


def reference_views(
    image: Image.Image, grid: tuple[int, int], base: int = BASE, tile: int = TILE
) -> tuple[Tensor, Tensor | None]:
    """The whole page on a grey square, and its tiles cut one by one in reading order; `grid` is columns and rows."""
    columns, rows = grid
    whole = as_pixels(ImageOps.pad(image, (base, base), color=(127, 127, 127)))
    if not columns:
        return whole[None], None
    large = image.resize((columns * tile, rows * tile))
    boxes = [(x * tile, y * tile, (x + 1) * tile, (y + 1) * tile) for y in range(rows) for x in range(columns)]
    return whole[None], torch.stack([as_pixels(large.crop(box)) for box in boxes])


def as_pixels(image: Image.Image) -> Tensor:
    return torch.from_numpy((np.asarray(image, np.float32) / 255 - 0.5) / 0.5).permute(2, 0, 1)


def generate_inputs(model: Any, image: Image.Image, grid: tuple[int, int] = (0, 0)) -> dict[str, Any]:
    """One page and its instruction as the published code lays them out."""
    columns, rows = grid
    whole, tiles = reference_views(image, grid)
    side, tile_side = BASE // 64, TILE // 64
    num_visual = side * (side + 1) + 1 + rows * tile_side * (columns * tile_side + 1) * (columns > 0)
    asked = model.tokenizer.encode(f"\n{model.checkpoint.instruction}", add_special_tokens=False).ids
    inputs = {
        "input_ids": torch.tensor([[LANGUAGE["bos_token_id"], *[IDS["<image>"]] * num_visual, *asked]]),
        "pixel_values": whole,
        "num_local_patches": [columns * rows],
        "patches_grid": [[max(columns, 1), max(rows, 1)]],
    }
    return inputs if tiles is None else {**inputs, "pixel_values_local": tiles}
