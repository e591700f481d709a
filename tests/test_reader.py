"""The reader over a tiny random model: pages that must be turned, figures that are cut out, pages that fail."""

from collections.abc import Callable
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import pytest
import torch
from PIL import Image

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ConfigError
from fastocr_cli.markdown import Reply
from fastocr_cli.pages import Block, Document, PageImage, PageRef, PageResult
from fastocr_cli.reader import Reader, crop
from tiny import TINY

RED, WIDTH, HEIGHT = (200, 30, 30), 160, 240


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Reader:
    torch.set_num_threads(1)
    folder = tmp_path_factory.mktemp("model") / "tiny"
    TINY["qwen2_5_vl"].build(folder)
    return Reader(RunConfig(model=str(folder), device="cpu", max_new_tokens=4, batch_size=2))


@pytest.fixture
def make_refs(tmp_path: Path) -> Callable[[int], list[PageRef]]:
    """Pages, each a picture file: white, with a red square at the top left."""

    def make(num_pages: int) -> list[PageRef]:
        refs = []
        for number in range(num_pages):
            path = tmp_path / f"{number}.png"
            image = Image.new("RGB", (WIDTH, HEIGHT), "white")
            image.paste(RED, (0, 0, 40, 40))
            image.save(path)
            refs.append(PageRef(Document(path, path.stem, 1, (range(1, 2),)), 1))
        return refs

    return make


def parse_as(reply: Callable[[PageImage], Reply], monkeypatch: pytest.MonkeyPatch, reader: Reader) -> list[PageImage]:
    """Let the model say what `reply` makes of a page; the pages it saw are collected."""
    seen: list[PageImage] = []

    def parse(text: str, page: PageImage) -> Reply:
        seen.append(page)
        return reply(page)

    monkeypatch.setattr(reader.model, "parse", parse)
    return seen


def corner_of_ink(image: Image.Image) -> str:
    right, bottom = image.width - 5, image.height - 5
    places = {"top left": (5, 5), "top right": (right, 5), "bottom left": (5, bottom), "bottom right": (right, bottom)}
    return next(name for name, place in places.items() if image.getpixel(place)[1] < 100)


@pytest.mark.parametrize(
    ("rotation", "corner"), [(90, "bottom left"), (180, "bottom right"), (270, "top right")], ids=str
)
def test_a_page_is_turned_as_the_model_asks(
    reader: Reader,
    make_refs: Callable[[int], list[PageRef]],
    monkeypatch: pytest.MonkeyPatch,
    rotation: int,
    corner: str,
) -> None:
    seen = parse_as(lambda page: Reply("read", rotation=rotation), monkeypatch, reader)
    (result,) = reader.read(make_refs(1))
    assert [corner_of_ink(page.image) for page in seen] == ["top left", corner]  # asked twice, turned once
    assert (result.markdown, result.attempts, result.extra) == ("read", 2, {"rotation": rotation})
    assert result.num_new_tokens == 4


def test_turned_pages_share_the_batch_with_others(
    reader: Reader, make_refs: Callable[[int], list[PageRef]], monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = make_refs(5)
    turned = [0]

    def reply(page: PageImage) -> Reply:
        turned[0] += 1
        return Reply("read", rotation=90 if turned[0] % 2 else 0)

    seen = parse_as(reply, monkeypatch, reader)
    results = list(reader.read(refs))
    assert sorted(str(r.ref.document.path) for r in results) == [str(ref.document.path) for ref in refs]
    assert len(seen) == 5 + sum(r.attempts - 1 for r in results) > 5


def test_figures_are_cut_out(
    reader: Reader, make_refs: Callable[[int], list[PageRef]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(page: PageImage) -> Reply:
        share = (0.0, 0.0, 40 / WIDTH, 40 / HEIGHT)
        blocks = (Block("text", (0, 0, 1, 1)), Block("picture", (0.5, 0.5, 1, 1)), Block("picture", share))
        return Reply("![A square](figure:2)\n\n![](figure:9)", blocks)

    seen = parse_as(reply, monkeypatch, reader)
    (result,) = reader.read(make_refs(1))
    (figure,) = result.figures
    assert figure.number == 2
    cut = Image.open(BytesIO(figure.png))
    assert cut.size == pytest.approx((seen[0].image.width / 4, seen[0].image.height / 6), abs=1)
    assert cut.getpixel((3, 3)) == RED


@pytest.mark.parametrize("box", [(0, 0, 1, 1), (1, 1, 1, 1), (0.999, 0, 1, 0.001), (0.3, 0.3, 0.3, 0.3)], ids=str)
def test_a_cut_is_never_empty_nor_beyond_the_page(box: tuple[float, float, float, float]) -> None:
    size = Image.open(BytesIO(crop(Image.new("RGB", (30, 50)), box))).size
    assert (1, 1) <= size <= (30, 50)


def test_facts_of_a_reply_are_kept(
    reader: Reader, make_refs: Callable[[int], list[PageRef]], monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Reply("x", headers=("Chapter 1",), language="de", warnings=("A box was torn.",))
    parse_as(lambda page: said, monkeypatch, reader)
    (result,) = reader.read(make_refs(1))
    assert result.extra == {"headers": ["Chapter 1"], "language": "de"}
    assert result.warnings[-1] == "A box was torn."


def test_a_reply_that_breaks_its_parser_costs_its_page(
    reader: Reader, make_refs: Callable[[int], list[PageRef]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def reply(page: PageImage) -> Reply:
        if len(seen) == 1:
            raise RecursionError("too deep")
        return Reply("read")

    seen = parse_as(reply, monkeypatch, reader)
    results = list(reader.read(make_refs(3)))
    assert (
        sorted(result.error or "" for result in results)[2] == "The reply could not be read: RecursionError: too deep"
    )
    assert [result.markdown for result in results if not result.error] == ["read", "read"]


def test_an_instruction_is_not_passed_over_in_silence(tmp_path: Path) -> None:
    TINY["pocket"].build(tmp_path / "tiny")
    with pytest.raises(ConfigError, match=r"tiny takes no instruction\. Leave --prompt out"):
        Reader(RunConfig(model=str(tmp_path / "tiny"), device="cpu", prompt="Translate it."))


def test_a_blank_page_keeps_its_warnings(
    monkeypatch: pytest.MonkeyPatch, reader: Reader, make_refs: Callable[[int], list[PageRef]]
) -> None:
    page = PageImage(Image.new("RGB", (WIDTH, HEIGHT), "white"), warnings=("scaled down to 9 dpi",))
    monkeypatch.setattr("fastocr_cli.reader.render", lambda *args, **options: page)
    (result,) = reader.read(make_refs(1))
    assert (result.finish_reason, result.warnings) == ("blank", page.warnings)


def test_pages_that_fail_or_are_blank_are_results_too(
    reader: Reader, make_refs: Callable[[int], list[PageRef]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parse_as(lambda page: Reply("read"), monkeypatch, reader)
    good, blank = make_refs(2)
    Image.new("RGB", (WIDTH, HEIGHT), "white").save(blank.document.path)
    bad = PageRef(replace(good.document, path=tmp_path / "gone.png"), 1)
    results: dict[PageRef, PageResult] = {result.ref: result for result in reader.read([bad, blank, good])}
    assert results[good].markdown == "read"
    assert results[blank].finish_reason == "blank"
    assert results[bad].error
