"""DeepSeek-OCR: published names load whole, the encoder agrees with an oracle, our loop with generate()."""

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from transformers import DynamicCache, UnlimitedOcrForConditionalGeneration

from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.models import CHECKPOINTS
from fastocr_cli.models.deepseek_ocr import Model, network_config
from fastocr_cli.models.deepseek_tiles import TileRule
from fastocr_cli.pages import PageImage
from fastocr_cli.pages.size import page_scale
from fastocr_cli.pruning import make_method
from tiny.deepseek import BASE, IDS, LANGUAGE, VOCABULARY, build, generate_inputs, reference_views
from tiny.deepseek_oracle import page_features

A4 = (595.28, 841.89)
NUM_NEW = 16


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("deepseek")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    model = load(folder)
    model.stop_token_ids = frozenset()  # random weights stop anywhere
    return model


def load(folder: Path) -> Model:
    return Model.load(CHECKPOINTS["deepseek-ocr"], folder, device=torch.device("cpu"), dtype=torch.float32)


def noise_page(width: int, height: int, seed: int = 0) -> PageImage:
    """A page of coloured blots: no two parts of it look alike."""
    blots = np.random.default_rng(seed).integers(0, 256, (max(2, height // 20), max(2, width // 20), 3), np.uint8)
    return PageImage(Image.fromarray(blots).resize((width, height), Image.Resampling.BICUBIC))


def test_every_published_weight_is_loaded_and_none_is_missing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        network = load(folder).network  # missing ones raise
    assert not [record for record in caplog.records if record.name == "fastocr"]
    written = load_file(folder / "model.safetensors")
    unused = written.pop("model.vision_model.embeddings.patch_embedding.weight")  # SAM's map stands in its place
    assert sum(weight.numel() for weight in network.state_dict().values()) == sum(w.numel() for w in written.values())
    assert unused.numel() > 0


def test_the_published_sizes_are_those_of_the_real_model() -> None:
    encoders = {
        "clip-l-14-224": {"heads": 16, "image_size": 224, "layers": 24, "patch_size": 14, "width": 1024},
        "sam_vit_b": {
            "downsample_channels": [512, 1024],
            "global_attn_indexes": [2, 5, 8, 11],
            "heads": 12,
            "layers": 12,
            "width": 768,
        },
    }
    language = LANGUAGE | {"num_hidden_layers": 12, "hidden_size": 1280, "num_attention_heads": 10}
    for vision in ({"image_size": 1024, "width": encoders}, {}):
        config = network_config({"language_config": language, "vision_config": vision}, 128815)
        sam, clip = config.vision_config.sam_config, config.vision_config.encoder_config
        assert (sam.image_size, sam.hidden_size, sam.mlp_dim, sam.num_hidden_layers) == (1024, 768, 3072, 12)
        assert (clip.hidden_size, clip.intermediate_size, clip.num_hidden_layers) == (1024, 4096, 24)
        assert config.text_config.layer_types == ["full_attention"] * 12
        assert config.text_config.mlp_layer_types == ["dense"] + ["sparse"] * 11
        assert config.text_config.max_position_embeddings == 8192


def test_the_published_sizes_make_a_model_of_the_published_size() -> None:
    language = {"num_hidden_layers": 12, "max_position_embeddings": 8192}
    with torch.device("meta"):
        network = UnlimitedOcrForConditionalGeneration(network_config({"language_config": language}, 128815))
    assert 2 * network.num_parameters() == pytest.approx(6.67e9, rel=0.001)  # bytes of the bfloat16 file


@pytest.mark.parametrize("size", [(150, 210), (641, 330), (300, 1300)])
@torch.inference_mode()
def test_features_agree_with_another_implementation_of_the_encoder(
    size: tuple[int, int], folder: Path, model: Model
) -> None:
    image = noise_page(*size).image
    grid = model.tiling.grid(*size)
    assert grid == {150: (0, 0), 641: (2, 1), 300: (1, 4)}[size[0]]
    expected = page_features(load_file(folder / "model.safetensors"), *reference_views(image, grid), grid)
    found = model.see(image)
    assert found.shape == expected.shape == (model.visual_tokens(*size), LANGUAGE["hidden_size"])
    assert (found - expected).abs().max() < 1e-4


@pytest.mark.parametrize(
    ("size", "grid", "num_visual"),
    [
        ((640, 640), (0, 0), 273),
        ((500, 650), (2, 3), 903),
        ((595, 842), (2, 3), 903),
        ((2480, 3508), (2, 3), 903),
        ((3508, 2480), (3, 2), 893),
        ((700, 1400), (1, 2), 493),
        ((1500, 3000), (2, 4), 1113),
    ],
)
def test_tiles_and_tokens_are_those_of_the_published_mode(
    size: tuple[int, int], grid: tuple[int, int], num_visual: int
) -> None:
    assert TileRule().grid(*size) == grid
    assert TileRule().visual_tokens(*size) == num_visual


@pytest.mark.parametrize("dpi", [72, 100, 144, 200, 300])
def test_an_a4_page_has_903_visual_tokens_at_any_resolution(dpi: int) -> None:
    assert TileRule().visual_tokens(round(A4[0] * dpi / 72), round(A4[1] * dpi / 72)) == 903


def test_pages_are_rendered_no_smaller_than_the_tiles_that_they_fill(model: Model) -> None:
    scale, capped = page_scale(*A4, model.resolution)
    assert A4[0] * scale > 2 * 640
    assert A4[1] * scale > 3 * 640
    assert not capped


def test_a_page_stands_after_the_first_token_and_before_the_bare_instruction(model: Model) -> None:
    words = "<image>" * 73 + "\n<|grounding|>Convert the document to markdown."
    ids = torch.tensor([LANGUAGE["bos_token_id"], *model.tokenizer.encode(words, add_special_tokens=False).ids])
    with torch.inference_mode():
        prompt = model.encode(noise_page(150, 210))
        text = model.embed(ids[None])[0]
    assert prompt.is_visual.tolist() == (ids == IDS["<image>"]).tolist()
    assert torch.equal(prompt.embeds[~prompt.is_visual], text[~prompt.is_visual])
    assert prompt.positions.tolist() == [list(range(len(ids)))]
    assert (prompt.next_position, prompt.context_limit) == (len(ids), 8192)


@torch.inference_mode()
def test_an_instruction_may_be_given_as_the_maker_writes_it(model: Model) -> None:
    page = noise_page(150, 210)
    bare, whole = (model.encode(page, words) for words in ("Free OCR.", "<image>\nFree OCR. "))
    assert torch.equal(bare.embeds, whole.embeds)


def write(model: Model, method: str, pages: list[PageImage], num_rows: int, **options: str) -> list[list[int]]:
    with torch.inference_mode():
        jobs = [Job(i, model.encode(page), NUM_NEW + 3 * i) for i, page in enumerate(pages)]
    decoder = Decoder[int](model, make_method(method, options), num_rows)
    written = {done.job.key: done.ids for done in decoder.write(iter(jobs))}
    return [written[i] for i in range(len(pages))]


@pytest.fixture(scope="module")
def pages() -> list[PageImage]:
    return [noise_page(150, 210, 1), noise_page(641, 330, 2), noise_page(230, 90, 3)]


@pytest.fixture(scope="module")
def dense(model: Model, pages: list[PageImage]) -> list[list[int]]:
    return write(model, "dense", pages, 1)


def generate(model: Model, inputs: dict[str, Any], num_new: int) -> list[int]:
    with torch.inference_mode():
        ids = model.network.generate(**inputs, max_new_tokens=num_new, do_sample=False, eos_token_id=[], pad_token_id=0)
    return ids[0, inputs["input_ids"].shape[1] :].tolist()


def test_our_loop_writes_what_transformers_generate_writes(
    model: Model, pages: list[PageImage], dense: list[list[int]]
) -> None:
    inputs = [generate_inputs(model, page.image, model.tiling.grid(*page.image.size)) for page in pages]
    assert dense == [generate(model, one, NUM_NEW + 3 * i) for i, one in enumerate(inputs)]
    assert all(len(set(ids)) > 4 for ids in dense)  # else the weights prove nothing


def test_a_page_in_a_batch_is_written_as_it_is_alone(
    model: Model, pages: list[PageImage], dense: list[list[int]]
) -> None:
    assert write(model, "dense", pages, 3) == dense
    assert write(model, "dense", pages, 2) == dense


def test_fastocr_that_keeps_all_writes_what_the_dense_model_writes(
    model: Model, pages: list[PageImage], dense: list[list[int]]
) -> None:
    assert write(model, "fastocr", pages, 2, keep="1") == dense


@torch.inference_mode()
def test_a_step_builds_no_mask_and_changes_nothing(model: Model) -> None:
    prompt = model.encode(noise_page(150, 210))
    plain = model.text_model(inputs_embeds=prompt.embeds[None], position_ids=prompt.positions, use_cache=False)
    ours = model.hidden(prompt.embeds[None], prompt.positions[:, None], DynamicCache())
    assert (ours - plain.last_hidden_state).abs().max() < 1e-4


def test_table_cells_and_regions_survive_the_tokenizer(model: Model) -> None:
    text = "<|ref|>table<|/ref|><|det|>[[0, 0, 999, 499]]<|/det|>\n<table><tr><td>é 表</td></tr></table>"
    ids = model.tokenizer.encode(text, add_special_tokens=False).ids
    assert IDS["<td>"] in ids
    assert model.detokenize(ids) == text
    reply = model.parse(text, noise_page(300, 400))
    assert reply.blocks[0].box == pytest.approx((0, 0, 1, 0.5), abs=0.001)


def test_table_cells_may_repeat(model: Model) -> None:
    assert {IDS["<td>"], IDS["</td>"]} <= model.free_token_ids
    assert max(model.free_token_ids) < VOCABULARY


def test_the_tiny_model_looks_at_smaller_squares_than_the_real_one(model: Model) -> None:
    assert (model.tiling.base, TileRule().base) == (BASE, 1024)
