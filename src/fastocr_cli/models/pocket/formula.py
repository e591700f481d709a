"""An open formula: which tokens may go on with it, so that all that it opens is closed.

LaTeX that is not well-formed is shown as an error, and often takes a line of prose along. Knows tokens by the marks in
them; nothing of the page.
"""

from dataclasses import dataclass, replace

import torch
from tokenizers import Tokenizer
from torch import Tensor

OPENS, RAISES, CLOSES, BETWEEN = "{", "^{", "}", "}{"
LEFT, RIGHT = "\\left", "\\right"
FRACTION, ROOT = "\\frac", "\\sqrt"
PLAIN = ""
"""What has no mark in it."""

MAX_TOKENS = 120
"""Tokens that a formula has at most; what is longer was opened by mistake."""

DEEPEST = 5
"""What is open within each other at most: models that lost their way write fraction upon fraction."""


class Marks:
    """The marks of a vocabulary."""

    def __init__(self, tokenizer: Tokenizer, vocab_size: int) -> None:
        known = {OPENS, CLOSES, BETWEEN, LEFT, RIGHT, FRACTION, ROOT}
        alike = {"_{": RAISES, RAISES: RAISES} | {mark: mark for mark in known}
        vocabulary = tokenizer.get_vocab()
        texts = {i: tokenizer.decode([i], skip_special_tokens=False).strip() for i in vocabulary.values()}
        self.dollars = {i: vocabulary.get(text, i) for i, text in texts.items() if text in {"$", "$$"}}
        """Of each token that opens a formula, the one that closes it."""
        self.of = {i: alike[text] for i, text in texts.items() if text in alike}
        """Of each token that has one, its mark."""
        self.display = vocabulary.get("$$")
        names = {OPENS, CLOSES, BETWEEN, RIGHT, ")"}
        self.tokens = {text: vocabulary[text] for text in names & vocabulary.keys()}
        """Tokens that close what is open."""
        self.masks = {mark: torch.zeros(vocab_size, dtype=torch.bool) for mark in {RAISES, PLAIN, *known}}
        """Of each mark, its tokens (vocabulary,)."""
        self.opening = torch.zeros(vocab_size, dtype=torch.bool)
        """The tokens (vocabulary,) that open a formula."""
        self.opening[list(self.dollars)] = True
        for token in texts:
            self.masks[self.of.get(token, PLAIN)][token] = True

    def opened_by(self, token: int) -> "Formula":
        closes_with = self.dollars[token]
        return Formula(closes_with, sure=closes_with == self.display)

    def unfit(self, formula: "Formula") -> Tensor:
        """Tokens (vocabulary,), bool, that cannot go on with a formula."""
        return torch.stack([tokens & (not formula.allows(mark)) for mark, tokens in self.masks.items()]).any(0)

    def ending(self, formula: "Formula", token: int) -> int:
        """What to write of a formula where `token` would end it or its line: it, if nothing is left to be closed."""
        if formula.closing:
            return self.tokens.get(formula.closing, token)
        return formula.dollars if formula.sure or token in self.dollars else token


@dataclass(frozen=True)
class Formula:
    """A formula that is being written."""

    dollars: int
    """The token that will close it."""
    sure: bool = False
    """It is set off, or has marks of LaTeX: a single dollar sign alone may be money."""
    num_tokens: int = 0
    opened: tuple[str, ...] = ()
    """What is to be closed, innermost last: OPENS, FRACTION (its numerator), LEFT."""
    last: str = PLAIN
    """The mark before."""

    def after(self, mark: str) -> "Formula":
        opened = self.opened[:-1] if mark in {CLOSES, BETWEEN, RIGHT} else self.opened
        if mark in {OPENS, RAISES, BETWEEN}:
            opened += (FRACTION if self.last == FRACTION else OPENS,)
        elif mark == LEFT:
            opened += (LEFT,)
        sure = self.sure or mark != PLAIN
        return replace(self, sure=sure, num_tokens=self.num_tokens + 1, opened=opened, last=mark)

    def allows(self, mark: str) -> bool:
        if self.last in {FRACTION, ROOT}:
            return mark == OPENS
        if len(self.opened) >= DEEPEST and mark in {OPENS, RAISES, FRACTION, ROOT, LEFT}:
            return False
        if self.last in {LEFT, RIGHT}:  # the bracket
            return mark == PLAIN
        innermost = {CLOSES: OPENS, BETWEEN: FRACTION, RIGHT: LEFT}.get(mark)
        return innermost is None or self.opened[-1:] == (innermost,)

    @property
    def closing(self) -> str:
        """What comes next if it is to end: a mark, a bracket, or nothing."""
        if self.last in {FRACTION, ROOT}:
            return OPENS
        if self.last in {LEFT, RIGHT}:
            return ")"
        return {OPENS: CLOSES, FRACTION: BETWEEN, LEFT: RIGHT}[self.opened[-1]] if self.opened else ""
