"""`--pages 1-3,7,10-`: what the user typed, and which pages of a document it means. Knows no documents."""

from fastocr_cli.errors import ConfigError

Span = tuple[int, int | None]
"""First and last page, 1-based and inclusive; a last of None is the end of the document."""


def parse_pages(text: str | None) -> tuple[Span, ...]:
    """The spans of `1-3,7,10-`, `-5` (the first five), ascending and merged; None or all is everything.

    Raises:
        ConfigError: not a list of page numbers, a page 0, or a span that runs backwards.
    """
    if text is None:
        return ((1, None),)
    spans = sorted((_parse_span(part.strip(), text) for part in text.split(",")), key=lambda span: span[0])
    merged: list[Span] = []
    for first, last in spans:
        if merged and (merged[-1][1] is None or first <= merged[-1][1] + 1):
            end = merged[-1][1]
            merged[-1] = (merged[-1][0], None if end is None or last is None else max(end, last))
        else:
            merged.append((first, last))
    return tuple(merged)


def select_pages(spans: tuple[Span, ...], num_pages: int) -> tuple[range, ...]:
    """The page numbers that `spans` choose from a document of `num_pages`; empty if none is left."""
    clipped = (range(first, min(num_pages if last is None else last, num_pages) + 1) for first, last in spans)
    return tuple(numbers for numbers in clipped if numbers)


def _parse_span(part: str, text: str) -> Span:
    first, dash, last = (side.strip() for side in part.partition("-"))
    if not (first or last) or any(side and not (side.isascii() and side.isdecimal()) for side in (first, last)):
        raise _bad(text, f"{part!r} is no page number or range")
    if "0" in {side.lstrip("0") or "0" for side in (first, last) if side}:
        raise _bad(text, "pages are counted from 1")
    start = int(first or 1)
    end = (int(last) if last else None) if dash else start
    if end is not None and end < start:
        raise _bad(text, f"{part!r} runs backwards")
    return start, end


def _bad(text: str, why: str) -> ConfigError:
    return ConfigError(f"--pages is {text!r}: {why}.", "Write it like 1-3,7,10-.")
