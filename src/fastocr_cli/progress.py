"""What a run shows while it works, on standard error: a bar for people, JSON lines for programs, or nothing.

Each watcher is the pipeline's `Events`. Knows Rich; knows nothing of models, and never writes to standard output.
"""

import json
import sys
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from fastocr_cli.errors import ConfigError
from fastocr_cli.pages.refs import BadInput, PageRef, PageResult
from fastocr_cli.pipeline import Summary

CHOICES = ("auto", "rich", "json", "none")
MAX_FAILURES_SHOWN = 20
NAME_WIDTH = 19


def make_console() -> Console:
    """Standard error, with text shown as it is: a file name may hold what Rich takes for markup."""
    return Console(stderr=True, markup=False, highlight=False, soft_wrap=True)


class Watcher:
    """Shows failures at the end and nothing else: the quietest of the watchers, and the base of the others."""

    def __init__(self) -> None:
        self.console = make_console()
        self.num_failed = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def on_page(self, result: PageResult) -> None:
        self.num_failed += result.error is not None

    def on_skip(self, ref: PageRef) -> None: ...

    def on_bad_input(self, bad: BadInput) -> None:
        self.num_failed += 1

    def finish(self, summary: Summary) -> None:
        """Say how the run ended."""
        failures = list(describe_failures(summary))
        for line in failures[:MAX_FAILURES_SHOWN]:
            self.console.print(line)
        if len(failures) > MAX_FAILURES_SHOWN:
            self.console.print(f"... and {len(failures) - MAX_FAILURES_SHOWN} more failures")


class Totals(Watcher):
    """No bar, but the table at the end: for logs."""

    def finish(self, summary: Summary) -> None:
        for name, value in describe(summary).items():
            self.console.print(f"{name:<{NAME_WIDTH}}{value}")
        super().finish(summary)


class Bar(Totals):
    """A bar that moves with each page. Its end is that of the documents opened so far."""

    def __init__(self) -> None:
        super().__init__()
        self.bar = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self.console,
            transient=True,
        )
        self.task = self.bar.add_task("starting", total=None)
        self.remaining: dict[str, int] = {}
        """Pages left of each document under way: finished ones are forgotten, a folder may hold a million."""
        self.num_seen = 0

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def on_page(self, result: PageResult) -> None:
        super().on_page(result)
        self._advance(result.ref)

    def on_skip(self, ref: PageRef) -> None:
        self._advance(ref)

    def _advance(self, ref: PageRef) -> None:
        key = ref.document.name
        if key not in self.remaining:
            self.remaining[key] = ref.document.num_selected
            self.num_seen += ref.document.num_selected
        self.remaining[key] -= 1
        if self.remaining[key] <= 0:
            del self.remaining[key]
        failed = f", {self.num_failed} failed" if self.num_failed else ""
        self.bar.update(self.task, advance=1, total=self.num_seen, description=f"{key} page {ref.number}{failed}")


class JsonLines(Watcher):
    """One JSON object a line on standard error; docs/convert.md lists the events."""

    def on_page(self, result: PageResult) -> None:
        super().on_page(result)
        self._emit(
            "page",
            document=_name(result.ref),
            page=result.ref.number,
            finish_reason=result.finish_reason,
            error=result.error,
            warnings=list(result.warnings),
            tokens=result.num_new_tokens,
            prefill_s=round(result.prefill_s, 3),
            decode_s=round(result.decode_s, 3),
            visual_kv_read=result.visual_kv_read,
        )

    def on_skip(self, ref: PageRef) -> None:
        self._emit("skip", document=_name(ref), page=ref.number)

    def on_bad_input(self, bad: BadInput) -> None:
        super().on_bad_input(bad)
        self._emit("bad_input", document=bad.source, error=str(bad.error))

    def finish(self, summary: Summary) -> None:
        self._emit(
            "summary",
            done=summary.num_done,
            failed=len(summary.failed),
            bad_inputs=len(summary.bad_inputs),
            cut=summary.num_cut,
            warned=summary.num_warned,
            skipped=summary.num_skipped,
            tokens=summary.num_new_tokens,
            visual_kv_read=summary.visual_kv_read,
            wall_s=round(summary.wall_s, 3),
        )

    def _emit(self, event: str, **values: Any) -> None:
        print(json.dumps({"event": event, **values}, ensure_ascii=True), file=sys.stderr, flush=True)


def open_watcher(choice: str, *, quiet: bool) -> Watcher:
    """The watcher for `--progress` and `-q`.

    Raises:
        ConfigError: an unknown choice.
    """
    if choice not in CHOICES:
        raise ConfigError(f"--progress is {choice!r}.", f"Choose one of: {', '.join(CHOICES)}.")
    if choice == "json":
        return JsonLines()
    if quiet or choice == "none":
        return Watcher()
    return Bar() if choice == "rich" or sys.stderr.isatty() else Totals()


def describe(summary: Summary) -> dict[str, str]:
    """The final table as {name: value}; rates over the whole run, model loading included."""
    wall_s = max(summary.wall_s, 1e-9)
    rows = {
        "pages": str(summary.num_done),
        "failed": str(len(summary.failed)),
        "cut": str(summary.num_cut),
        "skipped": str(summary.num_skipped),
        "pages/s": f"{summary.num_done / wall_s:.2f}",
        "tokens/s": f"{summary.num_new_tokens / wall_s:.0f}",
        "visual KV read": f"{100 * summary.visual_kv_read:.1f} % of dense" if summary.visual_kv_read else "-",
        "wall time": f"{summary.wall_s:.1f} s",
    }
    if summary.num_warned:
        rows["with warnings"] = f"{summary.num_warned} (-v tells them)"
    if summary.bad_inputs:
        rows["unreadable inputs"] = str(len(summary.bad_inputs))
    return rows


def describe_failures(summary: Summary) -> Iterator[str]:
    """One line for each input and page that failed."""
    for bad in summary.bad_inputs:
        # an input's own error names it as a rule
        yield str(bad.error) if bad.source in bad.error.message else f"{bad.source}: {bad.error}"
    for result in summary.failed:
        yield f"{result.ref}: {result.error}"


def _name(ref: PageRef) -> str:
    return ref.document.source or str(ref.document.path)
