"""DeepSeek-OCR-2: both of its configurations load, its views are the reference's, its tiles reach the text."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from transformers import DeepseekOcr2ForConditionalGeneration
from transformers.models.deepseek_ocr2.image_processing_pil_deepseek_ocr2 import DeepseekOcr2ImageProcessorPil

from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.models import CHECKPOINTS, deepseek_ocr2
from fastocr_cli.models.deepseek_ocr2 import Model, network_config
from fastocr_cli.models.weights import load_model
from fastocr_cli.pages import PageImage
from fastocr_cli.pruning import make_method
from tiny import deepseek2

LANGUAGE = {
    "first_k_dense_replace": 1,
    "hidden_size": 1280,
    "intermediate_size": 6848,
    "max_position_embeddings": 8192,
    "moe_intermediate_size": 896,
    "n_group": 1,
    "num_attention_heads": 10,
    "num_experts_per_tok": 6,
    "num_hidden_layers": 12,
    "num_key_value_heads": 10,
    "topk_group": 1,
    "vocab_size": 129280,
}


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deepseek2")
    deepseek2.build(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    model = Model.load(CHECKPOINTS["deepseek-ocr-2"], folder, device=torch.device("cpu"), dtype=torch.float32)
    model.stop_token_ids = frozenset()  # random weights stop anywhere
    return model


def noise_page(width: int, height: int) -> PageImage:
    blots = np.random.default_rng(0).integers(0, 256, (height // 20, width // 20, 3), np.uint8)
    return PageImage(Image.fromarray(blots).resize((width, height), Image.Resampling.BICUBIC))


@torch.inference_mode()
def write(model: Model, page: PageImage, num_new: int) -> list[int]:
    decoder = Decoder[int](model, make_method("dense", {}), 1)
    (written,) = decoder.write(iter([Job(0, model.encode(page), num_new)]))
    return written.ids


def test_a_folder_as_first_published_is_known_by_its_encoder(
    folder: Path, tmp_path: Path, model: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deepseek_ocr2, "ENCODER", deepseek2.ENCODER)
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    (tmp_path / "config.json").write_text(json.dumps(deepseek2.PUBLISHED))
    published = load_model(str(tmp_path), device="cpu", dtype="float32")
    assert isinstance(published, Model)
    published.stop_token_ids = frozenset()
    ours, theirs = published.network.state_dict(), model.network.state_dict()
    assert ours.keys() == theirs.keys()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs)
    page = noise_page(150, 210)
    assert write(published, page, 6) == write(model, page, 6)


def test_the_published_sizes_make_a_model_of_the_published_size() -> None:
    sam = {"downsample_channels": [512, 1024], "global_attn_indexes": [2, 5, 8, 11], "heads": 12, "layers": 12}
    vision = {"width": {"qwen2-0-5b": {"dim": 896}, "sam_vit_b": sam | {"width": 768}}}
    with torch.device("meta"):
        config = network_config({"language_config": LANGUAGE, "vision_config": vision}, 128815)
        network = DeepseekOcr2ForConditionalGeneration(config)
    assert 2 * network.num_parameters() == pytest.approx(6.78e9, rel=0.001)


@pytest.mark.parametrize("size", [(512, 384), (800, 400), (840, 630)])
def test_views_are_those_of_the_reference_processor(size: tuple[int, int], model: Any) -> None:
    # sizes that leave even margins: of an odd pixel the reference puts less before the page, the maker's code more
    image = noise_page(*size).image
    expected = DeepseekOcr2ImageProcessorPil()([image], return_tensors="pt")
    whole, tiles, (columns, rows) = model.tiling.views(image)
    assert (whole - expected["pixel_values"]).abs().max() < 1e-5
    assert columns * rows == expected["num_local_patches"][0]
    if tiles is not None:
        assert (tiles - expected["pixel_values_local"]).abs().max() < 1e-5


@pytest.mark.parametrize("dpi", [72, 144, 200, 300])
def test_an_a4_page_has_as_many_visual_tokens_as_the_paper_says_at_most(dpi: int, model: Any) -> None:
    num_visual = model.visual_tokens(round(8.27 * dpi), round(11.69 * dpi))
    assert num_visual == 1120 + 1  # the last parts the views


@torch.inference_mode()
def test_a_page_of_tiles_is_written_as_generate_writes_it(model: Any) -> None:
    page = noise_page(790, 380)
    assert len(model.see(page.image)) == model.visual_tokens(790, 380) == 2 * 144 + 257
    inputs = deepseek2.generate_inputs(model, page.image, (2, 1))
    expected = model.network.generate(**inputs, max_new_tokens=12, do_sample=False, eos_token_id=[], pad_token_id=0)
    assert write(model, page, 12) == expected[0, inputs["input_ids"].shape[1] :].tolist()
