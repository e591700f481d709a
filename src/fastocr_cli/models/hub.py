"""Where a checkpoint's weights lie: in the package, in a folder, in the hub's cache, or not here yet.

The only file that knows the hub. Knows nothing of torch. Reading never asks the network; only `download` does.
"""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastocr_cli.errors import ModelError
from fastocr_cli.models import CHECKPOINTS, FAMILIES, Checkpoint

WEIGHTS = ("*.safetensors", "*.json", "*.txt", "*.jinja", "*.model")
"""What a download takes: never code."""
NETWORK_TIMEOUT_S = 20
INDEX = "model.safetensors.index.json"


def find_checkpoint(name: str) -> Checkpoint:
    """What a name means: a row by its short name, a hub id (`owner/name`), or a folder on this machine.

    A hub id or folder of a known row, or whose last name begins like a row's, takes the row's facts; else the facts
    are those of its family's first row.

    Raises:
        ModelError: it is none of these, or a folder of a model that no family loads.
    """
    if name in CHECKPOINTS:
        return CHECKPOINTS[name]
    folder = Path(os.path.expanduser(name))
    if name and os.path.isdir(folder):
        row = _row_like(folder.resolve().name, family_of(folder))
        return replace(row, name=folder.resolve().name, repo="", revision="local", folder=folder.resolve())
    repo, _, revision = name.partition("@")
    if repo.count("/") == 1 and all(repo.split("/")) and not repo.startswith((".", "~")):
        row = _row_like(repo.rpartition("/")[2], "")
        if row.repo != repo:
            row = replace(row, repo=repo, revision="main", licence="", size_gb=0.0)
        return replace(row, name=name, revision=revision or row.revision)
    raise ModelError(
        f"There is no model {name!r}.",
        f"Give a folder, a hub id (owner/name) or one of: {', '.join(CHECKPOINTS)}.",
    )


def _row_like(last_name: str, family: str) -> Checkpoint:
    """The row whose repository has this last name, or the longest beginning of it: `-AWQ` and the like may follow.

    Where none has, or `family` (empty: not known yet) is another, the first row of the family.
    """
    names = {row.repo.rpartition("/")[2].lower(): row for row in CHECKPOINTS.values() if row.repo}
    found = max((name for name in names if last_name.lower().startswith(name)), key=len, default=None)
    if found and family in ("", names[found].family):
        return names[found]
    first = (row for row in CHECKPOINTS.values() if row.family == family)
    return next(first, Checkpoint(last_name, family, summary="not in the list"))


def profile_key(name: str) -> str:
    """What profiles are filed under for a model that someone else loaded from a hub id or a folder."""
    try:
        return find_checkpoint(name).key
    except ModelError:
        return f"{name}@main"


def completed(checkpoint: Checkpoint, folder: Path) -> Checkpoint:
    """The checkpoint with the family that its config.json names, and that family's facts where its name gave others.

    Raises:
        ModelError: no family loads it.
    """
    family = family_of(folder)
    if family == checkpoint.family:
        return checkpoint
    row = _row_like(checkpoint.repo.rpartition("/")[2], family)
    return replace(
        row, name=checkpoint.name, repo=checkpoint.repo, revision=checkpoint.revision, licence="", size_gb=0.0
    )


def family_of(folder: Path) -> str:
    """The family that a folder's config.json asks for.

    Raises:
        ModelError: there is no such file, or no family of that type.
    """
    model_type = read_config(folder).get("model_type")
    if model_type not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise ModelError(
            f"{folder} holds a model of type {model_type!r}, which fastocr does not know.", f"Known: {known}."
        )
    return FAMILIES[model_type]


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's config.json.

    Raises:
        ModelError: there is none, or it is broken.
    """
    try:
        values = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{folder} holds no model: config.json cannot be read ({error}).") from error
    if not isinstance(values, dict):
        raise ModelError(f"{folder} holds no model: config.json is no object.")
    return values


def find_folder(checkpoint: Checkpoint) -> Path | None:
    """The folder of the weights on this machine, complete; None if they are not here. Asks no network."""
    folder = _local_folder(checkpoint)
    return folder if folder is not None and not missing_files(folder) else None


def state(checkpoint: Checkpoint) -> str:
    """Whether the weights are on this machine: `yes`, `no`, or `part` for half a download."""
    folder = _local_folder(checkpoint)
    if folder is None:
        return "no"
    return "part" if missing_files(folder) else "yes"


def _local_folder(checkpoint: Checkpoint) -> Path | None:
    """The folder as it is, complete or not."""
    if checkpoint.folder is not None:
        return checkpoint.folder
    if not checkpoint.repo:
        return Path(__file__).parent / checkpoint.family
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(checkpoint.repo, revision=checkpoint.revision, local_files_only=True))
    except (OSError, ValueError):  # the hub's LocalEntryNotFoundError is an OSError, a name that is none a ValueError
        return None


def missing_files(folder: Path) -> list[str]:
    """Files that reading needs and that are not there: half a download shows here."""
    missing = [name for name in ("config.json", "tokenizer.json") if not os.path.exists(folder / name)]
    weights = {path.name for path in folder.glob("*.safetensors")}
    try:
        wanted = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError):
        wanted = set() if weights else {"model.safetensors"}
    return missing + sorted(wanted - weights)


def require_folder(checkpoint: Checkpoint) -> Path:
    """As `find_folder`.

    Raises:
        ModelError: the weights are not on this machine, or not all of them.
    """
    folder = _local_folder(checkpoint)
    missing = missing_files(folder) if folder is not None else []
    if folder is not None and not missing:
        return folder
    size = f" ({checkpoint.size_gb:.3g} GB)" if checkpoint.size_gb else ""
    hint = f"Run: fastocr models download {checkpoint.name}{size}" if checkpoint.repo else ""
    if missing:
        some = ", ".join(missing[:3]) + (", ..." if len(missing) > 3 else "")
        raise ModelError(f"The weights of {checkpoint.name} are not complete: {folder} lacks {some}.", hint)
    raise ModelError(f"The weights of {checkpoint.name} are not on this machine.", hint)


def download(checkpoint: Checkpoint) -> Path:
    """Fetch the weights into the hub's cache, what is already there excepted.

    Raises:
        ModelError: no network, or the hub refuses.
    """
    if not checkpoint.repo:
        return require_folder(checkpoint)
    from huggingface_hub import constants, model_info, snapshot_download

    if constants.HF_HUB_OFFLINE:  # said at once: the hub's own message speaks of caches
        folder = find_folder(checkpoint)
        if folder is None:
            hint = "Unset HF_HUB_OFFLINE, then run it again."
            raise ModelError(f"The weights of {checkpoint.name} cannot be fetched: HF_HUB_OFFLINE is set.", hint)
        return folder
    repo, revision = checkpoint.repo, checkpoint.revision
    try:
        model_info(repo, revision=revision, timeout=NETWORK_TIMEOUT_S)  # asked once: a download tries for half a minute
        return Path(snapshot_download(repo, revision=revision, allow_patterns=list(WEIGHTS)))
    except Exception as error:  # the hub's, its HTTP library's, the disk's: they have no class in common
        reason = str(error).partition("\n")[0].rstrip(". ")
        raise ModelError(
            f"The weights of {checkpoint.name} cannot be fetched: {reason}.",
            "Check the network and the name, then run it again: what was fetched is kept.",
        ) from error


def weight_bytes(folder: Path) -> int:
    """Bytes of the weight files, as they lie on disk."""
    return sum(os.stat(path).st_size for path in folder.glob("*.safetensors"))
