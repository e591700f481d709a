"""Pixels against the reference image processors, and how many visual tokens pages become."""

from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

from fastocr_cli.models import CHECKPOINTS
from fastocr_cli.models.llava_onevision import Tiling, tiles
from fastocr_cli.models.memory import a4_size
from fastocr_cli.models.pixels import CLIP_MEAN, CLIP_STD, HALF, PatchRule, patches, within_aspect
from fastocr_cli.models.qwen2_5_vl import Model as Qwen2_5VL
from fastocr_cli.models.qwen3_vl import Model as Qwen3VL
from fastocr_cli.pages import Resolution
from tiny import llava

ROUNDING = 5e-7
"""The reference counts in another order of float32 operations; a step of one pixel value is 1.4e-2."""

RULES = {
    "qwen2.5-vl": Qwen2_5VL.rule,
    "qwen3-vl": Qwen3VL.rule,
    "dots.ocr": PatchRule(patch=14, temporal=1, min_pixels=3136, max_pixels=11_289_600),
    "small": PatchRule(patch=14, temporal=2, min_pixels=3136, max_pixels=90_000, mean=HALF, std=HALF),
}
SIZES = [(130, 181), (20, 30), (1000, 60), (333, 478), (28, 2800)]


def noise(width: int, height: int) -> Image.Image:
    values = torch.randint(
        0, 256, (height, width, 3), generator=torch.Generator().manual_seed(width), dtype=torch.uint8
    )
    return Image.fromarray(values.numpy())


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("name", RULES)
def test_patches_equal_the_reference(name: str, size: tuple[int, int]) -> None:
    rule, image = RULES[name], noise(*size)
    reference = Qwen2VLImageProcessorPil(
        min_pixels=rule.min_pixels,
        max_pixels=rule.max_pixels,
        patch_size=rule.patch,
        temporal_patch_size=rule.temporal,
        merge_size=rule.merge,
        image_mean=list(rule.mean),
        image_std=list(rule.std),
    )([image], return_tensors="pt")
    ours = patches(image, rule)
    assert torch.equal(ours.grid, reference["image_grid_thw"])
    assert torch.allclose(ours.pixels, reference["pixel_values"], rtol=0, atol=ROUNDING * 8)
    assert rule.visual_tokens(*size) == int(ours.grid.prod()) // rule.merge**2


@pytest.mark.parametrize("size", [(90, 130), (300, 40), (41, 43), (500, 500)], ids=str)
def test_tiles_equal_the_reference(size: tuple[int, int]) -> None:
    image = noise(*size)
    tiling = Tiling(llava.SIDE, [(high, wide) for high, wide in llava.GRIDS])
    ours, reference = tiles(image, tiling), llava.reference_pixels(image)["pixel_values"][0]
    assert ours.shape == reference.shape
    assert torch.allclose(ours, reference, rtol=0, atol=ROUNDING)


A4_TOKENS = [  # the family's own documents: models.md, and for LLaVA the reference processor's sums
    ("qwen2.5-vl", 100, 1260),
    ("qwen2.5-vl", 144, 2580),
    ("qwen2.5-vl", 150, 2772),
    ("qwen2.5-vl", 200, 4956),
    ("qwen2.5-vl", 300, 11125),
    ("dots.ocr", 200, 4956),
    ("qwen3-vl", 144, 1961),
    ("qwen3-vl", 200, 3796),
    ("qwen3-vl", 300, 8580),
]


@pytest.mark.parametrize(("name", "dpi", "expected"), A4_TOKENS)
def test_visual_tokens_of_an_a4_page(name: str, dpi: float, expected: int) -> None:
    assert RULES[name].visual_tokens(*a4_size(Resolution(dpi=dpi))) == expected


@pytest.mark.parametrize(("longest_side", "expected"), [(1288, 1518), (1024, 962)])
def test_visual_tokens_of_an_a4_page_for_olmocr(longest_side: int, expected: int) -> None:
    assert RULES["qwen2.5-vl"].visual_tokens(*a4_size(Resolution(longest_side=longest_side))) == expected
    assert CHECKPOINTS["olmocr"].longest_side == 1288


@pytest.mark.parametrize(("dpi", "expected"), [(72, 4964), (100, 7284), (144, 7353), (200, 7353), (300, 7353)])
def test_visual_tokens_of_an_a4_page_for_llava(dpi: float, expected: int) -> None:
    from fastocr_cli.models.llava_onevision import Model

    grids = [[384 * rows, 384 * columns] for rows in range(1, 7) for columns in range(1, 7)]
    model: Any = object.__new__(Model)
    vision = type("Vision", (), {"image_size": 384, "patch_size": 14})
    config = type("Config", (), {"vision_config": vision, "vision_aspect_ratio": "anyres_max_9"})
    model.network = type("Network", (), {"config": config})
    model.tiling = Tiling(384, [(high, wide) for high, wide in grids])
    width, height = a4_size(Resolution(dpi=dpi))
    assert model.visual_tokens(width, height) == expected
    assert model.visual_tokens(width, height) == llava.reference_count(Image.new("1", (width, height)), 384, 27, grids)


def test_sides_beyond_what_encoders_take_are_padded() -> None:
    image = Image.new("RGB", (9, 4000), "black")
    padded = within_aspect(image)
    assert padded.size == (20, 4000)
    assert padded.getpixel((8, 0)) == (0, 0, 0)
    assert padded.getpixel((9, 0)) == (255, 255, 255)
    assert within_aspect(padded) is padded
    patches(image, RULES["small"])


@pytest.mark.parametrize(
    "text",
    [
        '{"min_pixels": 12544, "max_pixels": 1003520}',
        '{"size": {"shortest_edge": 12544, "longest_edge": 1003520}}',
        '{"size": {"min_pixels": 12544, "max_pixels": 1003520}}',
    ],
)
def test_limits_come_from_the_weights_own_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "preprocessor_config.json").write_text(text)
    rule = RULES["qwen2.5-vl"].limited(tmp_path)
    assert (rule.min_pixels, rule.max_pixels) == (12544, 1003520)
    assert RULES["qwen2.5-vl"].limited(tmp_path, 50_000).max_pixels == 50_000
    (tmp_path / "preprocessor_config.json").unlink()
    (tmp_path / "processor_config.json").write_text(f'{{"image_processor": {text}, "processor_class": "x"}}')
    assert RULES["qwen2.5-vl"].limited(tmp_path) == rule
    (tmp_path / "processor_config.json").write_text("[]")
    assert RULES["qwen2.5-vl"].limited(tmp_path) == RULES["qwen2.5-vl"]
    assert RULES["qwen2.5-vl"].limited(tmp_path / "nowhere") == RULES["qwen2.5-vl"]


def test_constants() -> None:
    assert [CLIP_MEAN[0], CLIP_STD[2]] == [0.48145466, 0.27577711]
