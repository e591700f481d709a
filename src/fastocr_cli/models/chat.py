"""From an instruction and a number of visual tokens to token ids, and back: chat templates without their engine.

Knows ChatML, special tokens and tokenizers; knows no pixels and no network.
"""

import logging
import re
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from tokenizers import Tokenizer

from fastocr_cli.errors import ModelError
from fastocr_cli.models import Checkpoint

logger = logging.getLogger("fastocr")

STOP_TOKENS = ("<|im_end|>", "<|endoftext|>")
_MARKS = re.compile(r"[ĠĊĉ.·_\-=*|<>/&:]*(?:t[drh]|table|thead|tbody|nbsp)?[ĠĊĉ.·_\-=*|<>/;]*")
"""Spellings, in a byte-level vocabulary, of table tags, blanks, rules and dot leaders."""


@dataclass(frozen=True)
class ChatFormat:
    """A family's flavour of ChatML."""

    image_token: str
    before_image: str = ""
    after_image: str = ""
    after_role: str = "\n"
    after_turn: str = "\n"


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of `tokenizer.json`.

    Raises:
        ModelError: the file is missing or broken.
    """
    path = folder / "tokenizer.json"
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises bare Exception
        raise ModelError(f"{path} is no tokenizer: {error}", "Download the model again.") from error


def token_id(tokenizer: Tokenizer, token: str) -> int:
    """The id of a special token.

    Raises:
        ModelError: the tokenizer has no such token.
    """
    found: int | None = tokenizer.token_to_id(token)
    if found is None:
        raise ModelError(f"The tokenizer has no token {token}: these weights are of another family.")
    return found


def page_instruction(checkpoint: Checkpoint, prompt: str | None) -> str:
    """What the model is asked: the user's words, else the maker's own where their package is installed, else ours."""
    if prompt is not None:
        return prompt
    module, _, name = checkpoint.official.partition(":")
    name, _, key = name.partition(".")
    try:
        if module and find_spec(module.partition(".")[0]):
            found = getattr(import_module(module), name)
            return str(found[key] if key else found())
    except (ImportError, AttributeError, KeyError, TypeError) as error:
        logger.warning("The instruction of %s was not to be had (%s): ours is used.", checkpoint.official, error)
    return checkpoint.instruction


def page_text(checkpoint: Checkpoint, form: ChatFormat, prompt: str | None) -> tuple[str, str]:
    """A ChatML conversation that ends where the answer begins: what stands before and after the visual tokens."""
    turn = f"<|im_end|>{form.after_turn}"
    system = f"<|im_start|>system{form.after_role}{checkpoint.system}{turn}" if checkpoint.system else ""
    start, end = f"{system}<|im_start|>user{form.after_role}", f"{turn}<|im_start|>assistant\n"
    asked = page_instruction(checkpoint, prompt)
    if checkpoint.image_first:
        return start + form.before_image, form.after_image + asked + end
    return start + asked + form.before_image, form.after_image + end


def page_ids(tokenizer: Tokenizer, form: ChatFormat, text: tuple[str, str], num_visual: int) -> list[int]:
    """Token ids of the conversation. A special token parts the text, so its sides are encoded one by one."""
    before, after = (tokenizer.encode(part, add_special_tokens=False).ids for part in text)
    return [*before, *[token_id(tokenizer, form.image_token)] * num_visual, *after]


def stop_token_ids(tokenizer: Tokenizer) -> frozenset[int]:
    """The tokens that end an answer, as far as the tokenizer has them."""
    found = (tokenizer.token_to_id(token) for token in STOP_TOKENS)
    return frozenset(index for index in found if index is not None)


def repeatable(tokenizer: Tokenizer) -> frozenset[int]:
    """Tokens that good text repeats: table tags, blanks, rules, dot leaders."""
    return frozenset(index for token, index in tokenizer.get_vocab().items() if _MARKS.fullmatch(token))
