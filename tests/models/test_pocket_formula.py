"""Whatever is well-formed may be written, and what is not can always be brought to an end that is."""

import random
from importlib.resources import files

import pytest
from tokenizers import Tokenizer
from training.formulas import formula as random_formula

from fastocr_cli.models.pocket.formula import DEEPEST, PLAIN, Formula, Marks


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.from_file(str(files("fastocr_cli.models.pocket") / "tokenizer.json"))


@pytest.fixture(scope="module")
def marks(tokenizer: Tokenizer) -> Marks:
    return Marks(tokenizer, tokenizer.get_vocab_size())


@pytest.mark.parametrize("seed", range(200))
def test_every_token_of_a_formula_of_the_training_may_follow(tokenizer: Tokenizer, marks: Marks, seed: int) -> None:
    ids = tokenizer.encode(f"$$ {random_formula(random.Random(seed))} $$").ids
    state = marks.opened_by(ids[0])
    for token in ids[1:-1]:
        assert not marks.unfit(state)[token], tokenizer.decode([token])
        state = state.after(marks.of.get(token, PLAIN))
    assert state.closing == ""
    assert marks.ending(state, ids[-1]) == ids[0]


@pytest.mark.parametrize("seed", range(50))
def test_whatever_was_begun_comes_to_an_end(tokenizer: Tokenizer, marks: Marks, seed: int) -> None:
    rng, dollars = random.Random(seed), tokenizer.token_to_id("$$")
    state, written = marks.opened_by(dollars), []

    def write(token: int) -> Formula:
        assert not marks.unfit(state)[token]
        written.append(token)
        return state.after(marks.of.get(token, PLAIN))

    for _ in range(rng.randint(0, 40)):
        fit = [token for token in [*marks.of, tokenizer.token_to_id("(")] if not marks.unfit(state)[token]]
        state = write(rng.choice(fit))
    for _ in range(300):
        if (token := marks.ending(state, dollars)) == dollars:
            break
        state = write(token)
    latex = tokenizer.decode(written)
    assert state.closing == ""
    assert latex.count("{") == latex.count("}")
    assert latex.count("\\left") == latex.count("\\right")
    assert latex.count("}{") >= latex.count("\\frac")


def test_fractions_within_fractions_come_to_an_end(tokenizer: Tokenizer, marks: Marks) -> None:
    fraction, opens = (tokenizer.token_to_id(mark) for mark in ("\\frac", "{"))
    state, depth = marks.opened_by(tokenizer.token_to_id("$$")), 0
    while not marks.unfit(state)[fraction]:
        for token in (fraction, opens):
            state = state.after(marks.of[token])
        depth += 1
    assert depth == DEEPEST


def test_a_vocabulary_without_latex_has_no_formulas() -> None:
    from tokenizers.models import WordLevel

    marks = Marks(Tokenizer(WordLevel({"a": 0, "b": 1}, unk_token="a")), 4)
    assert marks.dollars == {}
    assert marks.of == {}
