"""Prose of a page as clean Markdown: what was printed shows as printed, what is markup works.

Escapes only where a Markdown renderer would go wrong, so text stays searchable.
"""

import re

from fastocr_cli.markdown import tags
from fastocr_cli.markdown.spans import Span, code_end, paragraphs, scan

_DUNDER = re.compile(r"(?<![\w\\])__(?=[a-z]\w*[a-z]__(?!\w))|(?<=[a-z])__(?!\w)")
_TILDES = re.compile(r"~{3,}")
_TIMES = re.compile(r"(?<=\d)\*(?=\d)")
_YEAR = re.compile(r"(?P<start>\A|\n)(?P<number>[ \t]*\d{4,9})\.(?=\s)")
_DEFINITION = re.compile(r"(?P<start>\A|\n)(?P<label>[ ]{0,3}\[[^\]\n^][^\]\n]*\]):(?=[ \t]*\S+[ \t]*(?:\n|\Z))")
_REMOTE_IMAGE = re.compile(r"!(?=\[[^\]\n]*\]\(\s*(?:[a-z][a-z0-9+.-]*:(?!\d+\))|//))", re.IGNORECASE)
_ACTIVE_LINK = re.compile(r"\](?=\(\s*(?:javascript|vbscript|data)\s*:)", re.IGNORECASE)


def clean_prose(text: str, everywhere: bool = False) -> str:
    """`text` without code fences and tables. `everywhere`: escape a lone dollar or backtick too (cells of one row)."""
    text = tags.drop_wrappers(text, code_end)
    spans = scan(text)
    literal = tags.prints_tags("".join(span.text for span in spans if span.kind == "tag"))
    cleaned = [_paragraph(spans, literal, everywhere) for spans in paragraphs(spans)]
    return re.sub(r"\n[ \t]*(?:\n[ \t]*)+", "\n\n", "".join(cleaned))


def _paragraph(spans: list[Span], literal: bool, everywhere: bool) -> str:
    """One paragraph. `literal`: the page writes print unescaped, so an entity is print as well."""
    read = [tags.Tag.read(found) for span in spans if span.kind == "tag" if (found := tags.TAG.match(span.text))]
    paired = tags.pair(read)
    dollars = sum(span.kind in ("dollar", "inline", "display") for span in spans)
    ticks = sum(span.kind in ("ticks", "code") for span in spans)
    parts: list[str] = []
    num_tags = 0
    for span in spans:
        at_line_start = not parts or parts[-1].endswith("\n")
        match span.kind:
            case "text":
                parts.append(_text(span.text, literal, at_line_start))
            case "tag":
                parts.append(_tag(read[num_tags], num_tags in paired))
                num_tags += 1
            case "less":
                parts.append("&lt;")
            case "dollar" if dollars > 1 or everywhere or len(span.text) > 1:
                parts.append(span.text.replace("$", r"\$"))
            case "ticks" if ticks > 1 or everywhere or len(span.text) > 2:
                parts.append(span.text.replace("`", r"\`"))
            case _:
                parts.append(span.text)
    # a line that is nothing but `<br>` would open an HTML block and swallow the Markdown after it
    return re.sub(r"(?m)^[ \t]*(?:<br>[ \t]*)+$", "\n", "".join(parts))


def _tag(tag: tags.Tag, paired: bool) -> str:
    if tag.name == "br":
        return "<br>"
    if paired:
        return f"</{tag.name}>" if tag.closing else f"<{tag.name}>"
    return tags.shown(tag.raw)


def _text(text: str, literal: bool, at_line_start: bool) -> str:
    """Plain text: marks that Markdown would take for its own, though nobody meant them so."""
    if literal:
        text = tags.ENTITY.sub("&amp;", text)
    text = _TILDES.sub(lambda found: "\\~" * len(found[0]), text)
    text = _TIMES.sub(r"\\*", _DUNDER.sub(r"\\_\\_", text))
    text = _ACTIVE_LINK.sub("] ", _REMOTE_IMAGE.sub(r"\\!", text))
    for pattern in (_YEAR, _DEFINITION):
        text = pattern.sub(lambda found: _marked(found, at_line_start), text)
    return text


def _marked(found: re.Match[str], at_line_start: bool) -> str:
    """A number or label whose mark gets a backslash, if it really begins a line."""
    if not found["start"] and not at_line_start:
        return found[0]
    return found[0][:-1] + "\\" + found[0][-1]
