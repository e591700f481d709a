"""PageRecord: one page's result as it lies on disk, and everything a format may say about it.

Knows the JSON of a page; knows neither folders nor formats.
"""

from dataclasses import dataclass, fields, replace
from typing import Any
from urllib.parse import quote

from fastocr_cli import __version__
from fastocr_cli.markdown import link_figures
from fastocr_cli.output.files import to_json
from fastocr_cli.pages.refs import PageResult

BOOKKEEPING = ("settings", "source", "fastocr")
"""Keys that serve resuming and are nobody else's business."""

OWN_WORDS = ("ref", "blocks", "figures")
"""Fields of a result that a record says in words of its own."""


@dataclass(frozen=True)
class PageRecord:
    """A page's result. `data` is its JSON object; the properties are what writers ask for."""

    data: dict[str, Any]

    @classmethod
    def from_result(cls, result: PageResult, *, with_figures: bool = False, **bookkeeping: Any) -> "PageRecord":
        """Everything in `result`, with the model's raw reply only where it differs from the Markdown.

        `with_figures`: figures lie in files under `figure_path`; else their captions take their place.
        """
        data: dict[str, Any] = {"page": result.ref.number}
        data.update((f.name, getattr(result, f.name)) for f in fields(result) if f.name not in OWN_WORDS)
        paths = {f.number: figure_path(result.ref.number, f.number) for f in result.figures if with_figures}
        data["markdown"] = link_figures(_unix_newlines(result.markdown), paths)
        data["figures"] = list(paths.values())
        data["blocks"] = [{"category": b.category, "box": list(b.box), "text": b.text} for b in result.blocks]
        if result.raw == data["markdown"]:
            del data["raw"]
        return cls(data | bookkeeping)

    @classmethod
    def from_json(cls, value: Any) -> "PageRecord | None":
        """None if `value` is no page record."""
        if not isinstance(value, dict) or not isinstance(value.get("markdown"), str) or "error" not in value:
            return None
        return cls(value)

    def to_json(self, *, bookkeeping: bool = True) -> str:
        """JSON text of all facts."""
        return to_json({key: value for key, value in self.data.items() if bookkeeping or key not in BOOKKEEPING})

    def seen_from(self, folder: str) -> "PageRecord":
        """The record for a file one level up: links to figures lead through `folder`."""
        if not self.figures:
            return self
        markdown, paths = self.markdown, [f"{quote(folder)}/{path}" for path in self.figures]
        for here, there in zip(self.figures, paths, strict=True):
            markdown = markdown.replace(f"]({here})", f"]({there})")
        return replace(self, data={**self.data, "markdown": markdown, "figures": paths})

    @property
    def figures(self) -> list[str]:
        """Files of the page's figures, relative to where the record lies."""
        return list(self.data.get("figures") or ())

    @property
    def markdown(self) -> str:
        return str(self.data["markdown"])

    @property
    def error(self) -> str | None:
        """Why the page failed; None if it did not."""
        error: str | None = self.data["error"]
        return error

    @property
    def finish_reason(self) -> str:
        return str(self.data.get("finish_reason", "stop"))


def make_bookkeeping(settings: str, source: dict[str, Any]) -> dict[str, Any]:
    """What a record must carry to be found again: the settings' hash, the source's signature, our version."""
    return {"settings": settings, "source": source, "fastocr": __version__}


def figure_path(page: int, number: int) -> str:
    """The file of a page's figure, relative to the folder of the pages."""
    return f"figures/{page:04}-{number}.png"


def _unix_newlines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")
