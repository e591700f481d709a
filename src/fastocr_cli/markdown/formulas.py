"""What is a formula and what is prose with dollar signs in it; formulas in one notation: `$...$` and `$$...$$`.

Judges strings only; where a candidate stands in the page is the scanner's business.
"""

import re

FUNCTIONS = frozenset(
    {"sin", "cos", "tan", "cot", "sec", "csc", "log", "ln", "exp", "lim", "max", "min", "sup", "inf", "det", "dim"}
    | {"ker", "mod", "gcd", "arg", "deg", "rank", "var", "cov", "const", "sgn"}
)
LITTLE_WORDS = frozenset(
    {"to", "or", "in", "of", "is", "at", "an", "as", "by", "on", "if", "no", "we", "it", "so", "do"}
)
_COMMAND = re.compile(r"\\[A-Za-z]+|\\[,;:!{}|%&_#]|\{,\}")
_SCRIPT = re.compile(r"[_^]\{|(?<![A-Za-z])[A-Za-z0-9)\]}|'\s]{0,2}[_^]\s*[A-Za-z0-9*+\\-](?![A-Za-z]{2})")
_TEXT = re.compile(r"\\(?:text\w*|mbox|mathrm|mathit|mathbf|mathsf|operatorname\*?|tag\*?|label)\s*\{[^{}]*\}")
_PROSE = re.compile(r"(?<![\\A-Za-z])[a-z]{2,}(?:[,;:]?\s+[a-z]{2,})+(?![A-Za-z])")
_WEAK = re.compile(r"[\w\s+\-*/=<>|()\[\].,:;!'′∞≤≥≠≈±×÷·∈∂∑∫√→−]*")
_ENVIRONMENTS = {
    "align": "aligned", "flalign": "aligned", "gather": "gathered", "multline": "gathered", "alignat": "alignedat",
}  # fmt: skip
EQUATIONS = "equation|displaymath|align|flalign|alignat|gather|multline|eqnarray|math"
BODIES = "aligned|alignedat|gathered|split|cases|dcases|array|smallmatrix|[pbvBV]?matrix"
ENVIRONMENT = re.compile(rf"\\begin\s*\{{({EQUATIONS}|{BODIES})(\*?)\}}")
MAX_DEPTH = 20
"""Environments of one name inside each other; more were opened and never closed."""
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s", re.MULTILINE)


def is_inline(body: str, before: str, after: str) -> bool:
    """Whether `$body$` is a formula, between the characters `before` and `after` (empty at an end).

    Amounts and shell variables ("costs $5 to $7", "$HOME and $PATH", "5$") aren't: a formula needs a sign of
    mathematics, or no blanks inside its dollars and nothing in it that reads as words.
    """
    inner = body.strip()
    if not inner or len(inner) > 2000 or _reads_as_prose(inner):
        return False
    if re.search(r"\\[A-Za-z]{2,}", inner):
        return True
    tight = body == inner
    if _COMMAND.search(inner) or _SCRIPT.search(inner):
        return tight or not (before.isalnum() or after.isalnum())
    if not tight and (not (body[0].isspace() and body[-1].isspace()) or before.isdigit() or "\n" in body):
        return False
    if before.isalnum() or after.isdigit() or (after.isalpha() and len(inner) > 3) or inner[-1] in ",.;:!?":
        return False
    return _plain_formula(inner)


def _plain_formula(inner: str) -> bool:
    """`x`, `n+1`, `f(x, y)`, `ABC`, `0.05`: letters, numbers and operators without a TeX command."""
    if not _WEAK.fullmatch(inner) or inner[0] in ",.;:!?*/" or not _balanced(inner):
        return False
    words = re.findall(r"[^\W\d_]{2,}", inner)
    if len(words) == 1 and words[0] == inner:
        return len(inner) <= 12
    return not any(_is_word(word) for word in words)


def _is_word(letters: str) -> bool:
    """Two or more letters that are no function's name, no name of points (`ABC`), no product (`xy`)."""
    if letters in FUNCTIONS:
        return False
    short = len(letters) == 2 or (len(letters) == 3 and (letters.isupper() or not letters.isascii()))
    return not short or letters in LITTLE_WORDS


def _balanced(inner: str) -> bool:
    depth = 0
    for char in inner:
        depth += (char in "([") - (char in ")]")
        if depth < 0:
            return False
    return depth == 0


def _reads_as_prose(inner: str) -> bool:
    """Two or more words of small letters in a row that no TeX command wraps."""
    bare = _TEXT.sub(" ", inner)
    bare = re.sub(r"\\[A-Za-z]+", "\\\\x", bare)
    words = {word for found in _PROSE.finditer(bare) for word in re.findall(r"[a-z]+", found[0])} - FUNCTIONS
    return any(len(word) > 2 or word in LITTLE_WORDS for word in words)  # `dx dy` is none


def is_display(body: str) -> bool:
    """Whether `$$body$$` is a formula rather than the text between two strays."""
    inner = body.strip()
    if not inner or len(inner) > 6000 or "$$" in inner or _HEADING.search(inner):
        return False
    bare = _TEXT.sub(" ", inner)
    words = re.search(
        r"(?<![\\A-Za-z])[A-Za-z]{2,}(?:[,;:.]?\s+[A-Za-z]{2,}){3,}|\A\s*[a-z]{2,}(?:\s[a-z]{2,})*\s*\Z", bare
    )
    return words is None


def is_bracketed(body: str, alone: bool) -> bool:
    r"""Whether `\[body\]` is a formula rather than print in escaped brackets. `alone`: nothing else on its lines."""
    return is_display(body) and (alone or bool(re.search(r"[\\^_=+<>{}]", body)))


def harmless(body: str) -> str:
    """A `<` that a page without mathematics would take for a tag gets a blank, which TeX ignores."""
    return re.sub(r"<(?=[A-Za-z/!?])", "< ", body)


def inline(body: str) -> str:
    return f"${harmless(body.strip())}$"


def display(body: str) -> str:
    """Blank lines go (they end a paragraph, and TeX forbids them), environments become ones that nest in `$$`."""
    body = re.sub(r"\n(?:[ \t]*\n)+", "\n", harmless(nestable(body)))
    return f"$${body}$$"


def as_display(text: str) -> str:
    """A reply's formula block as a display formula: fences and a stray preamble off, delimiters on if it has none."""
    text = re.sub(r"\A`+(?:latex|math|tex)?\s*|\s*`+\Z", "", text).strip()
    text = re.sub(r"\\documentclass.*?\\begin\{document\}|\\end\{document\}", "", text, flags=re.DOTALL).strip()
    return text if re.match(r"\$|\\\(|\\\[|\\begin\{(?:equation|align|gather)", text) else f"$$\n{text}\n$$"


def nestable(body: str) -> str:
    """Equation environments inside a formula: `equation` falls away, `align` becomes `aligned`, ..."""
    body = re.sub(r"\\(?:begin|end)\s*\{(?:equation|displaymath|math)\*?\}", "", body)
    for name, inner in _ENVIRONMENTS.items():
        body = re.sub(rf"\\(begin|end)\s*\{{{name}\*?\}}", rf"\\\1{{{inner}}}", body)
    body = re.sub(r"\\begin\s*\{eqnarray\*?\}", r"\\begin{array}{rcl}", body)
    return re.sub(r"\\end\s*\{eqnarray\*?\}", r"\\end{array}", body)


def environment_end(text: str, found: re.Match[str]) -> int:
    """Where the environment that `found` (of ENVIRONMENT) begins ends, or -1 if it never does."""
    name = re.escape(found[1] + found[2])
    depth = 0
    for edge in re.compile(rf"\\(begin|end)\s*\{{{name}\}}").finditer(text, found.start()):
        depth += 1 if edge[1] == "begin" else -1
        if depth == 0:
            return edge.end()
        if depth > MAX_DEPTH:
            break
    return -1
