"""What is true of the shipped weights only, and of the tokens they may write."""

import json
from importlib.resources import files
from pathlib import Path

import pymupdf
import pytest
import torch
from PIL import Image

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.models import CHECKPOINTS
from fastocr_cli.models.base import Draft
from fastocr_cli.models.pocket import NEVER, Model, without_page_number
from fastocr_cli.models.pocket.places import place_at
from fastocr_cli.models.pocket.pointer import Pointer
from fastocr_cli.models.pocket.printed import Printed
from fastocr_cli.models.pocket.table import Table
from fastocr_cli.pages import PageImage, PageRef, find_pages, render
from fastocr_cli.pruning import focal, make_method


def test_row_weights_and_profile_are_of_one_training_step() -> None:
    config = json.loads((files("fastocr_cli.models.pocket") / "config.json").read_text(encoding="utf-8"))
    row = CHECKPOINTS["pocket"]
    assert row.revision == str(config["training_step"])
    profile = focal.load(row.key)
    assert profile is not None
    assert len(profile.image_share) == config["num_hidden_layers"]
    assert all(0 < share < 1 for share in profile.image_share)


def test_marks_of_a_conversation_are_never_written(pocket: Model) -> None:
    special = [pocket.tokenizer.token_to_id(token) for token in ("<|vision_start|>", "<|pad|>", "<|im_start|>")]
    page = PageImage(Image.new("RGB", (240, 160), "white"))
    with torch.inference_mode():
        prompt = pocket.encode(page)
    for seed in range(5):
        hidden = torch.randn(1, pocket.text_config.hidden_size, generator=torch.Generator().manual_seed(seed))
        with torch.inference_mode():
            scores, _ = pocket.next_tokens(100 * hidden, torch.tensor([1]), [pocket.begin(prompt)])
        assert scores.isfinite().all()
        assert (scores[0, special] == NEVER).all()
        assert scores[0, pocket.tokenizer.token_to_id("<|im_end|>")] > NEVER


def test_a_page_that_must_not_end_yet_goes_on(pocket: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    """From its first token on, where numbers that are none would mean a broken model."""
    stop = torch.nn.functional.one_hot(torch.tensor([2]), pocket.network.config.vocab_size).float()
    monkeypatch.setattr(pocket.network, "next_tokens", lambda *_: stop.clone())
    (sample,) = find_pages([str(files("fastocr_cli") / "sample.pdf")], RunConfig(pages="1"))
    assert isinstance(sample, PageRef)
    with torch.inference_mode():
        reading = pocket.begin(pocket.encode(render(sample, pocket.resolution, characters=True)))
        scores, _ = pocket.next_tokens(torch.zeros(1, pocket.text_config.hidden_size), torch.tensor([1]), [reading])
    assert scores.isfinite().all()
    assert scores.argmax() != 2


def test_a_cell_of_a_table_does_not_go_across_a_line(pocket: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample,) = find_pages([str(files("fastocr_cli") / "sample.pdf")], RunConfig(pages="1"))
    assert isinstance(sample, PageRef)
    monkeypatch.setattr(Table, "leaves_cell", lambda self, *_: self.is_open)
    monkeypatch.setattr(Pointer, "refuses_to_end", lambda _: False)
    tags = {token: i for token, i in pocket.tokenizer.get_vocab().items() if i in pocket.writable.tags.last}
    with torch.inference_mode():
        pointer = pocket.begin(pocket.encode(render(sample, pocket.resolution, characters=True)))
        hidden = torch.zeros(1, pocket.text_config.hidden_size)
        for last, parted in ((None, False), (tags["<td>"], True), (tags["</table>"], False)):
            if last is not None:
                pointer.wrote(last)
            writable = pocket.scores(hidden, [pointer])[0] > NEVER
            assert set(writable.nonzero()[:, 0].tolist()) <= set(tags.values()) or not parted
            assert bool(writable[pocket.tokenizer.token_to_id("a")]) != parted


def written_in(pocket: Model, latex: str, likely: list[str], monkeypatch: pytest.MonkeyPatch) -> str:
    """What is written after a formula's beginning, on a page without print, by a network that likes these tokens."""
    scores = torch.zeros(1, pocket.network.config.vocab_size)
    for liking, text in enumerate(reversed(likely), start=1):
        (token,) = pocket.tokenizer.encode(text).ids
        scores[0, token] = liking
    monkeypatch.setattr(pocket.network, "next_tokens", lambda *_: scores.clone())
    with torch.inference_mode():
        pointer = pocket.begin(pocket.encode(PageImage(Image.new("RGB", (240, 160), "white"))))
        for token in pocket.tokenizer.encode(latex).ids:
            pointer.wrote(token)
        found = pocket.scores(torch.zeros(1, pocket.text_config.hidden_size), [pointer]).argmax()
    return pocket.detokenize([int(found)])


@pytest.mark.parametrize("end", ["\n", "</td><td>", "<|im_end|>", "$$"])
@pytest.mark.parametrize(
    ("latex", "closing"),
    [("$$ a", "$$"), ("$$ \\frac{a", "}{"), ("$$ \\frac{a}{b", "}"), ("$$ \\left( a", "\\right"),
     ("$$ \\left( a \\right", ")"), ("$$ \\sqrt", "{"), ("$$ a_{1}", "$$"), ("$$ a_{1", "}")],
)  # fmt: skip
def test_a_formula_ends_before_its_line_does_and_what_it_opened_before_it(
    pocket: Model, monkeypatch: pytest.MonkeyPatch, latex: str, closing: str, end: str
) -> None:
    assert written_in(pocket, latex, [end], monkeypatch) == closing


@pytest.mark.parametrize("end", ["\n", "<|im_end|>"])
def test_a_lone_dollar_sign_may_be_money(pocket: Model, monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    assert written_in(pocket, "costs $ 5", [end], monkeypatch) == end
    assert written_in(pocket, "where $a_{1}", [end], monkeypatch) == "$"
    assert written_in(pocket, "where $a_{1", [end], monkeypatch) == "}"
    assert written_in(pocket, "said", [end], monkeypatch) == end


@pytest.mark.parametrize(
    ("latex", "likely", "written"),
    [
        ("$$ a", ["}", "b"], "b"),
        ("$$ a_{1", ["}{", "}"], "}"),
        ("$$ \\frac{a", ["}", "b"], "b"),
        ("$$ \\frac{a", ["}{", "b"], "}{"),
        ("$$ \\frac{a}{b}", ["}{", "="], "="),
        ("$$ \\frac", ["a", "_{", "{"], "{"),
        ("$$ \\left( a \\right)", ["\\right", "b"], "b"),
        ("$$ \\left( a_{1", ["\\right", "}"], "}"),
        ("$$ \\left", ["{", "("], "("),
        ("in C", ["}", "b"], "}"),
        ("$$ a $$", ["$$", "$", "b"], "b"),
    ],
)
def test_a_formula_goes_on_only_as_latex_does(
    pocket: Model, monkeypatch: pytest.MonkeyPatch, latex: str, likely: list[str], written: str
) -> None:
    assert written_in(pocket, latex, likely, monkeypatch) == written


def test_the_first_cell_of_a_ruled_row_is_not_empty(pocket: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Printed, "is_first_cell", lambda *_: True)
    opening, cell, row = (pocket.tokenizer.token_to_id(t) for t in ("<table><tr><td>", "<td>", "</td></tr><tr><td>"))
    with torch.inference_mode():
        pointer = pocket.begin(pocket.encode(PageImage(Image.new("RGB", (240, 160), "white"))))
        pointer.table = Table("<td")
        for last, full in ((opening, True), (row, True), (cell, False), (None, False)):
            pointer.last = last
            scores = pocket.scores(torch.zeros(1, pocket.text_config.hidden_size), [pointer])[0]
            assert bool((scores[list(pocket.writable.tags.last)] == NEVER).all()) == full


@pytest.mark.parametrize(
    ("text", "kept"),
    [("a\n\n$$ 12$$", "a"), ("a\n\n$$$$ Page 12 $$$$", "a"), ("$$ Page 3 $$\n\na", "a"), ("a\n\n$$ 2 n $$", "a\n\n$$ 2 n $$"),
     ("a\n\n$$ 1 $$\n\nb", "a\n\n$$ 1 $$\n\nb"), ("# 7", "# 7"), ("a\n\n##", "a"), ("a\n\n## \n\nb", "a\n\n## \n\nb")],
)  # fmt: skip
def test_a_page_number_is_no_formula(text: str, kept: str) -> None:
    assert without_page_number(text).strip() == kept


def test_a_draft_goes_no_further_than_an_end_that_was_refused(pocket: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    (sample,) = find_pages([str(files("fastocr_cli") / "sample.pdf")], RunConfig(pages="1"))
    assert isinstance(sample, PageRef)
    stop = torch.nn.functional.one_hot(torch.tensor([2]), pocket.network.config.vocab_size) * 50.0
    monkeypatch.setattr(pocket.network, "next_tokens", lambda hidden, *_: stop.expand(len(hidden), -1).clone())
    monkeypatch.setattr(Pointer, "look", lambda *_: None)
    with torch.inference_mode():
        pointer = pocket.begin(pocket.encode(render(sample, pocket.resolution, characters=True)))
        pointer.at, pointer.place = 0, pointer.page.place_of(0)
        draft = Draft([5, 6, 7], [place_at(k, *pointer.place) for k in range(3)])
        (outlook,) = pocket.outlook(torch.zeros(1, 4, pocket.text_config.hidden_size), [1], [pointer], [draft])
    assert len(outlook.likeliest) == len(outlook.places) == len(outlook.readings) == len(outlook.scores) == 1
    assert outlook.readings[0].refusals == 1


def test_a_line_that_is_printed_forty_times_is_read_forty_times(pocket: Model, tmp_path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page()
        for number in range(40):
            page.insert_text((72, 90 + 16 * number), "Test line for the printer")
        document.save(tmp_path / "same.pdf")
    (ref,) = find_pages([str(tmp_path / "same.pdf")], RunConfig())
    assert isinstance(ref, PageRef)
    with torch.inference_mode():
        prompt = pocket.encode(render(ref, pocket.resolution, characters=True))
    (written,) = Decoder[int](pocket, make_method("dense", {}), 1).write(iter([Job(0, prompt, 1000)]))
    assert (written.finish_reason, written.job.attempt) == ("stop", 1)
    assert pocket.detokenize(written.ids).split() == ["Test", "line", "for", "the", "printer"] * 40
