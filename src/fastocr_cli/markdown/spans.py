"""Prose of a page, cut into spans: text, code, formulas, tags, dollars, breaks. Fences and tables are gone by now.

Every rule of escaping is then a rule about one kind of span, so nothing inside code or a formula is touched.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from fastocr_cli.markdown import formulas, tags

BREAK = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")
_TOKEN = re.compile(
    r"(?P<bracket>\\\[)|(?P<paren>\\\()|(?P<environment>\\begin\s*\{)|(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>`+)|(?P<dollars>\$\$)|(?P<dollar>\$)|(?P<tag><)|(?P<gap>\n[ \t]*(?:\n[ \t]*)+)"
)


class Span(NamedTuple):
    """`kind`: text, code, inline or display (formulas), tag, less, dollar, ticks, escape, break."""

    kind: str
    text: str


def scan(text: str) -> list[Span]:
    """All of `text`, in order; formulas already in the house notation."""
    spans: list[Span] = []
    position = 0
    while found := _TOKEN.search(text, position):
        if found.start() > position:
            spans.append(Span("text", text[position : found.start()]))
        span, position = _read(text, found)
        if span.kind == "inline" and spans and spans[-1].kind == "inline":
            spans.append(Span("text", " "))  # `$a$$b$` is read as a display formula by many
        spans.append(span)
    if position < len(text):
        spans.append(Span("text", text[position:]))
    return spans


def paragraphs(spans: list[Span]) -> Iterator[list[Span]]:
    """Spans between breaks; each break comes alone."""
    current: list[Span] = []
    for span in spans:
        if span.kind == "break":
            yield current
            yield [span]
            current = []
        else:
            current.append(span)
    yield current


def code_end(text: str, start: int) -> int:
    """Where the code span that begins with the backticks at `start` ends; `start` itself if it never does.

    Code spans of one line only: a pair of backticks over several lines is far more often two strays.
    """
    ticks = re.compile(r"`+").match(text, start)
    assert ticks is not None, "called at a backtick"
    line_end = text.find("\n", start)
    for closing in re.compile(r"`+").finditer(text, ticks.end(), line_end if line_end >= 0 else len(text)):
        if len(closing[0]) == len(ticks[0]):
            return closing.end()
    return start


def _read(text: str, found: re.Match[str]) -> tuple[Span, int]:
    """The span that begins at a token, and where it ends."""
    start, end = found.span()
    match found.lastgroup:
        case "gap":
            result = Span("break", "\n\n"), end
        case "code":
            stop = code_end(text, start)
            result = (Span("code", text[start:stop]), stop) if stop > start else (Span("ticks", found[0]), end)
        case "dollars" | "dollar":
            result = _dollar(text, start)
        case "environment":
            result = _environment(text, start, end)
        case "paren" | "bracket":
            result = _delimited(text, start, found[0])
        case "tag":
            result = _tag(text, start)
        case _:
            result = Span("escape", found[0]), end
    return result


def _tag(text: str, start: int) -> tuple[Span, int]:
    if tag := tags.TAG.match(text, start):
        return Span("tag", tag[0]), tag.end()
    return Span("less" if tags.OPENS.match(text, start) else "text", "<"), start + 1


def _dollar(text: str, start: int) -> tuple[Span, int]:
    """A formula in dollars, or a single dollar of the page's prose."""
    if text.startswith("$$", start):
        stop = _unescaped(text, "$$", start + 2, len(text))
        if stop >= 0 and formulas.is_display(text[start + 2 : stop]):
            return Span("display", formulas.display(text[start + 2 : stop])), stop + 2
        return Span("dollar", "$$"), start + 2
    stop = _unescaped(text, "$", start + 1, len(text))
    if stop >= 0 and not BREAK.search(text, start, stop):
        body = text[start + 1 : stop]
        if formulas.is_inline(body, text[start - 1 : start], text[stop + 1 : stop + 2]):
            return Span("inline", formulas.inline(body)), stop + 1
    return Span("dollar", "$"), start + 1


def _delimited(text: str, start: int, opening: str) -> tuple[Span, int]:
    r"""A formula in `\( \)` or `\[ \]`; left alone where its inside isn't one: escaped brackets are print."""
    stop = _unescaped(text, r"\)" if opening == r"\(" else r"\]", start + 2, len(text))
    if stop < 0:
        return Span("escape", opening), start + 2
    body, before, after = text[start + 2 : stop], text[:start], text[stop + 2 :]
    if opening == r"\[":
        around = before[before.rfind("\n") + 1 :] + after.partition("\n")[0]
        if formulas.is_bracketed(body, alone=not around.strip(" \t>-.,;")):
            return Span("display", formulas.display(body)), stop + 2
    elif not BREAK.search(body) and formulas.is_inline(body.strip(), before[-1:], after[:1]):
        return Span("inline", formulas.inline(body)), stop + 2
    return Span("escape", opening), start + 2


def _environment(text: str, start: int, end: int) -> tuple[Span, int]:
    """An equation environment that stands outside dollars."""
    if found := formulas.ENVIRONMENT.match(text, start):
        stop = formulas.environment_end(text, found)
        if stop >= 0:
            body = text[start:stop]
            if found[1] == "math":
                return Span("inline", formulas.inline(formulas.nestable(body))), stop
            if formulas.is_display(body):
                return Span("display", formulas.display(body)), stop
    return Span("text", text[start:end]), end


def _unescaped(text: str, closing: str, start: int, end: int) -> int:
    """Where `closing` next stands without a backslash before it, or -1."""
    position = start
    while (position := text.find(closing, position, end)) >= 0:
        slash = position
        while slash > start and text[slash - 1] == "\\":
            slash -= 1
        if (position - slash) % 2 == 0:
            return position
        position += 1
    return -1
