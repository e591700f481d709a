"""Random formulas, each as LaTeX and as the Typst that pandoc makes of it."""

import json
import random
import re
import string
from pathlib import Path

GREEK = [
    "alpha", "beta", "gamma", "delta", "epsilon", "lambda", "mu", "sigma", "theta", "omega", "pi", "phi",
    "Gamma", "Delta", "Omega", "Sigma",
]  # fmt: skip
OPERATORS = ["+", "-", "=", r"\leq", r"\geq", r"\times", r"\cdot", r"\approx", r"\in", r"\to"]


def formula(rng: random.Random, depth: int = 0) -> str:
    """A random expression in LaTeX, at most four levels deep."""

    def variable() -> str:
        return rng.choice(string.ascii_letters) if rng.random() < 0.7 else "\\" + rng.choice(GREEK)

    def number() -> str:
        return str(rng.randint(0, 99))

    def inner() -> str:
        return formula(rng, depth + 1)

    forms = [
        (22, rng.choice([variable, variable, number])),
        (14, lambda: f"{variable()}_{{{rng.choice([variable, number])()}}}"),
        (12, lambda: f"{variable()}^{{{rng.choice([variable, number])()}}}"),
        (12, lambda: rf"\frac{{{inner()}}}{{{inner()}}}"),
        (6, lambda: rf"\sqrt{{{inner()}}}"),
        (4, lambda: rf"\sum_{{{rng.choice('ijkn')}=1}}^{{{rng.choice(['n', 'N', chr(92) + 'infty'])}}} {inner()}"),
        (4, lambda: rf"\int_{{{number()}}}^{{{variable()}}} {inner()} d{rng.choice('xyt')}"),
        (6, lambda: rf"\left( {inner()} \right)"),
        (4, lambda: rng.choice([r"\sin", r"\cos", r"\log", r"\exp"]) + " " + variable()),
        (16, lambda: f"{inner()} {rng.choice(OPERATORS)} {inner()}"),
    ]
    if depth > 2:
        forms = forms[:1]
    weights, makers = zip(*forms, strict=True)
    made: str = rng.choices(makers, weights=weights)[0]()
    return made


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
