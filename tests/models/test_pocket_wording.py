"""What the print says will be written next, and that saying so changes no text."""

from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest
import torch
from PIL import Image
from tokenizers import Tokenizer

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.models.base import Draft, Prompt, VisionModel
from fastocr_cli.models.pocket import Model
from fastocr_cli.models.pocket.between import Between, Step
from fastocr_cli.models.pocket.formula import Formula
from fastocr_cli.models.pocket.wording import MOST, Print, Wording
from fastocr_cli.pages import PageImage, PageRef, find_pages, render
from fastocr_cli.pruning import make_method


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(files("fastocr_cli.models.pocket") / "tokenizer.json"))


def printed(*lines: str) -> Print:
    """Words apart by blanks, cells apart by bars; a hyphen at the end of a line divides a word."""
    letters: list[tuple[str, bool, bool, bool, bool]] = []
    steps: dict[int, Step] = {}
    for line in lines:
        if letters:
            steps[len(letters)] = (2, len(line) - len(line.lstrip()))
        before = "" if letters and letters[-1][4] else "\n"
        for index, char in enumerate(line):
            if char not in " |":
                dropped = char == "-" and index == len(line) - 1
                letters.append((char, before != "", before == "|", index == 0, dropped))
            before = char if char in " |" else ""
    chars, word, cell, begins, dropped_ones = zip(*letters, strict=True)
    return Print("".join(chars), np.array(word), np.array(cell), np.array(begins), np.array(dropped_ones), steps)


TAGS = "</td><td></td></tr><tr><td>"

BLANK, WORD = 7, 8
"""Tokens after which a word begins without a blank, and with one."""


def worded(tokenizer: Tokenizer, *lines: str) -> Wording:
    return Wording(tokenizer, printed(*lines), frozenset({BLANK, *tokenizer.encode(" \n" + TAGS).ids}))


def spoken(
    tokenizer: Tokenizer,
    wording: Wording,
    letter: int,
    last: int,
    in_table: bool = False,
    between: Between | None = None,
) -> str:
    draft = wording.following(letter, last, in_table, between or Between())
    assert len(draft) <= MOST
    assert all(earlier <= later for (_, earlier), (_, later) in pairwise(draft))
    text: str = tokenizer.decode([token for token, _ in draft], skip_special_tokens=False)
    return text


def test_words_follow_each_other_with_their_blanks(tokenizer: Tokenizer) -> None:
    wording = worded(tokenizer, "the cat sat", "on the mat")
    assert "the cat sat on the mat".startswith(spoken(tokenizer, wording, 0, BLANK))
    assert " the cat sat on the mat".startswith(spoken(tokenizer, wording, 0, WORD))
    (token, letter), *_ = wording.following(3, WORD, False, Between())
    assert " cat".startswith(tokenizer.decode([token]))
    assert letter == 3  # it stands where its first letter is printed


def test_a_divided_word_is_whole(tokenizer: Tokenizer) -> None:
    wording = worded(tokenizer, "a com-", "mon law")
    assert spoken(tokenizer, wording, 1, WORD) == " common law"


def test_cells_and_rows_have_their_tags_in_a_table(tokenizer: Tokenizer) -> None:
    wording = worded(tokenizer, "a|b", "c|d")
    assert spoken(tokenizer, wording, 0, BLANK, in_table=True).startswith("a</td><td>b</td></tr><tr><td>c")
    assert spoken(tokenizer, wording, 1, WORD, in_table=True).startswith("</td><td>b</td></tr><tr><td>c")
    assert "<" not in spoken(tokenizer, wording, 0, BLANK)


def test_marks_stand_before_a_line_as_before_the_last_one_like_it(tokenizer: Tokenizer) -> None:
    wording, (line_end, hyphen) = worded(tokenizer, "one", "• two", "  on", "• six"), tokenizer.encode("\n-").ids
    between = Between().with_mark(line_end, (2, 0)).with_mark(hyphen, None).with_print(None)
    assert spoken(tokenizer, wording, 3, WORD).startswith(" • two on")
    assert spoken(tokenizer, wording, 3, WORD, between=between).startswith("\n- two")
    assert spoken(tokenizer, wording, 7, WORD, between=between.with_print((2, 2))) == " on\n- six"
    assert "\n" not in spoken(tokenizer, wording, 3, WORD, in_table=True, between=between)  # rows have their tags


def test_marks_behind_a_bullet_that_ends_the_page_stand_nowhere(tokenizer: Tokenizer) -> None:
    wording, (hyphen,) = worded(tokenizer, "one", "•"), tokenizer.encode("-").ids
    between = Between().with_mark(hyphen, (2, 0)).with_mark(hyphen, None).with_print(None)
    assert wording.following(3, WORD, False, between) == [(hyphen, 3)]


def test_behind_the_last_letter_nothing_is_drafted(tokenizer: Tokenizer) -> None:
    wording = worded(tokenizer, "end")
    assert wording.following(3, WORD, False, Between()) == []


def test_a_letter_of_several_tokens_stands_in_one_place(tokenizer: Tokenizer) -> None:
    draft = worded(tokenizer, "a “b”").following(1, WORD, False, Between())
    assert [tokenizer.decode([token]) for token, letter in draft if letter == 1] == [" ", "“"]


def sample(model: VisionModel, characters: bool) -> Prompt:
    page, _ = find_pages([str(files("fastocr_cli") / "sample.pdf")], RunConfig())
    assert isinstance(page, PageRef)
    with torch.inference_mode():
        return model.encode(render(page, model.resolution, characters=characters))


@pytest.mark.parametrize("characters", [True, False])
def test_drafts_save_steps_and_change_no_text(pocket: Model, monkeypatch: pytest.MonkeyPatch, characters: bool) -> None:
    prompt, texts, num_steps = sample(pocket, characters), [], []
    hidden, drafting = pocket.hidden, pocket.draft
    for draft in (drafting, lambda *_: Draft([], [])):
        steps: list[int] = []
        monkeypatch.setattr(pocket, "draft", draft)
        monkeypatch.setattr(pocket, "hidden", lambda *new, steps=steps: steps.append(1) or hidden(*new))
        (page,) = Decoder[int](pocket, make_method("dense", {}), 1).write(iter([Job(0, prompt, 300)]))
        texts.append(page.ids)
        num_steps.append(len(steps))
    assert texts[0] == texts[1]
    assert len(texts[0]) > 290
    assert num_steps[0] < (0.5 if characters else 0.8) * num_steps[1]


@pytest.mark.parametrize(
    ("text", "written"),
    [("changes to", "}"), ("the api", "a"), ("limits", "a"), ("a + b", "a"), ("soft", "}"), ("x2345", "a")],
)
def test_a_formula_ends_before_a_word_of_prose(
    pocket: Model, monkeypatch: pytest.MonkeyPatch, text: str, written: str
) -> None:
    with torch.inference_mode():
        pointer = pocket.begin(pocket.encode(PageImage(Image.new("RGB", (240, 160), "white"))))
        pointer.wording = worded(pocket.tokenizer, text)
        pointer.formula = Formula(pocket.writable.marks.display or 0, sure=True, opened=("{",))
        scores = torch.zeros(1, pocket.network.config.vocab_size)
        scores[0, pocket.tokenizer.token_to_id("a")] = 1
        monkeypatch.setattr(pocket.network, "next_tokens", lambda *_: scores.clone())
        found = pocket.scores(torch.zeros(1, pocket.text_config.hidden_size), [pointer]).argmax()
    assert pocket.detokenize([int(found)]) == written
