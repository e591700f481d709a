"""attached(): what it refuses. That it writes what our loop writes is held by the contract tests, for every family."""

from typing import Any

import pytest
from torch import nn

import fastocr_cli
from fastocr_cli.errors import ConfigError
from fastocr_cli.pruning import make_method


@pytest.mark.parametrize("model", ["olmocr", nn.Linear(1, 1), None])
def test_what_is_no_vision_model(model: Any) -> None:
    with pytest.raises(ConfigError, match="image_token_id"), fastocr_cli.attached(model):
        pass


@pytest.mark.parametrize(
    ("method", "options", "said"),
    [
        ("nix", {}, "There is no method 'nix'"),
        ("fastocr", {"nix": 1}, "no option 'nix'"),
        ("fastocr", {"keep": 2}, "keep is 2.0"),
        (make_method("fastocr", {}), {"keep": 0.1}, "takes no options"),
    ],
)
def test_methods_and_options_that_make_no_sense(method: Any, options: dict[str, Any], said: str) -> None:
    class Model(nn.Module):
        config = type("Config", (), {"image_token_id": 1})

    with pytest.raises(ConfigError, match=said), fastocr_cli.attached(Model(), method, **options):
        pass
