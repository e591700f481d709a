"""Which network reads the page. Rows only: nothing here imports torch."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fastocr_cli.models.base import VisionModel


@dataclass(frozen=True)
class Checkpoint:
    """One set of weights that a family can load."""

    name: str
    family: str
    """Module below `fastocr_cli.models`; its class `Model` is the family."""
    repo: str = ""
    """Hub id; empty: the weights ship with the package."""
    revision: str = "main"
    licence: str = ""
    size_gb: float = 0.0
    summary: str = ""

    @property
    def key(self) -> str:
        """What profiles are filed under."""
        return f"{self.repo or self.name}@{self.revision}"


CHECKPOINTS: dict[str, Checkpoint] = {
    row.name: row
    for row in (
        Checkpoint(
            "pocket", "pocket", licence="AGPL-3.0-or-later", size_gb=0.016, summary="embedded, 8M parameters, offline"
        ),
    )
}


def family(name: str) -> "type[VisionModel]":
    """The class that loads and runs checkpoints of one family (imports torch)."""
    model: type[VisionModel] = import_module(f"fastocr_cli.models.{name}").Model
    return model
