"""Tags in a model's reply: which are markup that stays, which are wrappers to drop, which were printed on the page.

A page may print `<snip>` or `<script>` as text. Whatever is not known markup is shown as text, so nothing active
and nothing half-open ever leaves a page. This file knows nothing of Markdown or of tables' structure.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass

INLINE = frozenset({"b", "strong", "i", "em", "u", "sub", "sup"})
"""Kept, without attributes, where they open and close in the same paragraph or cell."""
SHELL = frozenset({"html", "head", "body", "meta", "link", "title"})
BLOCKS = frozenset(
    {"div", "p", "center", "section", "article", "main", "header", "footer", "figure", "figcaption"}
    | {"ul", "ol", "li", "dl", "dt", "dd", "details", "summary"}
)
PLAIN = frozenset({"span", "font", "a", "small", "big", "label", "code", "tt"})
"""Wrappers inside a line: dropped, their text stays."""
TABLE = frozenset({"table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption", "colgroup", "col"})
KNOWN = INLINE | SHELL | BLOCKS | PLAIN | TABLE | {"br", "hr", "img", "h1", "h2", "h3", "h4", "h5", "h6"}

TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z][A-Za-z0-9-]*)(?P<attrs>(?:\s[^<>]*)?)/?>")
OPENS = re.compile(r"<(?=[A-Za-z/!?])")
"""A `<` that HTML takes for the start of a tag, a comment or an instruction."""
ENTITY = re.compile(r"&(?=(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});)")
_DOCTYPE = r"<!doctype[^<>]*>"
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


@dataclass(frozen=True)
class Tag:
    """One tag as it stands in the reply."""

    raw: str
    name: str
    closing: bool
    attrs: str

    @classmethod
    def read(cls, found: re.Match[str]) -> "Tag":
        return cls(found[0], found["name"].lower(), bool(found["close"]), found["attrs"].strip())

    @property
    def attributed(self) -> bool:
        """Written with an attribute: a model's markup, hardly ever print."""
        return "=" in self.attrs


def shown(raw: str) -> str:
    """`raw` as Markdown text in which no tag opens; escaped once, `&` untouched."""
    return OPENS.sub("&lt;", raw)


def pair(tags: list[Tag]) -> set[int]:
    """Indices of the inline tags that open and close each other, properly nested."""
    paired: set[int] = set()
    open_tags: list[int] = []
    for index, tag in enumerate(tags):
        if tag.name not in INLINE:
            continue
        if not tag.closing:
            open_tags.append(index)
            continue
        place = next((n for n in range(len(open_tags) - 1, -1, -1) if tags[open_tags[n]].name == tag.name), None)
        if place is not None:
            paired |= {open_tags[place], index}
            del open_tags[place:]
    return paired


def clean_cell(text: str, literal: bool = False) -> str:
    """The content of a table cell as well-formed HTML on one line; line breaks become `<br>`.

    `literal`: the reply writes print unescaped, so an entity in it is print as well.
    """
    tags = [Tag.read(found) for found in TAG.finditer(text)]
    paired = pair(tags)
    parts: list[str] = []
    position = 0
    for index, found in enumerate(TAG.finditer(text)):
        parts.append(_escape(text[position : found.start()], literal))
        parts.append(_cell_tag(tags[index], index in paired))
        position = found.end()
    parts.append(_escape(text[position:], literal))
    lines = [" ".join(line.split()) for line in "".join(parts).split("\n")]
    return "<br>".join(line for line in lines if line)


def _cell_tag(tag: Tag, paired: bool) -> str:
    """Inside a table known tags are markup; an inline tag without its partner, or an unknown one, is print."""
    if paired:
        return f"</{tag.name}>" if tag.closing else f"<{tag.name}>"
    if tag.name == "li" and not tag.closing:
        return "\n- "
    if tag.name in BLOCKS or re.fullmatch(r"br|hr|h\d", tag.name):
        return "\n"
    if tag.name in PLAIN | SHELL | TABLE or (tag.name == "img" and tag.attrs):
        return ""
    return _escape(tag.raw, literal=False)


def _escape(text: str, literal: bool) -> str:
    """Text of a cell, `&`, `<` and `>` escaped exactly once."""
    text = text.replace("&", "&amp;") if literal else re.sub(rf"&(?!{ENTITY.pattern[1:]})", "&amp;", text)
    return text.replace("<", "&lt;").replace(">", "&gt;")


def prints_tags(text: str) -> bool:
    """Whether unknown tags stand in `text` unescaped: the reply copies print letter by letter."""
    return any(found["name"].lower() not in KNOWN for found in TAG.finditer(text))


def drop_wrappers(text: str, keep: Callable[[str, int], int]) -> str:
    """Prose without document shells and layout wrappers; `<h2>` becomes a heading, a block's edge a blank line.

    `keep(text, position)` returns where verbatim text that begins at `position` ends (code), or `position`.
    A wrapper is a tag with attributes, or one at the edge of a line whose partner is on the page; others are print.
    """
    at_edge = _edges(text)
    names = {(t.name, t.closing) for t in map(Tag.read, TAG.finditer(text))}
    parts: list[str] = []
    position = 0
    for found in re.finditer(_DOCTYPE + r"|\\<|`+|" + TAG.pattern, text, re.IGNORECASE):
        if found.start() < position:
            continue
        if found[0][0] in "`\\":
            end = keep(text, found.start()) if found[0][0] == "`" else found.end()
            parts.append(text[position : max(end, found.end())])
            position = max(end, found.end())
            continue
        if found[0][:2] == "<!":
            replacement: str | None = "" if at_edge(found.start(), found.end()) else None
        else:
            tag = Tag.read(found)
            both = (tag.name, True) in names and (tag.name, False) in names
            replacement = _wrapper(tag, both, at_edge(found.start(), found.end()))
        parts.append(text[position : found.start()])
        parts.append(found[0] if replacement is None else replacement)
        position = found.end()
    parts.append(text[position:])
    return re.sub(r"\s*\0", "\n", "".join(parts)).replace("\1\n", "").replace("\1", "")


def _wrapper(tag: Tag, both: bool, at_edge: bool) -> str | None:
    """What stands for the tag in Markdown, or None where it isn't a wrapper."""
    if (tag.name in SHELL and (at_edge or tag.attributed)) or (tag.name in TABLE and tag.closing and at_edge):
        return "\n\n"
    if tag.name == "img" and tag.attributed:
        return ""
    if tag.name in {"span", "font", "a"} and both and (tag.closing or tag.attributed):
        return ""  # `<a>` without attributes is print
    return _block_edge(tag) if both and (at_edge or tag.attributed) else None


def _block_edge(tag: Tag) -> str | None:
    """The Markdown of a heading's, an item's or a block's edge; None for other tags. NUL begins a line, \\1 a list."""
    if re.fullmatch(r"h[1-6]", tag.name):
        return "\n\n" if tag.closing else "\n\n" + "#" * int(tag.name[1]) + " "
    if tag.name == "li":
        return "" if tag.closing else "\0- "
    if tag.name in {"ul", "ol"} and not tag.closing:
        return "\n\n\1"
    return "\n\n" if tag.name in BLOCKS else None


def _edges(text: str) -> Callable[[int, int], bool]:
    """A test whether only blanks and other tags lie between a tag and the start or the end of its line."""
    without = re.sub(rf"{_DOCTYPE}|{TAG.pattern}", lambda found: " " * len(found[0]), text, flags=re.IGNORECASE)
    starts, inked = [0], []
    for line in without.split("\n"):
        ink = len(line) - len(line.lstrip()), len(line.rstrip())
        inked.append((starts[-1] + ink[0], starts[-1] + ink[1]))
        starts.append(starts[-1] + len(line) + 1)

    def at_edge(start: int, end: int) -> bool:
        first, last = inked[bisect_right(starts, start) - 1]
        return start < first or end > last

    return at_edge
