"""Conversations to token ids and back."""

from pathlib import Path

import pytest

from fastocr_cli.errors import ModelError
from fastocr_cli.models import CHECKPOINTS, Checkpoint, chat
from fastocr_cli.models.llava_onevision import Model as Llava
from fastocr_cli.models.qwen2_5_vl import Model as Qwen
from tiny.parts import build_tokenizer
from tiny.qwen import SPECIAL

TOKENIZER = build_tokenizer(SPECIAL)
START, END = "<|im_start|>", "<|im_end|>"


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "qwen2.5-vl",
            f"{START}system\nYou are a helpful assistant.{END}\n{START}user\n<|vision_start|>",
            f"<|vision_end|>Read.{END}\n{START}assistant\n",
        ),
        (
            "olmocr",
            f"{START}system\nYou are a helpful assistant.{END}\n{START}user\nRead.<|vision_start|>",
            f"<|vision_end|>{END}\n{START}assistant\n",
        ),
        ("qwen3-vl", f"{START}user\n<|vision_start|>", f"<|vision_end|>Read.{END}\n{START}assistant\n"),
    ],
)
def test_qwen_conversation(name: str, before: str, after: str) -> None:
    assert chat.page_text(CHECKPOINTS[name], Qwen.form, "Read.") == (before, after)


def test_llava_conversation() -> None:
    text = chat.page_text(CHECKPOINTS["llava-ov"], Llava.form, "Read.")
    assert text == (f"{START}user ", f"\nRead.{END}{START}assistant\n")


def test_ids_are_those_of_the_whole_text() -> None:
    before, after = chat.page_text(CHECKPOINTS["qwen2.5-vl"], Qwen.form, "Lies die Seite: ä €")
    whole = TOKENIZER.encode(before + "<|image_pad|>" * 5 + after, add_special_tokens=False).ids
    assert chat.page_ids(TOKENIZER, Qwen.form, (before, after), 5) == whole


def test_the_rows_instruction_is_asked_unless_there_is_a_prompt() -> None:
    row = CHECKPOINTS["qwen3-vl"]
    assert chat.page_instruction(row, None) == row.instruction == "qwenvl markdown"
    assert chat.page_instruction(row, "Other") == "Other"
    assert chat.page_instruction(row, "") == ""


def test_the_makers_instruction_is_taken_where_it_is_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    row = Checkpoint("x", "qwen2_5_vl", instruction="ours", official="maker_of_x:build")
    assert chat.page_instruction(row, None) == "ours"
    (tmp_path / "maker_of_x.py").write_text("def build():\n    return 'theirs'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert chat.page_instruction(row, None) == "theirs"
    assert chat.page_instruction(row, "mine") == "mine"
    broken = Checkpoint("x", "qwen2_5_vl", instruction="ours", official="maker_of_x:no_such_function")
    assert chat.page_instruction(broken, None) == "ours"


def test_stop_tokens() -> None:
    assert chat.stop_token_ids(TOKENIZER) == {TOKENIZER.token_to_id(END), TOKENIZER.token_to_id("<|endoftext|>")}


def test_repeatable_tokens_are_marks_and_table_tags() -> None:
    vocabulary = ["td", "</", "Ġ", "ĊĊ", "...", "----", "|", "><", "></", "table", "Ġ|", "<td", "&nbsp"]
    others = ["the", "Ġa", "Ġtd2", "0", "x", "table1"]
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel

    tokenizer = Tokenizer(WordLevel({token: index for index, token in enumerate(vocabulary + others)}, unk_token="x"))
    assert chat.repeatable(tokenizer) == set(range(len(vocabulary)))


def test_a_broken_tokenizer_is_named(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ModelError, match="no tokenizer"):
        chat.load_tokenizer(tmp_path)
    with pytest.raises(ModelError, match="no token <x>"):
        chat.token_id(TOKENIZER, "<x>")
