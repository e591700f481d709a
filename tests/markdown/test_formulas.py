"""Formulas in one notation; dollars of prose never pair up to one (cases FL-31, FL-32)."""

import pytest

from fastocr_cli.markdown import clean_page


@pytest.mark.parametrize(
    "formula",
    [
        "x", "n+1", "f(x, y)", "ABC", "0.05", "x_i^*", "\\alpha", " \\frac{a}{b} ", "O(n \\log n)", "p < 0.05", "-1",
        "\\text{if } x > 0 \\text{ and then}", "\\{a, b\\}", "[0, 1)", "x \\in \\mathbb{R}^{n}", "P(A|B)", "1{,}000",
        "\\mathrm{area of the circle}", "a \\$ b_1", "10^{-3}", "N = 100", "\\theta", " x ", "H_2O", "2n", "\\text{a_b}",
        "\\int_0^1 \\int_0^1 f dx dy",
    ],
)  # fmt: skip
def test_formulas_stay(formula: str) -> None:
    text = f"Let ${formula}$ be, at $5."
    assert clean_page(text) == f"Let ${formula.strip()}$ be, at \\$5."


@pytest.mark.parametrize(
    "prose",
    [
        "The kit costs $5 to $7, or US$12 with post.", "A$AP and B$AP", "$HOME and $PATH", "$HOME:$PATH", "5$, 6$",
        "from 5 $ to 7 $ each", "$5-$7", "($5)-($7)", "$1,000/$2,000", "$MY_VAR and the $OTHER_VAR", "US$5m and A$6m",
        "costs $1.50. Another costs $2", "$$ and $$", "5$ and 6$", "$5+$6", "a $$ b", "$100 (or $90)", "R$ 10 e R$ 20", "$ 5 and $ 6",
    ],
)  # fmt: skip
def test_amounts_are_escaped(prose: str) -> None:
    assert clean_page(prose) == prose.replace("$", "\\$")
    assert clean_page(f"{prose} and $x$") == prose.replace("$", "\\$") + " and $x$"


def test_a_dollar_alone_is_left_alone() -> None:
    assert clean_page("It costs $5.\n\nThat one $6.") == "It costs $5.\n\nThat one $6."


@pytest.mark.parametrize(
    ("raw", "clean"),
    [
        ("a \\(x^2\\) b", "a $x^2$ b"),
        ("a \\( \\alpha \\) b", "a $\\alpha$ b"),
        ("see \\(the appendix below\\)", "see \\(the appendix below\\)"),
        ("\\[ E = mc^2 \\]", "$$ E = mc^2 $$"),
        ("\\[\nx\n\n= y\n\\]", "$$\nx\n= y\n$$"),
        ("print in \\[brackets\\] stays", "print in \\[brackets\\] stays"),
        ("\\begin{equation}\nx\n\\end{equation}", "$$\nx\n$$"),
        ("\\begin{align*}a&=b\\\\c&=d\\end{align*}", "$$\\begin{aligned}a&=b\\\\c&=d\\end{aligned}$$"),
        ("$$\\begin{gather}a\\\\b\\end{gather}$$", "$$\\begin{gathered}a\\\\b\\end{gathered}$$"),
        ("\\begin{pmatrix}1&2\\end{pmatrix}", "$$\\begin{pmatrix}1&2\\end{pmatrix}$$"),
        ("$a$$b$", "$a$ $b$"),
        ("$a<b$ and $$a<b$$", "$a< b$ and $$a< b$$"),
        (
            "lost $$ here\n\nand some more words, then $$ x = 1 $$ end",
            "lost \\$\\$ here\n\nand some more words, then $$ x = 1 $$ end",
        ),
        ("$$ x = 1", "\\$\\$ x = 1"),
        ("`$5` and `$6` $x$", "`$5` and `$6` $x$"),
        ("```\n$5 $6\n```", "```\n$5 $6\n```"),
        ("<table><tr><td>$5 to $7</td></tr></table>", "<table><tr><td>$5 to $7</td></tr></table>"),
    ],
)
def test_notation(raw: str, clean: str) -> None:
    assert clean_page(raw) == clean
