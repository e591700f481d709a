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
