"""Gathers what the pages say: python -m training.corpus DATA.

English paragraphs of documentation on a Debian machine (packages in NOTICE.md) into corpus.txt, one a line, those of a
book that is never trained on first, each part shuffled; random formulas into formulas.jsonl.
"""

import argparse
import ast
import gzip
import html
import random
import re
import site
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path

from training.content import NUM_HELD_OUT
from training.formulas import write_formulas

ALLOWED = re.compile(r"^[\x20-\x7e‘’“”–—…é°×±ü]+$")
MARKED_UP = re.compile(r"[{}<>=_\\|]{2}|>>>|::")


def acceptable(paragraph: str) -> bool:
    letters = sum(char.isalpha() for char in paragraph)
    long_enough = 40 <= len(paragraph) <= 900 and paragraph.count(" ") > 5
    return long_enough and letters > 0.6 * len(paragraph) and bool(ALLOWED.match(paragraph))


def handbook(package: str = "debian-handbook") -> Iterator[str]:
    for file in Path(f"/usr/share/doc/{package}/html/en-US").glob("*.html"):
        text = file.read_text(errors="ignore")
        for paragraph in re.findall(r'<(?:p|div class="para")[^>]*>(.*?)</(?:p|div)>', text, re.S):
            yield html.unescape(re.sub(r"<[^>]+>", "", paragraph))


def fortunes() -> Iterator[str]:
    for file in Path("/usr/share/games/fortunes").glob("*.u8"):
        yield from file.read_text(errors="ignore").split("\n%\n")


def bible() -> Iterator[str]:
    """Three verses at a time, without their numbers."""
    try:
        run = subprocess.run(["bible", "-f", "gen1:1-rev22:21"], capture_output=True, text=True, check=False)
    except OSError:
        return
    verses = [re.sub(r"^\S+\s+", "", line) for line in run.stdout.splitlines()]
    for first in range(0, len(verses), 3):
        yield " ".join(verses[first : first + 3])


def docstrings() -> Iterator[str]:
    """Of the Python library and of every installed package."""
    for root in {sysconfig.get_path("stdlib"), *site.getsitepackages()}:
        for file in Path(root).rglob("*.py"):
            try:
                tree = ast.parse(file.read_text(errors="ignore"))
            except (SyntaxError, ValueError, OSError):
                continue
            for node in ast.walk(tree):
                if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                    text = ast.get_docstring(node) or ""
                    yield from (p for p in text.split("\n\n") if not MARKED_UP.search(p))


def readmes() -> Iterator[str]:
    names = (".txt", ".md", ".rst", "README", "NEWS", ".txt.gz", "README.gz", "NEWS.gz")
    for file in Path("/usr/share/doc").rglob("*"):
        if file.name.endswith(names) and file.is_file():
            data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            yield from re.split(r"\n\s*\n", data.decode(errors="ignore"))


def held_out() -> Iterator[str]:
    """The Securing Debian Manual: a book of its own, so that no other machine's corpus holds its text elsewhere."""
    return handbook("harden-doc")


def gather(*sources: Iterator[str]) -> list[str]:
    """Their acceptable paragraphs, each once, shuffled."""
    joined = (re.sub(r"\s+", " ", paragraph).strip() for source in sources for paragraph in source)
    paragraphs = sorted(set(filter(acceptable, joined)))
    random.Random(0).shuffle(paragraphs)
    return paragraphs


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("--formulas", type=int, default=16_000)
    options = parser.parse_args()
    options.data.mkdir(parents=True, exist_ok=True)
    tested = gather(held_out())
    if len(tested) < NUM_HELD_OUT:
        raise SystemExit("The pages to test on need the text of another book: apt-get install harden-doc")
    known = set(tested)
    trained = [p for p in gather(handbook(), fortunes(), bible(), docstrings(), readmes()) if p not in known]
    lines = tested[:NUM_HELD_OUT] + trained
    (options.data / "corpus.txt").write_text("\n".join(lines))
    write_formulas(options.data / "formulas.jsonl", options.formulas)
    print(f"{len(lines)} paragraphs, {sum(map(len, lines)):,} characters")
