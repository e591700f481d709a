"""Which layers of a checkpoint look at the page: the saved answer.

Knows how a profile is kept and found. How it is measured is `profiling.py`'s business.
"""

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

from platformdirs import user_cache_path

from fastocr_cli.errors import ModelError, OutputError

VERSION = 1


@dataclass(frozen=True)
class FocalProfile:
    """What was measured on one checkpoint, and the layers chosen from it."""

    checkpoint: str
    """`repo@revision`."""
    focal: tuple[int, ...]
    image_share: tuple[float, ...]
    """Per layer: mean share of a new token's attention that lands on the image."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Pages, steps, kept ratio and the text kept by each set of layers tried."""
    version: int = VERSION

    def save(self) -> Path:
        """Write under the user's cache folder.

        Raises:
            OutputError: the folder cannot be written.
        """
        path = profile_path(self.checkpoint)
        with writing(path):
            temporary = path.with_suffix(f".{os.getpid()}.tmp")
            temporary.write_text(json.dumps(asdict(self), indent=1) + "\n", encoding="utf-8")
            temporary.replace(path)
        load.cache_clear()
        return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """The folder of `path` is there, and what goes wrong inside is told with what to do.

    Raises:
        OutputError: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise OutputError(
            f"The profile cannot be written to {path}: {error.strerror}.", "Set FASTOCR_CACHE to another folder."
        ) from error


def check_writable(checkpoint: str) -> None:
    """Prove that a profile of this checkpoint can be saved, before it is measured for nothing.

    Raises:
        OutputError: it cannot.
    """
    path = profile_path(checkpoint)
    with writing(path):
        TemporaryFile(dir=path.parent).close()


def cache_folder() -> Path:
    """Where fastocr keeps what it measured; moved by FASTOCR_CACHE."""
    moved = os.environ.get("FASTOCR_CACHE")
    return Path(moved) if moved else user_cache_path("fastocr")


def profile_path(checkpoint: str) -> Path:
    """The user's own profile of a checkpoint."""
    return cache_folder() / "profiles" / file_name(checkpoint)


def file_name(checkpoint: str) -> str:
    return re.sub(r"[^\w.@-]+", "--", checkpoint) + ".json"


@lru_cache
def load(checkpoint: str) -> FocalProfile | None:
    """The user's profile, else the one that ships with the package, else None.

    Raises:
        ModelError: the file is there and is not a profile.
    """
    shipped = files("fastocr_cli.pruning") / "profiles" / file_name(checkpoint)
    for path in (profile_path(checkpoint), shipped):
        with suppress(OSError):  # a cache that may not be entered holds nothing for this user
            if path.is_file():
                return _read(path)
    return None


def _read(path: Any) -> FocalProfile:
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        profile = FocalProfile(
            **{**values, "focal": tuple(values["focal"]), "image_share": tuple(values["image_share"])}
        )
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelError(f"{path} is not a profile.", "Delete it and run: fastocr profile --model NAME") from error
    if not profile.focal or profile.version != VERSION:
        raise ModelError(f"{path} is of another version.", "Delete it and run: fastocr profile --model NAME")
    return profile
