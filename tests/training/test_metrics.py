"""The figures of docs/pocket.md mean what they say."""

import pytest

pytest.importorskip("rapidfuzz")
pytest.importorskip("apted")

from training.metrics import cer, num_missing, plain, score, teds

TABLE = '<table><tr><td>a</td><td>b</td></tr><tr><td colspan="2">c</td></tr></table>'


def test_plain_text_has_no_marks() -> None:
    assert plain(f"# Title\n\n- one\n- two `x`\n\n{TABLE}") == "Title one two x a b c"


def test_cer_counts_edits() -> None:
    assert cer("abcd", "abxd") == 0.25
    assert cer("ab", "abcdef") == 2.0


def test_teds_is_one_for_equal_tables_and_less_for_a_missing_row() -> None:
    assert teds(TABLE, TABLE) == 1.0
    assert 0.3 < teds(TABLE, "<table><tr><td>a</td><td>b</td></tr></table>") < 0.9
    assert teds(TABLE, "") < 0.3


def test_formulas_are_matched_by_nearness() -> None:
    found = score([("a $x_{1}$ and $$ y $$", "$$y$$ b $x_{2}$")])
    assert found.formula_exact == 0.5
    assert found.teds is None


def test_money_is_no_formula() -> None:
    found = score([("It cost $5, then $6 and $x$.", "It cost $5, then $6 and $x$.")])
    assert found.formula_exact == 1
    assert score([("from $5 to $6", "from $5 to $6")]).formula_exact is None


def test_missing_words_are_counted_whatever_the_order() -> None:
    assert num_missing("the cat sat on the mat", "mat the on sat cat the") == 0
    assert num_missing("the cat sat on the mat", "the cat sat") == 3
    found = score([("one two three four", "four three two"), ("five six", "six five seven")])
    assert found.missing == pytest.approx(1 / 6)
