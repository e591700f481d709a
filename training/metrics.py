"""How far a text is from the truth: characters, words, tables (TEDS), formulas. 0 is equal, except TEDS and `exact`."""

import re
import statistics
from collections import Counter
from dataclasses import dataclass

from rapidfuzz.distance import Levenshtein

WORD = re.compile(r"\w+")
TABLE = re.compile(r"<table>.*?</table>", re.S)
FORMULA = re.compile(r"\$\$(.+?)\$\$|\$([^$\n]+)\$(?!\d)", re.S)  # a dollar before a number is money


def plain(text: str) -> str:
    """The words alone: no tags, no Markdown marks, single spaces, straight quotes."""
    text = re.sub(r"^```.*$", " ", text, flags=re.M)
    text = re.sub(r"<[a-z/][^>]*>", " ", text)
    text = re.sub(r"^\|[-|: ]+\|$", " ", text, flags=re.M)
    text = re.sub(r"^\s*(#+|[-*•]|\d+[.)])\s", " ", text, flags=re.M)
    text = re.sub(r"[`$*|\\]", " ", text).translate(str.maketrans("‘’“”–—", "''\"\"--"))
    return " ".join(text.split())


def cer(truth: str, text: str) -> float:
    """Edits per character of the truth; above 1 where much is invented."""
    return float(Levenshtein.distance(truth, text)) / max(1, len(truth))


def word_error(truth: str, text: str) -> float:
    words = truth.split()
    return float(Levenshtein.distance(words, text.split())) / max(1, len(words))


def num_missing(truth: str, text: str) -> int:
    """Words and numbers of the truth that are nowhere in the text, whatever the order."""
    true, found = (Counter(WORD.findall(side)) for side in (truth, text))
    return (true - found).total()


def teds(truth: str, table: str) -> float:
    """Tree edit similarity of two HTML tables (0 to 1): rows and cells as nodes, spans and text compared."""
    from apted import APTED  # type: ignore[import-untyped]

    trees = [_tree(html) for html in (truth, table)]
    size = max(_size(tree) for tree in trees)
    return 1 - float(APTED(*trees, _Costs()).compute_edit_distance()) / size


@dataclass
class _Node:
    name: str
    text: str
    children: list["_Node"]


class _Costs:
    """What apted asks for: nodes of different tags or spans do not match, text counts by its edit distance."""

    valuecls = float

    def delete(self, _: _Node) -> float:
        return 1.0

    insert = delete

    def rename(self, a: _Node, b: _Node) -> float:
        if a.name != b.name:
            return 1.0
        return float(Levenshtein.normalized_distance(a.text, b.text))

    def children(self, node: _Node) -> list[_Node]:
        return node.children


def _tree(html: str) -> _Node:
    rows = []
    for row in re.split(r"<tr>", html)[1:]:
        cells = re.findall(r"<t[dh]([^>]*)>(.*?)(?=<t[dh]|</tr|</table|$)", row, re.S)
        rows.append(_Node("tr", "", [_Node("td" + span.strip(), plain(text), []) for span, text in cells]))
    return _Node("table", "", rows)


def _size(node: _Node) -> int:
    return 1 + sum(map(_size, node.children))


@dataclass
class Score:
    """Over a set of pages; None where the truth has nothing of the kind."""

    text_cer: float
    median_cer: float
    word_error: float
    missing: float
    """Share of the words and numbers that are nowhere in the text, whatever the order."""
    markdown_cer: float
    teds: float | None
    formula_exact: float | None
    formula_cer: float | None


def score(pairs: list[tuple[str, str]]) -> Score:
    """Pairs of truth and text, one a page. Error rates are edits over all characters, the median is over pages."""
    words = [(plain(truth), plain(text)) for truth, text in pairs]
    tables = [teds(*pair) for truth, text in pairs for pair in _paired(TABLE.findall(truth), TABLE.findall(text))]
    formulas = [pair for truth, text in pairs for pair in _aligned(_formulas(truth), _formulas(text))]
    return Score(
        text_cer=_pooled(words),
        median_cer=statistics.median(cer(*pair) for pair in words),
        word_error=sum(word_error(*w) * len(w[0].split()) for w in words)
        / max(1, sum(len(w[0].split()) for w in words)),
        missing=sum(num_missing(*pair) for pair in words) / max(1, sum(len(WORD.findall(truth)) for truth, _ in words)),
        markdown_cer=_pooled([(truth.strip(), text.strip()) for truth, text in pairs]),
        teds=statistics.mean(tables) if tables else None,
        formula_exact=statistics.mean(a == b for a, b in formulas) if formulas else None,
        formula_cer=_pooled(formulas) if formulas else None,
    )


def _pooled(pairs: list[tuple[str, str]]) -> float:
    return sum(cer(*pair) * max(1, len(pair[0])) for pair in pairs) / max(1, sum(len(truth) for truth, _ in pairs))


def _paired(truth: list[str], found: list[str]) -> list[tuple[str, str]]:
    """Tables in their order; a missing one counts as empty."""
    return list(zip(truth, [*found, *[""] * len(truth)], strict=False))


def _formulas(text: str) -> list[str]:
    return [re.sub(r"\s+", "", "".join(found)) for found in FORMULA.findall(TABLE.sub("", text))]


def _aligned(truth: list[str], found: list[str]) -> list[tuple[str, str]]:
    """Each true formula with the nearest found one that is not taken, in order of nearness."""
    distances = sorted(
        (Levenshtein.normalized_distance(a, b), i, j) for i, a in enumerate(truth) for j, b in enumerate(found)
    )
    match: dict[int, int] = {}
    for _, i, j in distances:
        if i not in match and j not in match.values():
            match[i] = j
    return [(formula, found[match[i]] if i in match else "") for i, formula in enumerate(truth)]
