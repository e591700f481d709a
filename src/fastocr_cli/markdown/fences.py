"""Code fences of a page: the one around the whole page goes, real ones stay and are closed."""

import re
from collections.abc import Iterator
from typing import NamedTuple

_OPENING = re.compile(r"^(?P<indent>[ \t]*)(?P<marks>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)$")
_WRAPPERS = {"markdown", "md", "mdx"}
_CODE_LINE = re.compile(r"^(?:\s{2,}\S|.*[;{}]\s*$|\s*[$#>]\s|.*\w\(.*\)|.*\s=\s)")


class Part(NamedTuple):
    """A stretch of the page: verbatim code with its fences, or anything else."""

    is_code: bool
    text: str


def split(text: str) -> Iterator[Part]:
    """Fenced code and what lies between. An open fence is closed at the end of the page.

    An open fence without a language before what reads as prose was three backticks in print: no fence.
    """
    lines = text.split("\n")
    pending: list[str] = []
    index = 0
    while index < len(lines):
        opening = _OPENING.match(lines[index])
        end = _closing(lines, index, opening["marks"]) if opening else index
        if opening and end == len(lines) and not _is_fence(opening["info"].strip(), lines[index + 1 :]):
            opening = None
        if opening is None:
            pending.append(lines[index])
            index += 1
            continue
        if pending:
            yield Part(False, "\n".join(pending))
            pending = []
        yield Part(True, _fence(opening, lines[index + 1 : end]))
        index = end + 1
    yield Part(False, "\n".join(pending))


def _closing(lines: list[str], index: int, marks: str) -> int:
    """The line that closes the fence opened at `index`; the number of lines if none does."""
    pattern = re.compile(rf"[ \t]*{re.escape(marks[0])}{{{len(marks)},}}[ \t]*")
    return next((n for n in range(index + 1, len(lines)) if pattern.fullmatch(lines[n])), len(lines))


def _fence(opening: re.Match[str], body: list[str]) -> str:
    """The block moved to the left margin: deeper than three blanks, a fence isn't one."""
    indent = len(opening["indent"])
    while body and not body[-1].strip():
        body.pop()
    body = [line[min(indent, len(line) - len(line.lstrip())) :] for line in body]
    return "\n".join([opening["marks"] + opening["info"].rstrip(), *body, opening["marks"]])


def _is_fence(info: str, rest: list[str]) -> bool:
    """Whether a fence that never closes was meant as one: it names a language, or what follows looks like code."""
    return bool(re.fullmatch(r"[\w+#.-]{1,20}", info)) or (not info and _is_code(rest))


def _is_code(lines: list[str]) -> bool:
    filled = [line for line in lines if line.strip()]
    return bool(filled) and 3 * sum(bool(_CODE_LINE.match(line)) for line in filled) >= len(filled)


def unwrap(text: str) -> str:
    """The page without a fence around it: ```` ```markdown ````, or ```` ```html ```` around tables or a document.

    A line of talk before the fence ("Here is the text:") stays; it is not ours to judge.
    """
    while True:
        lines = text.strip("\n").split("\n")
        first = next((n for n, line in enumerate(lines[:3]) if _OPENING.match(line)), None)
        if first is None or sum(bool(line.strip()) for line in lines[:first]) > 1:
            return text
        opening = _OPENING.match(lines[first])
        assert opening is not None, "found by the same pattern"
        info = opening["info"].strip().lower()
        body = lines[first + 1 :]
        begins = next((line.lstrip().lower() for line in body if line.strip()), "")
        if info not in _WRAPPERS and not (info == "html" and re.match(r"<(?:!doctype|html|body|table|div)\b", begins)):
            return text
        text = "\n".join(lines[:first] + _without_closing(body, opening["marks"]))


def _without_closing(body: list[str], marks: str) -> list[str]:
    """Drop the fence that closes the outer one: the last bare one, if bare ones can't all pair up among themselves."""
    bare = re.compile(rf"[ \t]*{re.escape(marks[0])}{{{len(marks)},}}[ \t]*")
    left: list[int] = []
    index = 0
    while index < len(body):
        inner = _OPENING.match(body[index])
        if inner and inner["info"].strip():
            index = _closing(body, index, inner["marks"])
        elif bare.fullmatch(body[index]):
            left.append(index)
        index += 1
    return body[: left[-1]] + body[left[-1] + 1 :] if len(left) % 2 else body
