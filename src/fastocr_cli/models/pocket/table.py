"""A table's tags: which may come next, so that rows and cells are well-formed.

Knows tokens by the tags in them; nothing of the page.
"""

import re

import torch

NONE = ""
"""Before the first table."""

END = "</table"
FOLLOWING = {
    NONE: ("<table",),
    "<table": ("<tr",),
    "<tr": ("<td", "<th"),
    "<td": ("</td",),
    "<th": ("</th",),
    "</td": ("<td", "<th", "</tr"),
    "</th": ("<td", "<th", "</tr"),
    "</tr": ("<tr", END),
    END: ("<table",),
}
"""What comes after each tag."""

TEXT_AFTER = {NONE, "<td", "<th", END}


class Tags:
    """The tags of a vocabulary."""

    def __init__(self, vocabulary: dict[str, int], vocab_size: int) -> None:
        names = {i: re.findall(r"</?t\w+", token) for token, i in vocabulary.items() if token[:1] == "<"}
        names = {i: found for i, found in names.items() if found}
        self.last = {i: found[-1] for i, found in names.items()}
        """Of each token of tags, the name of its last one."""
        self.rows = {i for i, found in names.items() if "<tr" in found}
        """Tokens that begin a row."""
        self.tokens = torch.zeros(vocab_size, dtype=torch.bool)
        self.tokens[list(names)] = True
        self.unfit = {}
        """Of each tag, the tokens (vocabulary,) that cannot follow it."""
        for tag, following in FOLLOWING.items():
            fit = [i for i, found in names.items() if found[0] in following]
            self.unfit[tag] = self.tokens.clone() if tag in TEXT_AFTER else torch.ones(vocab_size, dtype=torch.bool)
            self.unfit[tag][fit] = False


def is_open(tag: str) -> bool:
    """Whether a table goes on after its tag."""
    return tag not in {NONE, END}
