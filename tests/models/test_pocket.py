"""What is true of the shipped weights only."""

import json
from importlib.resources import files

from fastocr_cli.models import CHECKPOINTS
from fastocr_cli.pruning import focal


def test_row_weights_and_profile_are_of_one_training_step() -> None:
    config = json.loads((files("fastocr_cli.models.pocket") / "config.json").read_text(encoding="utf-8"))
    row = CHECKPOINTS["pocket"]
    assert row.revision == str(config["training_step"])
    profile = focal.load(row.key)
    assert profile is not None
    assert len(profile.image_share) == config["num_hidden_layers"]
