"""From a model's name to a loaded model: where its weights lie, on which device, in which number type.

The only file that knows the hub. Knows nothing of what a family does with the weights.
"""

from pathlib import Path

import torch

from fastocr_cli.errors import ConfigError, ModelError
from fastocr_cli.models import CHECKPOINTS, family
from fastocr_cli.models.base import VisionModel


def load_model(name: str, *, device: str = "auto", dtype: str = "auto") -> VisionModel:
    """Load a checkpoint by its short name.

    Raises:
        ModelError: no such model, or its weights are not on this machine.
        ConfigError: a device that is not there.
    """
    if name not in CHECKPOINTS:
        raise ModelError(f"There is no model {name!r}.", f"Choose one of: {', '.join(CHECKPOINTS)}.")
    checkpoint = CHECKPOINTS[name]
    chosen = choose_device(device)
    folder: Path | None = None
    return family(checkpoint.family).load(checkpoint, folder, device=chosen, dtype=choose_dtype(dtype, chosen))


def choose_device(name: str) -> torch.device:
    """`auto` takes the first accelerator, else the CPU; a device asked for and not there is an error."""
    if name == "auto":
        accelerator = torch.accelerator.current_accelerator(check_available=True)
        return accelerator or torch.device("cpu")
    try:
        device = torch.device(name)
        torch.zeros(1, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"Device {name!r} cannot be used: {error}.", "Try --device auto.") from error
    return device


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """`auto`: bfloat16 where the accelerator has it, else float16; float32 on a CPU."""
    if name != "auto":
        dtype: torch.dtype = getattr(torch, name)
        return dtype
    if device.type == "cpu":
        return torch.float32
    return torch.bfloat16 if device.type != "cuda" or torch.cuda.is_bf16_supported() else torch.float16
