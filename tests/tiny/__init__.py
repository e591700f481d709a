"""Tiny random checkpoints with the key layout and the config fields of the real ones, one row a family.

`TINY[family].build(folder)` writes a checkpoint. `generate_inputs(model, image)` gives what transformers' own
`generate()` takes for one page, made by the reference image processor and by tokenizing the whole conversation at
once: nothing of ours is in it. None: there is no class to generate with, the family's own test has another oracle.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from PIL import Image

from tiny import deepseek, deepseek2, dots, llava, pocket, qwen


class Tiny(NamedTuple):
    build: Callable[[Path], None]
    generate_inputs: Callable[[Any, Image.Image], dict[str, Any]] | None = None


TINY = {
    "pocket": Tiny(pocket.build),
    "deepseek_ocr": Tiny(deepseek.build, deepseek.generate_inputs),
    "deepseek_ocr2": Tiny(deepseek2.build, deepseek2.generate_inputs),
    "dots_ocr": Tiny(dots.build),
    "qwen2_5_vl": Tiny(qwen.build_qwen2_5_vl, qwen.generate_inputs),
    "qwen3_vl": Tiny(qwen.build_qwen3_vl, qwen.generate_inputs),
    "llava_onevision": Tiny(llava.build, llava.generate_inputs),
}
