"""A reply that ends before its page does, at the token limit or where it began to repeat: keep what is good of it."""

import re

MAX_PERIOD = 2000
MIN_REPEATS = 4
MIN_REPEATED = 80
"""Characters. Shorter runs happen on real pages."""
_OPEN_TAG = re.compile(r"<(?:/?[A-Za-z][^<>]{0,200}|!--[^<>]{0,2000}|/|!-{0,2})?\Z")


def cut_page(text: str) -> str:
    """`text` without the repetition and the half-written tag, command or formula at its end; tables and fences closed.

    Raw text of a model in, raw text out: `clean_page` makes it Markdown. Whole text comes back as it is.
    """
    text = drop_repetition(text)
    text = _OPEN_TAG.sub("", text).rstrip()
    text = re.sub(r"\\[A-Za-z]*\Z", "", text)
    text = _without_open_formula(text)
    fence = _open_fence(text)
    if fence:
        return f"{text}\n{fence}"
    opened, closed = (len(re.findall(rf"<{slash}table(?![\w-])", text, re.IGNORECASE)) for slash in ("", "/"))
    return text + "</td></tr></table>" * (opened - closed)


def drop_repetition(text: str) -> str:
    """`text` with a stretch that repeats up to its end cut down to its first round.

    The period may be anything from a letter to MAX_PERIOD characters; the last round may be unfinished.
    """
    for period in range(1, min(MAX_PERIOD, len(text) // MIN_REPEATS) + 1):
        if text[-period:] != text[-2 * period : -period]:
            continue
        start = len(text) - 2 * period
        while start >= period and text[start - period : start] == text[-period:]:
            start -= period
        while start > 0 and text[start - 1] == text[start - 1 + period]:
            start -= 1
        repeated = len(text) - start
        if repeated >= max(MIN_REPEATS * period, MIN_REPEATED):
            return text[: _natural_end(text, start + period, period)]
    return text


def _natural_end(text: str, end: int, period: int) -> int:
    """The end of the first round, moved on to where a sentence, a cell or a line ends, if one does within a round."""
    if text[end - 1] in "\n>.!?":
        return end
    found = re.compile(r"[.!?。>\n]").search(text, end, end + period - 1)
    return found.end() if found else end


def _without_open_formula(text: str) -> str:
    """Cut off a display formula that was begun and never finished."""
    opening = text.rfind("$$")
    if opening >= 0 and text.count("$$") % 2 and "\n\n" not in text[opening:]:
        return text[:opening].rstrip()
    opening = text.rfind("\\[")
    if opening >= 0 and "\\]" not in text[opening:] and "\n\n" not in text[opening:]:
        return text[:opening].rstrip()
    return text


def _open_fence(text: str) -> str:
    """The marks that close the fence which is open at the end of `text`, or nothing."""
    marks = ""
    for line in text.split("\n"):
        found = re.match(r"[ \t]*(`{3,}|~{3,})([^`]*)$", line)
        if found and not marks:
            marks = found[1]
        elif found and found[1].startswith(marks) and not found[2].strip():
            marks = ""
    return marks
