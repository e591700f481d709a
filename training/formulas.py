"""Random formulas, each as LaTeX and as the Typst that pandoc makes of it; and what of LaTeX is printed where."""

import json
import random
import re
import string
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from fastocr_cli.models.pocket.cells import class_of
from fastocr_cli.models.pocket.latex import PRINTED

GREEK = [
    "alpha", "beta", "gamma", "delta", "epsilon", "lambda", "mu", "sigma", "theta", "omega", "pi", "phi",
    "Gamma", "Delta", "Omega", "Sigma",
]  # fmt: skip
UNIT = re.compile(r"\\[A-Za-z]+|[^\s{}^_\\$&]")
SCRIPTS = re.compile(r"_\{([^{}]*)\}\^\{([^{}]*)\}")
OPERATORS = [
    "+", "+", "-", "-", "=", "<", ">", r"\leq", r"\geq", r"\neq", r"\times", r"\cdot", r"\pm", r"\approx", r"\in",
    r"\to",
]  # fmt: skip
SUMS, ENDS = [r"\sum", r"\sum", r"\prod"], ["n", "N", r"\infty"]


def formula(rng: random.Random, depth: int = 0) -> str:
    """A random expression in LaTeX, at most four levels deep."""

    def variable() -> str:
        return rng.choice(string.ascii_letters) if rng.random() < 0.7 else "\\" + rng.choice(GREEK)

    def number() -> str:
        return str(rng.randint(0, 99))

    def short() -> str:
        return f"{rng.choice([variable, number])()} {rng.choice('+-')} {rng.choice([variable, number])()}"

    def inner() -> str:
        return formula(rng, depth + 1)

    forms = [
        (22, rng.choice([variable, variable, number])),
        (12, lambda: f"{variable()}_{{{rng.choice([variable, number])()}}}"),
        (10, lambda: f"{variable()}^{{{rng.choice([variable, number, short])()}}}"),
        (5, lambda: f"{variable()}_{{{rng.choice([variable, number, short])()}}}^{{{number()}}}"),
        (12, lambda: rf"\frac{{{inner()}}}{{{inner()}}}"),
        (2, lambda: rf"\frac{{\partial {variable()}}}{{\partial {variable()}}}"),
        (6, lambda: rf"\sqrt{{{inner()}}}"),
        (
            5,
            lambda: rf"{rng.choice(SUMS)}_{{{rng.choice('ijkn')}={rng.choice('01')}}}^{{{rng.choice(ENDS)}}} {inner()}",
        ),
        (4, lambda: rf"\int_{{{number()}}}^{{{variable()}}} {inner()} d{rng.choice('xyt')}"),
        (2, lambda: rf"\lim_{{{rng.choice('xnt')} \to {rng.choice(['0', *ENDS])}}} {inner()}"),
        (6, lambda: rf"\left( {inner()} \right)"),
        (6, lambda: f"{rng.choice('fghpFPT')}({inner()})"),
        (6, lambda: f"{rng.choice([variable, number])()} {variable()}"),
        (4, lambda: rng.choice([r"\sin", r"\cos", r"\log", r"\exp", r"\max", r"\min", r"\ln"]) + " " + variable()),
        (18, lambda: f"{inner()} {rng.choice(OPERATORS)} {inner()}"),
    ]
    if depth > 2:
        forms = forms[:1]
    weights, makers = zip(*forms, strict=True)
    made: str = rng.choices(makers, weights=weights)[0]()
    return made


def printed_places(latex: str, printed: str) -> NDArray[np.int64]:
    """For each character of LaTeX the index of what it prints among the characters printed, -1 for nothing.

    A command has the place of its first sign. Both run in nearly the same order: what stands above a sum is printed
    before what stands below. Each sign takes the next of its kind, else the first that is left.
    """
    where = np.full(len(latex), -1, np.int64)
    left, cursor = dict(enumerate(map(class_of, printed))), 0
    for start, unit in _units(latex):
        for char in PRINTED.get(unit, unit if len(unit) == 1 else ""):
            fitting = [place for place, label in left.items() if label == class_of(char)]
            if fitting:
                place = next((place for place in fitting if place >= cursor), fitting[0])
                where[start] = place if where[start] < 0 else where[start]
                cursor = place + 1
                del left[place]
    return where


def _units(latex: str) -> list[tuple[int, str]]:
    """Where commands and signs begin, and they, in the order of print."""
    found = [(match.start(), match[0]) for match in UNIT.finditer(latex)]
    for scripts in SCRIPTS.finditer(latex):
        lower, upper = scripts.span(1), scripts.span(2)
        inside = [unit for unit in found if lower[0] <= unit[0] < lower[1]]
        above = [unit for unit in found if upper[0] <= unit[0] < upper[1]]
        if inside:
            first = found.index(inside[0])
            found[first : first + len(inside) + len(above)] = above + inside
    return found


def write_formulas(path: Path, count: int, seed: int = 0) -> None:
    """`count` pairs as JSON lines; pandoc is needed here and nowhere later."""
    import pypandoc  # type: ignore[import-untyped]

    rng = random.Random(seed)
    latex: list[str] = []
    while len(latex) < count:
        made = formula(rng)
        if 3 <= len(made) <= 90:
            latex.append(made if rng.random() < 0.4 else f"{made} = {formula(rng, 2)}")
    numbered = "\n\n".join(f"X{number}X ${made}$" for number, made in enumerate(latex))
    typst = pypandoc.convert_text(numbered, "typst", format="markdown")
    pairs = re.findall(r"X(\d+)X \$(.*?)\$(?=\s*(?:X\d+X|\Z))", typst, re.S)
    lines = [json.dumps([latex[int(number)], source.replace("\n", " ")]) for number, source in pairs]
    path.write_text("\n".join(lines) + "\n")
