"""dots.ocr: published names load whole, the tower agrees with an oracle, our loop with transformers' generate()."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import nn
from transformers import Qwen2VLImageProcessorPil
from transformers.models.dots3_note.configuration_dots3_note import Dots3NoteVisionConfig
from transformers.models.dots3_note.modeling_dots3_note import Dots3NoteVisionModel

from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.errors import ModelError
from fastocr_cli.models import CHECKPOINTS
from fastocr_cli.models.chat import page_instruction
from fastocr_cli.models.dots_ocr import DotsOcrConfig, DotsOcrForCausalLM, Model
from fastocr_cli.models.dots_vision import DotsVisionConfig, DotsVisionTower, patch_places
from fastocr_cli.models.pixels import PatchRule, patches
from fastocr_cli.pages import PageImage
from fastocr_cli.pages.size import page_scale
from fastocr_cli.pruning import make_method
from tiny.dots import VISION, WIDTH, build, tower_weights

A4 = (595.28, 841.89)


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


def noise_page(width: int, height: int, seed: int = 0) -> PageImage:
    """A page of coloured blots: no two parts of it look alike."""
    blots = np.random.default_rng(seed).integers(0, 256, (max(2, height // 20), max(2, width // 20), 3), np.uint8)
    return PageImage(Image.fromarray(blots).resize((width, height), Image.Resampling.BICUBIC))


def load(folder: Path) -> Model:
    return Model.load(CHECKPOINTS["dots.ocr"], folder, device=torch.device("cpu"), dtype=torch.float32)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dots")
    build(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> Model:
    return load(folder)


@pytest.mark.parametrize("tower", ["vision_tower.", "model.vision_tower."])
def test_every_published_weight_is_loaded_and_none_is_missing(
    tower: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    build(tmp_path, tower=tower)
    with caplog.at_level(logging.WARNING):
        network = load(tmp_path).network
    assert not [record for record in caplog.records if record.name == "fastocr"]
    written = {name.removeprefix("model.") if "vision" in name else name: weight
               for name, weight in load_file(tmp_path / "model.safetensors").items()}  # fmt: skip
    loaded = network.state_dict()
    assert loaded.keys() == written.keys()
    assert all(torch.equal(loaded[name], written[name]) for name in written)


def test_a_folder_that_lacks_weights_or_tokens_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=str(tmp_path)):
        load(tmp_path)
    build(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(ModelError, match=str(tmp_path)):
        load(tmp_path)


def oracle(num_layers: int) -> Dots3NoteVisionModel:
    """Another model's tower, the same but for norms of queries and keys, under the same weights."""
    config = Dots3NoteVisionConfig(
        hidden_size=VISION["embed_dim"],
        intermediate_size=VISION["intermediate_size"],
        num_hidden_layers=num_layers,
        num_attention_heads=VISION["num_attention_heads"],
        mlp_layer_types=["dense"] * num_layers,
        adapter_in_dim=VISION["embed_dim"],
        adapter_out_dim=WIDTH,
        attn_implementation="sdpa",
    )
    tower = Dots3NoteVisionModel(config).eval()
    for block in tower.blocks:
        block.attn.q_norm = block.attn.k_norm = nn.Identity()
    renames = {
        "patch_embed.patchifier.": "patch_embed.", "post_trunk_norm": "norm",
        "fc1": "gate_proj", "fc2": "down_proj", "fc3": "up_proj",
    }  # fmt: skip
    weights = {}
    for name, weight in tower_weights().items():
        for ours, theirs in renames.items():
            name = name.replace(ours, theirs)
        weights[name] = weight
    tower.load_state_dict(weights)
    return tower


@pytest.mark.parametrize(("rows", "columns"), [(6, 10), (2, 2), (16, 4)])
@torch.inference_mode()
def test_the_tower_agrees_with_another_implementation_of_its_parts(rows: int, columns: int) -> None:
    tower = DotsVisionTower(DotsVisionConfig.from_dict(VISION)).eval()
    tower.load_state_dict(tower_weights())
    pixels = torch.randn(rows * columns, 588, generator=torch.Generator().manual_seed(3))
    expected = oracle(VISION["num_hidden_layers"])(pixels, torch.tensor([[1, rows, columns]])).pooler_output
    found = tower(pixels, rows, columns)
    assert found.shape == (rows * columns // 4, WIDTH)
    assert (found - expected).abs().max() < 1e-5 * expected.abs().max()


def test_the_patches_of_a_token_stand_side_by_side() -> None:
    places = patch_places(4, 4, 2, torch.device("cpu")).tolist()
    assert places[:8] == [[0, 0], [0, 1], [1, 0], [1, 1], [0, 2], [0, 3], [1, 2], [1, 3]]


@pytest.mark.parametrize("size", [(140, 196), (333, 211), (20, 30), (3000, 90)])
def test_pixels_are_those_of_the_published_processor(size: tuple[int, int], model: Model) -> None:
    image = noise_page(*size).image
    processor = Qwen2VLImageProcessorPil(temporal_patch_size=1, min_pixels=3136, max_pixels=11289600)
    expected = processor(images=[image], return_tensors="pt")
    pixels, grid = patches(image, model.rule)
    assert grid.tolist() == expected["image_grid_thw"].tolist()
    assert (pixels - expected["pixel_values"]).abs().max() < 1e-5


def test_an_a4_page_has_as_many_visual_tokens_as_the_maker_gives_it(model: Model) -> None:
    scale, capped = page_scale(*A4, model.resolution)
    width, height = (round(side * scale) for side in A4)
    assert (model.resolution.dpi, capped) == (200, False)
    assert model.visual_tokens(width, height) == 4956
    assert model.visual_tokens(9000, 12000) <= 14400


def test_a_page_stands_between_the_tokens_of_the_published_template(model: Model) -> None:
    page = noise_page(140, 196)
    with torch.inference_mode():
        prompt = model.encode(page, "Read: <b>.")
        words = "<|user|><|img|>" + "<|imgpad|>" * 35 + "<|endofimg|>Read: <b>.<|endofuser|><|assistant|>"
        ids = torch.tensor(model.tokenizer.encode(words, add_special_tokens=False).ids)
        text = model.embed(ids[None])[0]
    assert prompt.num_visual == 35
    assert prompt.is_visual.tolist() == (ids == model.tokenizer.token_to_id("<|imgpad|>")).tolist()
    assert torch.equal(prompt.embeds[~prompt.is_visual], text[~prompt.is_visual])
    assert torch.equal(prompt.embeds[prompt.is_visual], model.see(page.image))
    assert prompt.positions.tolist() == [list(range(len(ids)))]
    assert (prompt.next_position, prompt.context_limit) == (len(ids), 131072)


def write(model: Model, method: str, sizes: list[tuple[int, int]], num_rows: int, **options: str) -> list[list[int]]:
    with torch.inference_mode():
        jobs = [Job(i, model.encode(noise_page(*size, seed=i), "Read."), 14 + 3 * i) for i, size in enumerate(sizes)]
    decoder = Decoder[int](model, make_method(method, options), num_rows)
    written = {done.job.key: done.ids for done in decoder.write(iter(jobs))}
    return [written[i] for i in range(len(sizes))]


SIZES = [(140, 196), (84, 140), (196, 84)]


def test_our_loop_writes_what_transformers_generate_writes(model: Model) -> None:
    expected = []
    for i, size in enumerate(SIZES):
        with torch.inference_mode():
            prompt = model.encode(noise_page(*size, seed=i), "Read.")
            ids = model.network.generate(
                inputs_embeds=prompt.embeds[None],
                attention_mask=torch.ones(1, len(prompt), dtype=torch.long),
                max_new_tokens=14 + 3 * i,
                do_sample=False,
                eos_token_id=list(model.stop_token_ids),
                pad_token_id=0,
            )[0].tolist()
        expected.append([token for token in ids if token not in model.stop_token_ids])
    assert len(set(map(tuple, expected))) == 3
    assert write(model, "dense", SIZES, 1) == expected
    assert write(model, "dense", SIZES, 2) == expected


def test_fastocr_that_keeps_all_writes_what_the_dense_model_writes(model: Model) -> None:
    assert write(model, "fastocr", SIZES, 2, keep="1") == write(model, "dense", SIZES, 2)


def test_the_makers_own_instruction_is_used_where_their_package_is_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = CHECKPOINTS["dots.ocr"]
    assert page_instruction(row, None) == row.instruction
    (tmp_path / "dots_ocr" / "utils").mkdir(parents=True)
    prompts = tmp_path / "dots_ocr" / "utils" / "prompts.py"
    prompts.write_text("dict_promptmode_to_prompt = {'prompt_layout_all_en': 'Theirs.'}")
    monkeypatch.syspath_prepend(tmp_path)
    assert page_instruction(row, None) == "Theirs."
    assert page_instruction(row, "Mine.") == "Mine."


def test_the_published_sizes_make_a_model_of_three_billion_weights() -> None:
    sizes = {"hidden_size": 1536, "intermediate_size": 8960, "num_hidden_layers": 28, "num_attention_heads": 12}
    with torch.device("meta"):
        network = DotsOcrForCausalLM(DotsOcrConfig(**sizes, num_key_value_heads=2, vision_config={}))
    assert network.num_parameters() == pytest.approx(3.04e9, rel=0.001)


def test_boxes_are_pixels_of_the_picture_as_the_tower_saw_it(model: Model) -> None:
    page = noise_page(143, 200)  # seen as 140 x 196
    reply = model.parse('[{"bbox": [0, 49, 70, 98], "category": "Text", "text": "Half"}]', page)
    assert reply.markdown == "Half"
    assert reply.blocks[0].box == pytest.approx((0, 0.25, 0.5, 0.5))


def test_the_rule_of_the_weights_own_preprocessor_file_wins(folder: Path, model: Model) -> None:
    assert model.rule == PatchRule(14, 1, 3136, 11289600)
