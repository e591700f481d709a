"""Engines: which one a run gets, and what they say before anything heavy is loaded."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from fastocr_cli.config import RunConfig
from fastocr_cli.engine import LocalEngine, open_engine
from fastocr_cli.errors import ConfigError

CODE = """
import sys
from fastocr_cli.config import RunConfig
from fastocr_cli.engine import open_engine
from fastocr_cli.errors import ModelError
try:
    with open_engine(RunConfig(model="olmocr", gpus=GPUS)):
        pass
except ModelError as error:
    sys.exit("imported torch" if "torch" in sys.modules else 0 if "models download olmocr" in error.hint else str(error))
sys.exit("no error")
"""


@pytest.mark.parametrize("gpus", [None, "all"])
def test_missing_weights_are_said_before_torch_is_imported(tmp_path: Path, gpus: str | None) -> None:
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", f"GPUS = {gpus!r}\n{CODE}"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_process_unless_gpus_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from fastocr_cli.models import weights

    assert isinstance(open_engine(RunConfig()), LocalEngine)

    def choose_devices(gpus: str) -> list[str]:
        raise ConfigError(f"no {gpus}")

    monkeypatch.setattr(weights, "choose_devices", choose_devices)
    with pytest.raises(ConfigError, match="no 0,1"), open_engine(RunConfig(gpus="0,1")):
        pass
