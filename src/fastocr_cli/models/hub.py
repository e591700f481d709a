"""Where a checkpoint's weights lie: in the package, in the hub's cache, or not here yet. Knows nothing of torch."""

from pathlib import Path

from fastocr_cli.errors import ModelError
from fastocr_cli.models import CHECKPOINTS, Checkpoint

WEIGHTS = ("*.safetensors", "*.json", "*.txt", "*.jinja", "*.model")
"""What a download takes: never code."""


def find_checkpoint(name: str) -> Checkpoint:
    """The row of a short name.

    Raises:
        ModelError: no such row.
    """
    if name not in CHECKPOINTS:
        raise ModelError(f"There is no model {name!r}.", f"Choose one of: {', '.join(CHECKPOINTS)}.")
    return CHECKPOINTS[name]


def find_folder(checkpoint: Checkpoint) -> Path | None:
    """The folder of the weights on this machine, without asking the network; None if they are not here."""
    if checkpoint.folder is not None:
        return checkpoint.folder
    if not checkpoint.repo:
        return Path(__file__).parent / checkpoint.family
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(checkpoint.repo, revision=checkpoint.revision, local_files_only=True)
    except OSError:  # the hub's LocalEntryNotFoundError is one
        return None
    folder = Path(found)
    return folder if (folder / "config.json").exists() and any(folder.glob("*.safetensors")) else None


def require_folder(checkpoint: Checkpoint) -> Path:
    """As `find_folder`.

    Raises:
        ModelError: the weights are not on this machine.
    """
    folder = find_folder(checkpoint)
    if folder is None:
        raise ModelError(
            f"The weights of {checkpoint.name} are not on this machine.",
            f"Run: fastocr models download {checkpoint.name} ({checkpoint.size_gb:.3g} GB)",
        )
    return folder


def download(checkpoint: Checkpoint) -> Path:
    """Fetch the weights into the hub's cache, what is already there excepted.

    Raises:
        ModelError: no network, or the hub refuses.
    """
    if not checkpoint.repo:
        return require_folder(checkpoint)
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError

    try:
        return Path(snapshot_download(checkpoint.repo, revision=checkpoint.revision, allow_patterns=list(WEIGHTS)))
    except (OSError, HfHubHTTPError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise ModelError(
            f"The weights of {checkpoint.name} cannot be fetched: {reason}",
            "Check the network and HF_HUB_OFFLINE, then run it again: what was fetched is kept.",
        ) from error
