"""RunConfig: everything a run was asked to do. Each default is written here and nowhere else."""

import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from fastocr_cli.errors import ConfigError

CHOICES: dict[str, tuple[str, ...]] = {
    "format": ("md", "json", "html"),
    "dtype": ("auto", "float32", "bfloat16", "float16"),
    "text_layer": ("auto", "ignore"),
    "tables": ("html", "markdown"),
    "fail_on": ("cut", "page", "document", "never"),
}

BESIDE_THE_TEXT = frozenset(
    (
        "output",
        "pages",
        "batch_size",
        "device",
        "gpus",
        "overwrite",
        "shard",
        "fail_on",
        "page_marks",
        "password",
        "format",
    )
)
"""Settings that change where and how pages are read and written, not what they say."""


@dataclass(frozen=True)
class RunConfig:
    """Frozen and checked when made; class attributes are the defaults of the command line.

    Raises:
        ConfigError: a value outside its choices or range.
    """

    model: str = "pocket"
    method: str = "fastocr"
    method_options: dict[str, str] = field(default_factory=dict)
    keep: float | None = None
    """Share of visual tokens in the fixation; None leaves the method's own default."""
    pages: str | None = None
    """Which pages, 1-based: `1-3,7,10-`. None is all."""
    output: Path | None = None
    """Output folder. None with one input: stdout."""
    format: str = "md"
    batch_size: int | None = None
    """Pages decoded together; None chooses by device and model."""
    device: str = "auto"
    gpus: str | None = None
    """`all` or numbers such as `0,1`: a process on each of these accelerators. None reads in this process."""
    dtype: str = "auto"
    dpi: float | None = None
    """None renders at the resolution that the model was trained on."""
    text_layer: str = "auto"
    max_new_tokens: int | None = None
    """Longest reply for one page; None takes the checkpoint's own limit."""
    password: str | None = field(default=None, repr=False)
    prompt: str | None = None
    """Replaces the checkpoint's own instruction."""
    tables: str = "html"
    page_marks: bool = True
    overwrite: bool = False
    shard: tuple[int, int] | None = None
    """(i, n), i from 1 to n: this process reads every n-th page, beginning with the i-th."""
    fail_on: str = "page"

    def __post_init__(self) -> None:
        for name, choices in CHOICES.items():
            if getattr(self, name) not in choices:
                raise ConfigError(f"{name} is {getattr(self, name)!r}.", f"Choose one of: {', '.join(choices)}.")
        self._check_range("keep", self.keep is None or 0 < self.keep <= 1, "above 0 and at most 1")
        self._check_range("batch_size", self.batch_size is None or self.batch_size >= 1, "1 or more")
        self._check_range("dpi", self.dpi is None or 10 <= self.dpi <= 1200, "from 10 to 1200")
        self._check_range("max_new_tokens", self.max_new_tokens is None or self.max_new_tokens >= 1, "1 or more")
        self._check_range("gpus", self.gpus is None or names_gpus(self.gpus), "all, or numbers such as 0,1, each once")
        if self.gpus is not None and self.device != "auto":
            raise ConfigError("gpus and device are both given.", "Leave one out: device is for reading on just one.")
        if self.shard is not None:
            index, num_shards = self.shard
            self._check_range("shard", 1 <= index <= num_shards, "I/N with I from 1 to N")

    def _check_range(self, name: str, ok: bool, allowed: str) -> None:
        if not ok:
            raise ConfigError(f"{name} is {getattr(self, name)}.", f"It must be {allowed}.")

    def fingerprint(self) -> dict[str, Any]:
        """The settings that change a page's text: pages read under another set must not be mixed with these."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name not in BESIDE_THE_TEXT}


def names_gpus(text: str) -> bool:
    """`all`, or numbers with commas between them, none twice."""
    if text == "all":
        return True
    if not re.fullmatch(r"[0-9]+(,[0-9]+)*", text):
        return False
    numbers = [int(number) for number in text.split(",")]
    return len(set(numbers)) == len(numbers)
