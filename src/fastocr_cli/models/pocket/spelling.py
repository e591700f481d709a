"""How well each token of the vocabulary spells what is printed.

A copy mechanism (pointer-generator networks, arXiv 1704.04368): the decoder need not know how a word is spelled that
stands on the page. Shared by reading and by training. Knows nothing of the decoder.
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import Tensor

from fastocr_cli.models.pocket.cells import CLASS_OF, NUM_CLASSES, class_of
from fastocr_cli.models.pocket.latex import PRINTED

NOTHING = NUM_CLASSES
"""The class after the end of a token: it fits whatever is printed there."""

MAX_LETTERS = 8
"""Letters of a token that are compared with the page."""

LEAST_LETTER, LEAST_TOKEN = -3.5, -9.0
"""A letter and a token that do not fit: log probabilities that another head can still outvote."""

TOLD = 3
"""How much more the print counts where the page names its letters: the decoder hardly knows those beyond ASCII."""

MARKS = frozenset("#`*$-\\{}^_|")
"""Tokens of these alone are Markdown or LaTeX more often than print."""


@dataclass
class Spelling:
    """The vocabulary, letter by letter."""

    letters: Tensor
    """(vocabulary, MAX_LETTERS): the classes of each token's letters, after the last one NOTHING.

    Tokens that print nothing (tags, blanks, single bytes beyond ASCII) have no letters; commands have those of the sign
    that they print.
    """
    compared: Tensor
    """The same, with no letters for tokens of marks alone: whether these are printed the page does not tell."""
    signs: Tensor
    """(vocabulary,): 0.5 for tokens with letters after a blank and for the blank alone, -0.5 for letters without, 0 for
    what prints nothing."""
    ends: Tensor
    """(vocabulary,), bool: the token ends with a blank or a line, or is LaTeX: after it, blanks do not matter."""

    @classmethod
    def of(cls, tokenizer: Tokenizer, vocab_size: int) -> "Spelling":
        letters = torch.full((vocab_size, MAX_LETTERS), NOTHING)
        signs, ends = torch.zeros(vocab_size), torch.zeros(vocab_size, dtype=torch.bool)
        unprinted = set(tokenizer.get_added_tokens_decoder())
        texts = [tokenizer.decode([token], skip_special_tokens=False) for token in range(tokenizer.get_vocab_size())]
        for token, text in enumerate(texts):
            ends[token] = text[-1:].isspace() or token in unprinted or text.strip() in {"{", "}"}
            printed = PRINTED.get(text, "" if token in unprinted or "\ufffd" in text else text.strip())
            classes = [class_of(char) for char in printed[:MAX_LETTERS]]
            letters[token, : len(classes)] = torch.tensor(classes, dtype=torch.long)
        compared = without_marks(letters)
        for token, text in enumerate(texts):
            if compared[token, 0] != NOTHING or text == " ":
                signs[token] = 0.5 if text.startswith(" ") else -0.5
        return cls(letters, compared, signs, ends)


def without_marks(letters: Tensor) -> Tensor:
    """Spellings (vocabulary, MAX_LETTERS) with no letters for tokens of marks alone."""
    marks = torch.tensor([*(CLASS_OF[mark] for mark in sorted(MARKS)), NOTHING], device=letters.device)
    return letters.masked_fill(torch.isin(letters, marks).all(-1, keepdim=True), NOTHING)


def spelled(scores: Tensor) -> Tensor:
    """Log probabilities of classes (..., classes) with that of NOTHING, (..., classes + 1)."""
    return F.pad(scores, (0, 1))


def fits(window: Tensor, letters: Tensor) -> Tensor:
    """How well each token spells what is printed, at most 0: (..., MAX_LETTERS, classes + 1) to (..., vocabulary)."""
    total = window[..., 0, :].index_select(-1, letters[:, 0])
    for number in range(1, MAX_LETTERS):
        total += window[..., number, :].index_select(-1, letters[:, number])
    return total.clamp(min=LEAST_TOKEN)


def sharpened(scores: Tensor, fit: Tensor, printed: Tensor) -> Tensor:
    """Scores (..., vocabulary) in which the tokens at `printed` are told apart by `fit` once more, TOLD times as much.

    That something is printed stays as likely as it was, against tags, marks and the end: only which token it is is
    decided by the print. For pages whose letters are known; what a trunk saw may be outvoted.
    """
    among = scores[..., printed]
    fitting = among + TOLD * fit[..., printed]
    change = among.logsumexp(-1, keepdim=True) - fitting.logsumexp(-1, keepdim=True)
    return scores.index_copy(-1, printed, fitting + change)
