"""What tests of models share."""

import pytest
import torch

from fastocr_cli.models.pocket import Model
from fastocr_cli.models.weights import load_model


@pytest.fixture(scope="module")
def pocket() -> Model:
    """The embedded model, with its shipped weights."""
    torch.set_num_threads(1)
    model = load_model("pocket", device="cpu", dtype="float32")
    assert isinstance(model, Model)
    return model
