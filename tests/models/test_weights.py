"""From a name to a loaded model: devices, number types, and what is said when it does not fit."""

from typing import Any

import pytest
import torch

from fastocr_cli.errors import ConfigError, ExitCode, ModelError
from fastocr_cli.models import weights
from fastocr_cli.models.memory import default_batch_size
from fastocr_cli.models.pocket import Model as Pocket


def test_the_embedded_model_loads_by_default() -> None:
    model = weights.load_model("pocket", device="cpu")
    assert (model.device, model.dtype) == (torch.device("cpu"), torch.float32)
    assert 1 <= default_batch_size(model) <= 8


@pytest.mark.parametrize("name", ["cuda:99", "toaster", "meta:x"])
def test_a_device_that_is_not_there(name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be used") as caught:
        weights.load_model("pocket", device=name)
    assert caught.value.exit_code == ExitCode.USAGE


def test_the_device_that_is_named_is_the_one_that_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[torch.device] = []
    monkeypatch.setattr(torch, "zeros", lambda *args, **kwargs: None)
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    assert weights.choose_device("cuda:1") == torch.device("cuda:1")
    assert weights.choose_device("cuda").type == "cuda"
    assert current == [torch.device("cuda:1")]


class Gpus:
    """What torch says of accelerators on a machine with `num_there` of them."""

    def __init__(self, num_there: int) -> None:
        self.num_there = num_there

    def current_accelerator(self, check_available: bool) -> torch.device | None:
        return torch.device("cuda") if self.num_there else None

    def device_count(self) -> int:
        return self.num_there


@pytest.mark.parametrize(
    ("num_there", "gpus", "expected"),
    [
        (3, "all", "cuda:0 cuda:1 cuda:2"),
        (3, "2,0", "cuda:2 cuda:0"),
        (1, "all", "cuda:0"),
        (2, "1,2", "There is no GPU 2: here are 2, counted from 0. Try --gpus all."),
        (1, "1", "There is no GPU 1: here is one, number 0."),
        (0, "all", "torch finds no GPU on this machine. Leave --gpus out"),
        (0, "0", "torch finds no GPU on this machine."),
    ],
)
def test_gpus_by_number(monkeypatch: pytest.MonkeyPatch, num_there: int, gpus: str, expected: str) -> None:
    monkeypatch.setattr(torch, "accelerator", Gpus(num_there))
    if expected.startswith("cuda"):
        assert weights.choose_devices(gpus) == expected.split()
        return
    with pytest.raises(ConfigError) as caught:
        weights.choose_devices(gpus)
    assert str(caught.value).startswith(expected)


def test_number_types() -> None:
    cpu = torch.device("cpu")
    assert weights.choose_dtype("auto", cpu) == torch.float32
    assert weights.choose_dtype("float16", cpu) == torch.float16
    assert weights.choose_dtype("auto", torch.device("mps")) == torch.bfloat16


def test_what_does_not_fit_says_what_to_try(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*args: Any, **kwargs: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")

    monkeypatch.setattr(Pocket, "load", load)
    with pytest.raises(ModelError, match="pocket does not fit in the memory of cpu") as caught:
        weights.load_model("pocket", device="cpu")
    assert "--dtype bfloat16" in caught.value.hint
