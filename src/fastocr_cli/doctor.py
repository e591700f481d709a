"""What this machine can run, and what is missing. Looks, loads no model, and changes nothing."""

import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import NamedTuple

from fastocr_cli import __version__, settings
from fastocr_cli.errors import FastOCRError
from fastocr_cli.models import CHECKPOINTS, hub

LIBRARIES = ("torch", "transformers", "tokenizers", "safetensors", "pymupdf", "pillow", "numpy", "huggingface-hub")


class Finding(NamedTuple):
    name: str
    value: str
    problem: str = ""
    """What keeps fastocr from running, and what to type; empty: all is well."""


def examine() -> list[Finding]:
    """Everything worth knowing, in the order in which one would ask."""
    return [
        Finding("fastocr", __version__),
        Finding("python", f"{platform.python_version()} ({sys.executable})"),
        Finding("system", f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"),
        *map(_library, LIBRARIES),
        *_device(),
        *_models(),
        _cache(),
        *_settings_files(),
    ]


def _library(name: str) -> Finding:
    try:
        return Finding(name, version(name))
    except PackageNotFoundError:
        return Finding(name, "missing", f"{name} is missing. Run: pip install fastocr-cli")


def _device() -> list[Finding]:
    try:
        import torch

        from fastocr_cli.models.weights import choose_device, choose_dtype

        device = choose_device("auto")
        dtype = choose_dtype("auto", device)
    except (ImportError, OSError, FastOCRError) as error:
        return [Finding("device", "none", f"torch cannot be used: {error}. Run: pip install --force-reinstall torch")]
    name = str(device)
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        name = f"{device}: {properties.name}, {properties.total_memory / 2**30:.0f} GiB"
    return [
        Finding("device", f"{name} (what --device auto takes)"),
        Finding("dtype", f"{str(dtype).removeprefix('torch.')} (what --dtype auto takes)"),
        Finding("threads", f"{torch.get_num_threads()}"),
    ]


def _models() -> list[Finding]:
    here = [name for name, row in CHECKPOINTS.items() if hub.find_folder(row)]
    elsewhere = [name for name in CHECKPOINTS if name not in here]
    findings = [Finding("models here", ", ".join(here))]
    if elsewhere:
        findings.append(Finding("to download", f"{', '.join(elsewhere)} (fastocr models download NAME)"))
    return findings


def _cache() -> Finding:
    from fastocr_cli.pruning.focal import cache_folder

    folder = cache_folder()
    standing = next(parent for parent in (folder, *folder.parents) if os.path.exists(parent))
    if os.access(standing, os.W_OK):
        return Finding("cache", str(folder))
    return Finding("cache", f"{folder} (not writable: profiles cannot be saved; set FASTOCR_CACHE)")


def _settings_files() -> list[Finding]:
    return [Finding("settings", os.path.abspath(path)) for path in settings.files() if os.path.isfile(path)]
