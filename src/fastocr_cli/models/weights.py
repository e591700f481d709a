"""From a model's name to a loaded model: which family, on which device, in which number type.

Knows neither the hub nor what a family does with its weights.
"""

import torch

from fastocr_cli.errors import ConfigError, ModelError
from fastocr_cli.models import family, hub, memory
from fastocr_cli.models.base import VisionModel


def load_model(name: str, *, device: str = "auto", dtype: str = "auto") -> VisionModel:
    """Load a checkpoint by short name, hub id or folder, from this machine alone.

    Raises:
        ModelError: no such model, its weights are not on this machine or not complete, or they do not fit in memory.
        ConfigError: a device that is not there.
    """
    checkpoint = hub.find_checkpoint(name)
    folder = hub.require_folder(checkpoint)
    checkpoint = hub.completed(checkpoint, folder)
    chosen = choose_device(device)
    number_type = choose_dtype(dtype, chosen)
    memory.warn_if_tight(checkpoint, folder, chosen, number_type)
    try:
        return family(checkpoint.family).load(checkpoint, folder, device=chosen, dtype=number_type)
    except (torch.OutOfMemoryError, MemoryError) as error:
        hint = "Try a smaller model, --dtype bfloat16 or another --device."
        raise ModelError(f"{checkpoint.name} does not fit in the memory of {chosen}.", hint) from error


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
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)  # what names no device must not take memory of the first one
    return device


def choose_devices(gpus: str) -> list[str]:
    """The accelerators that `all`, or numbers such as `0,1`, name on this machine.

    Raises:
        ConfigError: there is none, or not each of these.
    """
    accelerator = torch.accelerator.current_accelerator(check_available=True)
    if accelerator is None:
        raise ConfigError("torch finds no GPU on this machine.", "Leave --gpus out, or run: fastocr doctor")
    num_there = torch.accelerator.device_count()
    numbers = list(range(num_there)) if gpus == "all" else [int(number) for number in gpus.split(",")]
    if absent := [number for number in numbers if number >= num_there]:
        there = "is one, number 0" if num_there == 1 else f"are {num_there}, counted from 0"
        raise ConfigError(f"There is no GPU {absent[0]}: here {there}.", "Try --gpus all.")
    return [f"{accelerator.type}:{number}" for number in numbers]


def choose_dtype(name: str, device: torch.device) -> torch.dtype:
    """`auto`: bfloat16 where the accelerator has it, else float16; float32 on a CPU."""
    if name != "auto":
        dtype: torch.dtype = getattr(torch, name)
        return dtype
    if device.type == "cpu":
        return torch.float32
    return torch.bfloat16 if device.type != "cuda" or torch.cuda.is_bf16_supported() else torch.float16
