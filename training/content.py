"""What the pages say: paragraphs of the corpus, words that no language model can guess, numbers, code, formulas."""

import json
import random
import string
import sysconfig
from functools import cache
from pathlib import Path

NUM_HELD_OUT = 500  # the first paragraphs of the corpus are never trained on


def quoted(value: str) -> str:
    """The text as a Typst string expression."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'#"{escaped}"'


@cache
def read_paragraphs(folder: Path) -> tuple[str, ...]:
    return tuple((folder / "corpus.txt").read_text().split("\n"))


@cache
def read_formulas(folder: Path) -> tuple[tuple[str, str], ...]:
    """Pairs of LaTeX and Typst source of the same formula."""
    path = folder / "formulas.jsonl"
    if not path.exists():
        return ()
    return tuple((latex, typst) for latex, typst in map(json.loads, path.read_text().splitlines()))


@cache
def code_lines() -> tuple[str, ...]:
    """Lines of the Python standard library that fit on a page."""
    files = sorted(Path(sysconfig.get_path("stdlib")).glob("*.py"))[:120]
    lines = [line for file in files for line in file.read_text(errors="ignore").splitlines()]
    return tuple(line for line in lines if 4 < len(line) < 64 and line.isascii() and "\t" not in line)


class Content:
    """Draws words, cells, code and formulas; `held_out` draws from what training never sees."""

    def __init__(self, folder: Path, rng: random.Random, held_out: bool = False) -> None:
        self.rng = rng
        paragraphs = read_paragraphs(folder)
        self.paragraphs = paragraphs[:NUM_HELD_OUT] if held_out else paragraphs[NUM_HELD_OUT:]
        formulas = read_formulas(folder)
        self.formulas = formulas[:NUM_HELD_OUT] if held_out else formulas[NUM_HELD_OUT:]
        self.short_formulas = [pair for pair in self.formulas if len(pair[0]) < 30]

    def words(self, least: int, most: int) -> list[str]:
        rng = self.rng
        if rng.random() < 0.1:
            words = [self._noise() for _ in range(rng.randint(least, min(most, 40)))]
        else:
            words = rng.choice(self.paragraphs).split(" ")
        if len(words) > most or rng.random() < 0.2:
            start = rng.randint(0, max(0, len(words) - least))
            words = words[start : start + most]
        return [word for word in words if word] or ["a"]

    def _noise(self) -> str:
        """A word that has to be read, because it cannot be guessed."""
        rng = self.rng
        kinds = [
            lambda: "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 10))),
            lambda: str(rng.randint(0, 10 ** rng.randint(1, 7))),
            lambda: f"{rng.randint(0, 9999):,}.{rng.randint(0, 99):02d}",
            lambda: f"{rng.randint(1, 28):02d}/{rng.randint(1, 12):02d}/{rng.randint(1950, 2030)}",
            lambda: "".join(rng.choices(string.ascii_letters + string.digits, k=rng.randint(3, 9))),
            lambda: rng.choice("%#&@*+=<>~^|[]{}_/") + str(rng.randint(0, 999)),
            lambda: rng.choice(rng.choice(self.paragraphs).split(" ")),
        ]
        word: str = rng.choices(kinds, weights=[30, 15, 10, 7, 8, 6, 24])[0]()
        if rng.random() < 0.08:
            word += rng.choice(",.;:!?)")
        if rng.random() < 0.04:
            word = "(" + word
        if rng.random() < 0.12:
            word = word.capitalize() if rng.random() < 0.6 else word.upper()
        return word

    def label(self, most: int) -> str:
        """A few words, so many characters at most."""
        words = [word for word in self.words(1, 6 if most > 24 else 3) if len(word) < 13]
        while len(" ".join(words)) > most:
            words.pop()
        label = " ".join(words)
        return label[:1].upper() + label[1:] if self.rng.random() < 0.5 else label

    def number(self) -> str:
        """A number as tables have them."""
        rng = self.rng
        return rng.choice([
            str(rng.randint(0, 9999)), f"{rng.uniform(0, 100):.{rng.randint(1, 3)}f}", f"-{rng.uniform(0, 50):.1f}",
            f"{rng.randint(0, 100)}%", f"{rng.randint(1000, 99999):,}", f"({rng.uniform(0, 9):.2f})",
            f"{rng.randint(100000, 99999999):,}", f"${rng.randint(1, 9999):,}", str(rng.randint(1980, 2030)),
        ])  # fmt: skip

    def code(self, num_lines: int) -> str:
        lines = code_lines()
        start = self.rng.randrange(len(lines) - num_lines)
        chosen = lines[start : start + num_lines]
        indent = min(len(line) - len(line.lstrip()) for line in chosen)
        return "\n".join(line[indent:].rstrip() for line in chosen)
