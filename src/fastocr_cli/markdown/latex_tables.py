"""From a LaTeX table to a Table. Knows the commands that models write in tables; others stay as they are."""

import re
from dataclasses import dataclass

from fastocr_cli.markdown import tags
from fastocr_cli.markdown.spans import scan
from fastocr_cli.markdown.tables import MAX_SPAN, Cell, Table

_TABULAR = r"tabular[xy]?\*?|longtable|tabulary|supertabular"
STARTS = re.compile(rf"\\begin\s*\{{(?:table\*?|{_TABULAR})\}}")
_BEGIN = re.compile(rf"\\begin\s*\{{({_TABULAR})\}}")
_RULES = re.compile(
    r"\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|endlastfoot|centering|small|footnotesize"
    r"|scriptsize|tiny|arraybackslash)(?![A-Za-z])"
    r"|\\(?:cline|cmidrule(?:\([^)]*\))?|label|vspace\*?|hspace\*?|rowcolor|cellcolor|noalign|phantom|hphantom|vphantom|setlength|renewcommand)"
    r"(?:\[[^\]]*\])?\s*\{[^{}]*\}(?:\{[^{}]*\})?"
)
_WRAPS = {
    "textbf": ("<b>", "</b>"), "textit": ("<i>", "</i>"), "emph": ("<i>", "</i>"), "underline": ("<u>", "</u>"),
    "textsuperscript": ("<sup>", "</sup>"), "textsubscript": ("<sub>", "</sub>"), "makecell": ("", ""),
    "shortstack": ("", ""), "text": ("", ""), "textrm": ("", ""), "texttt": ("", ""), "textsc": ("", ""),
    "mbox": ("", ""),
}  # fmt: skip
_CELL_TOKEN = re.compile(
    r"(?<!\\)\$[^$]*(?<!\\)\$|\\\(.*?\\\)"  # formulas, left alone
    r"|\\([A-Za-z]+)\*?\s*(?:\[[^\]]*\])?\{|\\\\|\\newline\b|\\q?quad\b|\\([%&#_{}$])|[~{}]",
    re.DOTALL,
)
_PLAIN = {"\\\\": "\n", "\\newline": "\n", "~": " ", "\\quad": " ", "\\qquad": " ", "{": "", "}": ""}


@dataclass
class Found:
    """The table, text that stood around it in its float (the caption), and where it ends."""

    table: Table
    stray: str
    end: int


def read_table(text: str, start: int) -> Found | None:
    """The table that begins at `start`, a place that STARTS matched; None where there is nothing to read."""
    floating = re.compile(r"\\begin\s*\{(table\*?)\}(?:\s*\[[^\]]*\])?").match(text, start)
    end, stray = len(text), ""
    position = start
    if floating:
        position = floating.end()
        closing = text.find(f"\\end{{{floating[1]}}}", position)
        end = closing if closing >= 0 else end
    found = _BEGIN.search(text, position, end)
    if found is None:
        return None
    body_end, after = _environment_end(text, found, end)
    table = _rows(_without_arguments(text[found.end() : body_end]))
    if floating:
        stray = _float_text(text[position : found.start()] + "\n\n" + text[after:end])
        after = end + len(f"\\end{{{floating[1]}}}") if end < len(text) else end
    return Found(table, stray, after)


def _environment_end(text: str, found: re.Match[str], end: int) -> tuple[int, int]:
    """Where the body ends and where its `\\end` does; an open table ends at a blank line, or with the page."""
    depth = 0
    for edge in re.compile(rf"\\(begin|end)\s*\{{{re.escape(found[1])}\}}").finditer(text, found.start(), end):
        depth += 1 if edge[1] == "begin" else -1
        if depth == 0:
            return edge.start(), edge.end()
    gap = re.compile(r"\n[ \t]*\n").search(text, found.end(), end)
    stop = gap.start() if gap else end
    return stop, stop


def _without_arguments(body: str) -> str:
    """The body after its column specification: `{|c|p{3cm}|}`, `[t]`, `{\\textwidth}`."""
    while argument := re.match(r"\s*(?:\[[^\]]*\]|\{)", body):
        if not argument[0].endswith("{"):
            body = body[argument.end() :]
            continue
        stop = _group_end(body, argument.end() - 1)
        group = body[argument.end() : stop - 1]
        if not re.fullmatch(r"(?:[\s|lcrpmbXLCRSJ@!<>*&\d.,]|\{[^{}]*(?:\{[^{}]*\}[^{}]*)*\}|\\[A-Za-z]+)*", group):
            break
        body = body[stop:]
    return body


def _group_end(text: str, start: int) -> int:
    """Just after the brace that closes the one at `start`; the end of `text` if none does."""
    depth = 0
    for found in re.compile(r"\\.|[{}]", re.DOTALL).finditer(text, start):
        depth += (found[0] == "{") - (found[0] == "}")
        if depth == 0:
            return found.end()
    return len(text)


def _float_text(text: str) -> str:
    """What a float says beside its table: captions and loose words, without commands."""
    text = re.sub(r"\\caption\*?(?:\[[^\]]*\])?(?=\{)", "", _RULES.sub("", text))
    text = re.sub(r"\\(?:begin|end)\{[^{}]*\}", "", text)
    return "\n\n".join(part for line in text.split("\n\n") if (part := _content(line).strip()))


def _split(text: str, separator: str) -> list[str]:
    """`text` at `&` or `\\\\` outside braces and inner environments."""
    parts, depth, last = [], 0, 0
    token = r"\\(?P<edge>begin|end)\s*\{[^{}]*\}|\\\\(?:\[[^\]]*\])?|\\.|(?P<brace>[{}])|&"
    for found in re.finditer(token, text, re.DOTALL):
        if found["edge"] or found["brace"]:
            depth = max(0, depth + (1 if (found["edge"] or found["brace"]) in ("begin", "{") else -1))
        elif depth == 0 and found[0].startswith(separator):
            parts.append(text[last : found.start()])
            last = found.end()
    return [*parts, text[last:]]


def _rows(body: str) -> Table:
    """Rows and cells; a cell below a `\\multirow` that is empty belongs to it."""
    table = Table()
    covered: dict[int, int] = {}
    for line in _split(_RULES.sub("", body), "\\\\"):
        if not line.strip():
            continue
        row: list[Cell] = []
        column = 0
        for raw in _split(line, "&"):
            cell = _cell(raw.strip())
            if covered.get(column, 0) > 0 and not cell.content:
                covered.update({c: covered.get(c, 0) - 1 for c in range(column, column + cell.colspan)})
            else:
                covered.update(dict.fromkeys(range(column, column + cell.colspan), cell.rowspan - 1))
                row.append(cell)
            column += cell.colspan
        table.rows.append(row)
    return table.settle()


def _cell(raw: str) -> Cell:
    cell = Cell()
    while True:
        if found := re.match(r"\\multicolumn\s*\{\s*(\d{1,6})\s*\}\s*\{", raw):
            cell.colspan = max(1, min(int(found[1]), MAX_SPAN))
            raw = raw[_group_end(raw, found.end() - 1) :].strip()
        elif found := re.match(r"\\multirow\s*(?:\[[^\]]*\])?\{\s*(\d{1,6})\s*\}\s*(?:\[[^\]]*\])?\{", raw):
            cell.rowspan = max(1, min(int(found[1]), MAX_SPAN))
            raw = raw[_group_end(raw, found.end() - 1) :].strip()
        elif raw.startswith("{") and _group_end(raw, 0) == len(raw) and raw.endswith("}"):
            raw = raw[1:-1].strip()
        else:
            cell.content = tags.clean_cell("".join(part.text for part in scan(_content(raw))))
            return cell


def _content(raw: str) -> str:
    """Text of a cell: commands of text become tags, escapes are resolved, formulas stay."""
    parts: list[str] = []
    position = 0
    while found := _CELL_TOKEN.search(raw, position):
        parts.append(raw[position : found.start()])
        position = found.end()
        if found[1] in _WRAPS:
            stop = _group_end(raw, position - 1)
            before, behind = _WRAPS[found[1]]
            inner = raw[position : stop - 1] if raw[stop - 1 : stop] == "}" else raw[position:]
            parts.append(before + _content(inner) + behind)
            position = stop
        elif found[1] is None and found[2]:
            parts.append("&amp;" if found[2] == "&" else found[2])
        else:
            parts.append(_PLAIN.get(found[0], found[0]))
    return "".join([*parts, raw[position:]])
