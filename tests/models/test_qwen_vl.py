"""Qwen2.5-VL and Qwen3-VL beyond the contract: DeepStack, positions, limits of rows, replies."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from transformers import DynamicCache

from fastocr_cli.errors import ModelError
from fastocr_cli.models import CHECKPOINTS, family, native
from fastocr_cli.pages import PageImage
from tiny import TINY
from tiny.parts import build_tokenizer
from tiny.qwen import SPECIAL

CPU = torch.device("cpu")


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    torch.set_num_threads(1)
    built = {name: tmp_path_factory.mktemp(name) / "tiny" for name in ("qwen2_5_vl", "qwen3_vl")}
    for name, folder in built.items():
        TINY[name].build(folder)
    return built


def load(folders: dict[str, Path], name: str) -> Any:
    row = CHECKPOINTS[name]
    return family(row.family).load(row, folders[row.family], device=CPU, dtype=torch.float32)


@pytest.fixture
def page() -> PageImage:
    return PageImage(Image.effect_noise((140, 200), 90).convert("RGB"))


def test_facts_of_the_row_reach_the_model(folders: dict[str, Path]) -> None:
    model = load(folders, "olmocr")
    assert (model.resolution.longest_side, model.resolution.dpi) == (1288, None)
    assert (model.max_new_tokens, model.context_limit) == (8000, 16384)
    assert load(folders, "qwen2.5-vl").context_limit == 4096  # as the tiny configuration says
    logics = load(folders, "logics-parsing")
    assert logics.resolution.max_pixels == logics.rule.max_pixels == 7200 * 1024
    assert logics.rule.min_pixels == 4096  # the file's
    assert model.stop_token_ids == {256, 258}


def test_text_stands_before_the_picture_for_olmocr(folders: dict[str, Path], page: PageImage) -> None:
    with torch.inference_mode():
        olmocr = load(folders, "olmocr").encode(page, "Read.")
        qwen = load(folders, "qwen2.5-vl").encode(page, "Read.")
    assert len(olmocr) == len(qwen)
    assert int(olmocr.is_visual.nonzero()[0]) == int(qwen.is_visual.nonzero()[0]) + len("Read.")


def test_positions_of_a_page(folders: dict[str, Path], page: PageImage) -> None:
    """Before the page all axes count up; on it rows and columns do; after it all go on from the longer side."""
    model = load(folders, "qwen2.5-vl")
    with torch.inference_mode():
        prompt = model.encode(page)
    rows, columns = 7, 5
    first = int(prompt.is_visual.nonzero()[0])
    on_page = prompt.positions[:, prompt.is_visual] - first
    assert torch.equal(prompt.positions[:, :first], torch.arange(first).expand(3, -1))
    assert on_page.unique(dim=1).shape[1] == prompt.num_visual == rows * columns
    assert on_page[0].max() == 0
    assert (on_page[1].max() + 1, on_page[2].max() + 1) == (rows, columns)
    after = prompt.positions[:, first + rows * columns :]
    assert torch.equal(after, torch.arange(after.shape[1]).expand(3, -1) + first + rows)


@torch.inference_mode()
def test_deepstack_is_felt_at_prefill(folders: dict[str, Path], page: PageImage) -> None:
    model = load(folders, "qwen3-vl")
    prompt = model.encode(page)
    assert prompt.deepstack.shape == (2, prompt.num_visual, 64)
    without = replace(prompt, deepstack=None)
    states = [model.prefill(p, DynamicCache()) for p in (prompt, without)]
    assert not torch.allclose(states[0], states[1])


def test_a_prompt_must_not_hold_placeholders(folders: dict[str, Path], page: PageImage) -> None:
    with torch.inference_mode(), pytest.raises(ModelError, match="leave it out"):
        load(folders, "qwen2.5-vl").encode(page, "Read <|image_pad|> well")


@pytest.mark.parametrize(
    ("name", "text", "box"),
    [
        ("qwen2.5-vl", '<p data-bbox="0 0 70 98">Hi</p>', (0, 0, 0.5, 0.5)),
        ("logics-parsing", '<p data-bbox="0 0 500 500">Hi</p>', (0, 0, 0.5, 0.5)),
    ],
)
def test_boxes_count_in_what_the_model_saw(
    folders: dict[str, Path], page: PageImage, name: str, text: str, box: tuple[float, ...]
) -> None:
    reply = load(folders, name).parse(text, page)
    assert "Hi" in reply.markdown
    assert reply.blocks[0].box == pytest.approx(box)


def test_markdown_is_the_default_reply(folders: dict[str, Path], page: PageImage) -> None:
    assert load(folders, "qwen2.5-vl").parse("# Hi <b>x</b>", page).markdown == "# Hi <b>x</b>"


def test_missing_weights_are_named(folders: dict[str, Path], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    source = folders["qwen2_5_vl"]
    for name in ("config.json", "tokenizer.json"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    weights = load_file(source / "model.safetensors")
    del weights["model.layers.2.mlp.up_proj.weight"]
    save_file({**weights, "surplus": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(ModelError, match=r"lacks 1 weights .*layers\.2\.mlp\.up_proj"):
        native.load_network(family("qwen2_5_vl").network_class, tmp_path, torch.float32)  # type: ignore[attr-defined]


def test_surplus_weights_are_said(folders: dict[str, Path], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from safetensors.torch import load_file, save_file

    source = folders["qwen2_5_vl"]
    (tmp_path / "config.json").write_bytes((source / "config.json").read_bytes())
    weights = load_file(source / "model.safetensors")
    save_file({**weights, "surplus": torch.zeros(1)}, tmp_path / "model.safetensors", metadata={"format": "pt"})
    native.load_network(family("qwen2_5_vl").network_class, tmp_path, torch.float32)  # type: ignore[attr-defined]
    assert "holds 1 weights that are not used: surplus" in caplog.text


@pytest.mark.parametrize("broken", ["config.json", "model.safetensors"])
def test_broken_files_are_model_errors(folders: dict[str, Path], tmp_path: Path, broken: str) -> None:
    for name in ("config.json", "tokenizer.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folders["qwen2_5_vl"] / name).read_bytes())
    (tmp_path / broken).write_bytes((tmp_path / broken).read_bytes()[:500])
    with pytest.raises(ModelError, match="cannot be loaded"):
        native.load_network(family("qwen2_5_vl").network_class, tmp_path, torch.float32)  # type: ignore[attr-defined]


def test_a_tokenizer_of_another_family_is_refused(folders: dict[str, Path], tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folders["qwen2_5_vl"] / name).read_bytes())
    build_tokenizer([token for token in SPECIAL if token != "<|image_pad|>"]).save(str(tmp_path / "tokenizer.json"))
    row = CHECKPOINTS["qwen2.5-vl"]
    with pytest.raises(ModelError, match="another family"):
        family("qwen2_5_vl").load(row, tmp_path, device=CPU, dtype=torch.float32)


def test_every_row_names_a_reply_parser() -> None:
    for row in CHECKPOINTS.values():
        assert native.parse_reply(row, "", (100, 100)).markdown == ""
