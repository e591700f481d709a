"""The plain model: every layer reads every visual token at every step."""

from dataclasses import dataclass

from fastocr_cli.pruning import base


@dataclass(frozen=True)
class Method(base.Method):
    """Nothing is skipped. The reference that every other method is held against."""

    def begin(self, layout: base.Layout) -> base.Gaze:
        return base.Gaze(layout)
