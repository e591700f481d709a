"""Figures: where one stands in a page's text before it has been cropped to a file.

The text holds `![caption](figure:1)`; the number counts the page's blocks of category `picture`, from 1.
"""

import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"!\[(?P<caption>(?:[^\[\]\\\n]|\\.)*)\]\(figure:(?P<number>\d+)\)")


def placeholder(number: int, caption: str = "") -> str:
    """The mark for figure `number` (from 1)."""
    caption = " ".join(re.sub(r"[\[\]\\]", " ", caption).split())
    return f"![{caption}](figure:{number})"


def figure_numbers(markdown: str) -> list[int]:
    """The figures that a page's text refers to, ascending."""
    return sorted({int(found["number"]) for found in _PLACEHOLDER.finditer(markdown)} - {0})


def link_figures(markdown: str, paths: Mapping[int, str]) -> str:
    """Each placeholder as a link to its file (path relative to the Markdown); one without a file leaves its caption."""

    def link(found: re.Match[str]) -> str:
        path = paths.get(int(found["number"]))
        return f"![{found['caption']}]({path.replace(' ', '%20')})" if path else found["caption"]

    linked = _PLACEHOLDER.sub(link, markdown)
    return re.sub(r"\n{3,}", "\n\n", linked).strip("\n") if linked != markdown else markdown
