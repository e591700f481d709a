"""Trains the tokenizer: python -m training.make_tokenizer DATA tokenizer.json (the shipped one is kept; see README).

Byte-level BPE with single digits, whole table tags, the commands of LaTeX that formulas use, and every character that
the encoder can name as one token.
"""

import argparse
import json
import random
from collections.abc import Iterator
from pathlib import Path

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from fastocr_cli.models.pocket.cells import ASCII, CHARACTERS

SPECIAL = [
    "<|pad|>", "<|im_start|>", "<|im_end|>", "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>",
    "<table>", "</table>", "<tr>", "</tr>", "<td>", "</td>", "<th>", "</th>",
    '<td colspan="2">', '<td rowspan="2">',
]  # fmt: skip
COMMANDS = [
    "alpha", "beta", "gamma", "delta", "epsilon", "lambda", "mu", "sigma", "theta", "omega", "pi", "phi", "Gamma",
    "Delta", "Omega", "Sigma", "frac", "sqrt", "sum", "int", "infty", "left", "right", "sin", "cos", "log", "exp",
    "leq", "geq", "times", "cdot", "approx", "in", "to", "partial", "nabla", "mathbf", "mathrm", "text", "begin",
    "end", "pm", "neq", "rho", "tau", "eta", "psi", "chi", "xi", "zeta", "nu", "kappa", "prod", "lim", "ln", "max",
    "min", "forall", "exists", "cup", "cap", "subset", "rightarrow", "ldots", "hat", "bar", "vec", "dot", "tilde",
    "prime",
]  # fmt: skip
JOINTS = ["^{", "_{", "}{", "$$", "</td><td>", "</td></tr><tr><td>", "</td></tr></table>", "<table><tr><td>"]
WIDER = ['<td colspan="3">', '<td colspan="4">', '<td rowspan="3">']


def samples(paragraphs: list[str]) -> Iterator[str]:
    for paragraph in random.Random(1).sample(paragraphs, min(60_000, len(paragraphs))):
        yield paragraph
        yield "\n\n# " + paragraph[:40] + "\n\n- " + paragraph[40:70]


def make_tokenizer(paragraphs: list[str], num_merged: int = 2048) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Split(Regex(r"\d"), "isolated")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=num_merged, special_tokens=SPECIAL, initial_alphabet=alphabet, max_token_length=8
    )
    tokenizer.train_from_iterator(samples(paragraphs), trainer)
    tokenizer.add_tokens(
        [AddedToken(token, normalized=False) for token in ["\\" + name for name in COMMANDS] + JOINTS + WIDER]
    )
    return with_characters(tokenizer)


def with_characters(tokenizer: Tokenizer) -> Tokenizer:
    """The same, with every character of the encoder as one token, and none beyond ASCII in a longer one."""
    made = json.loads(tokenizer.to_str())
    as_bytes, beyond = pre_tokenizers.ByteLevel(add_prefix_space=False), set(pre_tokenizers.ByteLevel.alphabet())
    beyond -= {*ASCII, "Ġ", "Ċ"}
    vocab = made["model"]["vocab"]
    vocab |= {added["content"]: added["id"] for added in made["added_tokens"]}
    merges = [pair for pair in made["model"]["merges"] if not beyond & set("".join(pair))]
    for char in CHARACTERS[len(ASCII) :]:
        first, *others = list(as_bytes.pre_tokenize_str(char)[0][0])
        for other in others:
            if [first, other] not in merges:
                merges.append([first, other])
            first += other
            vocab.setdefault(first, len(vocab))
    made["model"]["merges"] = merges
    return Tokenizer.from_str(json.dumps(made))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    made = make_tokenizer((options.data / "corpus.txt").read_text().split("\n"))
    made.save(str(options.out))
    print(made.get_vocab_size(), "tokens")
