"""Engines: what they say before anything heavy is loaded."""

import os
import subprocess
import sys
from pathlib import Path

CODE = """
import sys
from fastocr_cli.config import RunConfig
from fastocr_cli.engine import open_engine
from fastocr_cli.errors import ModelError
try:
    with open_engine(RunConfig(model="olmocr")):
        pass
except ModelError as error:
    sys.exit("imported torch" if "torch" in sys.modules else 0 if "models download olmocr" in error.hint else str(error))
sys.exit("no error")
"""


def test_missing_weights_are_said_before_torch_is_imported(tmp_path: Path) -> None:
    environment = {**os.environ, "HF_HUB_CACHE": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", CODE], env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
