"""What fits, said before loading; and how many pages at once."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest
import torch

from fastocr_cli.models import CHECKPOINTS, memory
from fastocr_cli.pages import Resolution

SHAPES = {  # config.json: layers, heads, key heads, hidden, head size
    "qwen2.5-vl-3b": (36, 16, 2, 2048, None, 36),
    "qwen2.5-vl": (28, 28, 4, 3584, None, 56),
    "dots.ocr": (28, 12, 2, 1536, None, 28),
    "deepseek-ocr": (12, 10, 10, 1280, None, 60),
    "qwen3-vl-2b": (28, 16, 8, 2048, 128, 112),
    "qwen3-vl": (36, 32, 8, 4096, 128, 144),
}


def settings(name: str) -> dict[str, Any]:
    layers, heads, key_heads, hidden, head_dim, _ = SHAPES[name]
    values = {"num_hidden_layers": layers, "num_attention_heads": heads, "num_key_value_heads": key_heads}
    return {**values, "hidden_size": hidden, **({"head_dim": head_dim} if head_dim else {})}


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("nest", [None, "text_config", "language_config"])
def test_kv_bytes_per_token(name: str, nest: str | None) -> None:
    config = {nest: settings(name)} if nest else settings(name)
    assert memory.kv_bytes_per_token(config, torch.bfloat16) == SHAPES[name][-1] * 1024
    assert memory.kv_bytes_per_token(config, torch.float32) == SHAPES[name][-1] * 2048


def test_a_configuration_that_does_not_say() -> None:
    assert memory.kv_bytes_per_token({}, torch.float32) == 0


class Stub:
    device = torch.device("cpu")
    dtype = torch.float32
    resolution = Resolution(dpi=150)
    max_new_tokens = 4096
    text_config = type("Config", (), {"to_dict": lambda self: settings("qwen2.5-vl")})()

    def visual_tokens(self, width: int, height: int) -> int:
        assert (width, height) == (1241, 1754)
        return 2772


def test_bytes_of_a_page() -> None:
    assert memory.page_bytes(Stub()) == 2 * 56 * 1024 * (2772 + 4096)  # type: ignore[arg-type]


@pytest.mark.parametrize(("free_gb", "expected"), [(0, 1), (2, 2), (4, 4), (500, 8)])
def test_batch_size_from_free_memory(monkeypatch: pytest.MonkeyPatch, free_gb: int, expected: int) -> None:
    monkeypatch.setattr(memory, "free_bytes", lambda device: free_gb * 10**9)
    assert memory.default_batch_size(Stub()) == expected  # type: ignore[arg-type]


def test_free_memory_minds_the_container(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert memory.free_bytes(torch.device("cpu")) > 0
    for name, text in (("CGROUP_LIMIT", "3000\n"), ("CGROUP_USED", "1000\n")):
        (tmp_path / name).write_text(text)
        monkeypatch.setattr(memory, name, tmp_path / name)
    assert memory.free_bytes(torch.device("cpu")) == 2000
    (tmp_path / "CGROUP_LIMIT").write_text("max\n")
    assert memory.free_bytes(torch.device("cpu")) > 2000


@pytest.mark.parametrize(("free", "warned"), [(10**12, False), (3000, True)])
def test_what_does_not_fit_is_said_before_loading(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, free: int, warned: bool
) -> None:
    (tmp_path / "config.json").write_text(json.dumps({**settings("qwen2.5-vl"), "torch_dtype": "bfloat16"}))
    (tmp_path / "model.safetensors").write_bytes(bytes(1000))
    monkeypatch.setattr(memory, "free_bytes", lambda device: free)
    with caplog.at_level(logging.WARNING, logger="fastocr"):
        memory.warn_if_tight(CHECKPOINTS["qwen2.5-vl"], tmp_path, torch.device("cpu"), torch.float32)
    assert ("qwen2.5-vl needs about" in caplog.text) is warned
