"""What every family must hold, on tiny random checkpoints: a new family is a row of TINY, and all this runs."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image, ImageDraw
from transformers import DynamicCache

from fastocr_cli.decoding import loop
from fastocr_cli.decoding.generate import attached
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job, Written
from fastocr_cli.models import CHECKPOINTS, FAMILIES
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.models.weights import load_model
from fastocr_cli.pages import PageImage
from fastocr_cli.pruning import make_method
from tiny import TINY

NUM_NEW = 16
SIZES = ((150, 210), (90, 60), (230, 180))
PRUNED = {"keep": "0.2", "floor": "2", "warmup": "2", "focal": "1"}


@pytest.fixture(autouse=True)
def one_thread_one_attempt(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setattr(loop, "MAX_ATTEMPTS", 1)


@pytest.fixture(scope="module", params=TINY)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def folder(family: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp(family) / "checkpoint"
    TINY[family].build(folder)
    return folder


@pytest.fixture(scope="module")
def model(folder: Path) -> VisionModel:
    model = load_model(str(folder), device="cpu", dtype="float32")
    model.stop_token_ids = frozenset()  # random weights stop anywhere
    return model


@pytest.fixture(scope="module")
def pages() -> list[PageImage]:
    return [PageImage(draw_page(*size)) for size in SIZES]


@pytest.fixture(scope="module")
def prompts(model: VisionModel, pages: list[PageImage]) -> list[Prompt]:
    with torch.inference_mode():
        return [model.encode(page) for page in pages]


@pytest.fixture(scope="module")
def dense(model: VisionModel, prompts: list[Prompt]) -> list[list[int]]:
    return read(model, prompts, "dense")


def draw_page(width: int, height: int) -> Image.Image:
    image = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(image)
    for y in range(8, height - 8, 14):
        draw.text((8, y), f"line at {y} of {width} x {height}", fill=(y % 200, 40, 90))
    return image


def read(
    model: VisionModel, prompts: list[Prompt], method: str, *, num_rows: int = 1, **options: str
) -> list[list[int]]:
    decoder: Decoder[int] = Decoder(model, make_method(method, options), num_rows)
    jobs = (Job(index, prompt, NUM_NEW) for index, prompt in enumerate(prompts))
    written: dict[int, Written[int]] = {done.job.key: done for done in decoder.write(jobs)}
    return [written[index].ids for index in range(len(prompts))]


def generate(model: Any, inputs: dict[str, Any]) -> list[int]:
    """transformers' own greedy loop; settings that checkpoints ship (sampling, penalties) are not in play."""
    with torch.inference_mode():
        ids = model.network.generate(**inputs, max_new_tokens=NUM_NEW, do_sample=False, eos_token_id=[], pad_token_id=0)
    return ids[0, inputs["input_ids"].shape[1] :].tolist()


def test_every_family_has_a_tiny_checkpoint() -> None:
    assert {row.family for row in CHECKPOINTS.values()} <= set(TINY)


def test_the_folder_tells_the_family(family: str, folder: Path, model: VisionModel) -> None:
    model_type = json.loads((folder / "config.json").read_text())["model_type"]
    assert FAMILIES[model_type] == family
    assert type(model).__module__ == f"fastocr_cli.models.{family}"


def test_all_weights_are_used_and_none_is_missing(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    load_model(str(folder), device="cpu", dtype="float32")  # missing ones raise
    assert "not used" not in caplog.text


def test_a_prompt_fits_together(model: VisionModel, pages: list[PageImage], prompts: list[Prompt]) -> None:
    for page, prompt in zip(pages, prompts, strict=True):
        assert prompt.embeds.shape == (len(prompt), model.text_config.hidden_size)
        assert prompt.positions.shape[1:] == prompt.is_visual.shape == (len(prompt),)
        if type(model).next_tokens is VisionModel.next_tokens:  # text is placed by counting
            assert prompt.next_position == prompt.positions.max() + 1
            assert prompt.num_visual == model.visual_tokens(*page.image.size) > 0
        assert 0 < prompt.num_visual <= model.visual_tokens(*page.image.size)
        places = prompt.is_visual.nonzero()[:, 0]
        assert places[-1] - places[0] + 1 == prompt.num_visual  # one run


def test_is_visual_marks_the_placeholders(
    family: str, model: Any, pages: list[PageImage], prompts: list[Prompt]
) -> None:
    for inputs, prompt in each_with_inputs(family, model, pages, prompts):
        image_token_id = model.network.config.image_token_id
        assert torch.equal(inputs["input_ids"][0] == image_token_id, prompt.is_visual)


def test_dense_equals_generate(
    family: str, model: Any, pages: list[PageImage], prompts: list[Prompt], dense: list[list[int]]
) -> None:
    expected = [generate(model, inputs) for inputs, _ in each_with_inputs(family, model, pages, prompts)]
    assert dense == expected
    assert any(len(set(ids)) > NUM_NEW // 4 for ids in dense)  # else the weights prove nothing


def test_dense_equals_a_plain_loop(model: VisionModel, prompts: list[Prompt], dense: list[list[int]]) -> None:
    assert dense == [plain_loop(model, prompt) for prompt in prompts]


@torch.inference_mode()
def plain_loop(model: VisionModel, prompt: Prompt) -> list[int]:
    """Greedy decoding over transformers' own cache and attention."""
    cache = DynamicCache()
    hidden = model.prefill(prompt, cache)
    reading = model.begin(prompt)
    ids: list[int] = []
    for position in range(prompt.next_position, prompt.next_position + NUM_NEW):
        scores, places = model.next_tokens(hidden[:, -1], torch.tensor([position]), [reading])
        ids.append(int(scores.argmax()))
        reading.wrote(ids[-1])
        places = places.expand(len(prompt.positions), -1)
        hidden = model.hidden(model.embed(torch.tensor([ids[-1:]])), places[..., None], cache)
    return ids


def test_keeping_everything_is_dense(model: VisionModel, prompts: list[Prompt], dense: list[list[int]]) -> None:
    all_focal = ",".join(map(str, range(model.text_config.num_hidden_layers)))
    for num_rows in (1, 3):
        assert read(model, prompts, "fastocr", num_rows=num_rows, keep="1.0", focal="1") == dense
        assert read(model, prompts, "fastocr", num_rows=num_rows, keep="0.1", floor="2", focal=all_focal) == dense


@pytest.mark.parametrize(("method", "options"), [("dense", {}), ("fastocr", PRUNED)], ids=["dense", "fastocr"])
def test_a_page_alone_equals_the_page_in_a_batch(
    model: VisionModel, prompts: list[Prompt], method: str, options: dict[str, str]
) -> None:
    alone = read(model, prompts, method, **options)
    assert read(model, prompts, method, num_rows=3, **options) == alone
    assert read(model, prompts, method, num_rows=2, **options) == alone  # with a row refilled


def test_pruning_is_felt(model: VisionModel, prompts: list[Prompt], dense: list[list[int]]) -> None:
    assert read(model, prompts, "fastocr", **PRUNED) != dense


@pytest.mark.parametrize(("method", "options"), [("dense", {}), ("fastocr", PRUNED)], ids=["dense", "fastocr"])
def test_attached_generate_equals_our_loop(
    family: str, model: Any, pages: list[PageImage], prompts: list[Prompt], method: str, options: dict[str, str]
) -> None:
    pairs = each_with_inputs(family, model, pages, prompts)
    expected = read(model, prompts, method, **options)
    with attached(model.network, method, **options):
        assert [generate(model, inputs) for inputs, _ in pairs] == expected


def test_the_picture_is_read(model: VisionModel, pages: list[PageImage], dense: list[list[int]]) -> None:
    blank = [PageImage(Image.new("RGB", page.image.size, "white")) for page in pages]
    with torch.inference_mode():
        prompts = [model.encode(page) for page in blank]
    assert read(model, prompts, "dense") != dense


def test_the_prompt_can_be_replaced(
    family: str, model: VisionModel, pages: list[PageImage], prompts: list[Prompt]
) -> None:
    if family == "pocket":
        pytest.skip("pocket takes no instruction")
    with torch.inference_mode():
        other = model.encode(pages[0], "Read it.")
    assert len(other) != len(prompts[0])
    assert other.num_visual == prompts[0].num_visual


@torch.inference_mode()
def test_half_precision_holds_together(folder: Path, model: VisionModel, pages: list[PageImage]) -> None:
    """No float32 tensor is left among bfloat16 ones; what comes out is near what float32 gives."""
    half = load_model(str(folder), device="cpu", dtype="bfloat16")
    half.stop_token_ids = frozenset()
    prompts = [half.encode(page) for page in pages]
    assert {prompt.embeds.dtype for prompt in prompts} == {torch.bfloat16}
    assert [len(ids) for ids in read(half, prompts, "fastocr", num_rows=2, **PRUNED)] == [NUM_NEW] * len(pages)
    full, rounded = model.encode(pages[0]).embeds, prompts[0].embeds.float()
    assert torch.nn.functional.cosine_similarity(full.flatten(), rounded.flatten(), dim=0) > 0.99


def test_text_survives_the_tokenizer(model: Any) -> None:
    text = "Zürich | 3.14 € <td>x</td>\n\n$E = mc^2$ 表"
    assert model.detokenize(model.tokenizer.encode(text, add_special_tokens=False).ids) == text


def each_with_inputs(family: str, model: Any, pages: list[PageImage], prompts: list[Prompt]) -> Any:
    make = TINY[family].generate_inputs
    if make is None:
        pytest.skip("no transformers class generates for this family: its own test has another oracle")
    return [(make(model, page.image), prompt) for page, prompt in zip(pages, prompts, strict=True)]
