"""convert(): the whole story on one screen.

paths ─find_pages─▶ PageRef ─▶ Engine ─▶ PageResult ─▶ Writer ─▶ Summary

Knows the order of things and how failures are counted; knows nothing of models, PDFs or files.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from os import PathLike, fspath
from typing import Protocol

from fastocr_cli.config import RunConfig
from fastocr_cli.engine import open_engine
from fastocr_cli.errors import ExitCode
from fastocr_cli.output import OutputClosed, RefusedError, Writer, open_writer
from fastocr_cli.pages import BadInput, PageRef, PageResult, find_pages
from fastocr_cli.pages.refs import Document

logger = logging.getLogger("fastocr")


class Events(Protocol):
    """What a caller may watch. Every method has a do-nothing default in `Silent`."""

    def on_page(self, result: PageResult) -> None: ...
    def on_skip(self, ref: PageRef) -> None: ...
    def on_bad_input(self, bad: BadInput) -> None: ...


class Silent:
    """Events that nobody watches."""

    def on_page(self, result: PageResult) -> None: ...
    def on_skip(self, ref: PageRef) -> None: ...
    def on_bad_input(self, bad: BadInput) -> None: ...


@dataclass
class Tally:
    """Pages of one document that this run has accounted for."""

    num_pages: int = 0
    any_succeeded: bool = False


@dataclass
class Summary:
    """What came of a run: inputs = outputs + failures, always."""

    num_done: int = 0
    num_skipped: int = 0
    """Pages that an earlier run had finished."""
    num_cut: int = 0
    """Pages whose text ends before they do, among those done and skipped."""
    failed: list[PageResult] = field(default_factory=list)
    bad_inputs: list[BadInput] = field(default_factory=list)
    num_warned: int = 0
    """Pages that were read, and of which their warnings say what to doubt."""
    num_new_tokens: int = 0
    visual_kv_read: float = 0.0
    """Mean over pages, weighted by their tokens."""
    wall_s: float = 0.0
    output_closed: bool = False
    """Whoever read standard output stopped listening, and so the run stopped."""
    _num_weighed: int = 0
    _num_lost: int = 0
    _tallies: dict[str, Tally] = field(default_factory=dict, repr=False)

    def add(self, result: PageResult) -> None:
        """Count a page that this run has read."""
        self._count(result.ref.document, succeeded=result.error is None)
        if result.error is not None:
            self.failed.append(replace(result, raw="", blocks=(), extra={}))
            return
        self.num_done += 1
        self.num_cut += result.cut
        self.num_warned += bool(result.warnings)
        self.num_new_tokens += result.num_new_tokens
        if result.visual_kv_read is not None and result.num_new_tokens:
            self._num_weighed += result.num_new_tokens
            share = result.num_new_tokens / self._num_weighed
            self.visual_kv_read += (result.visual_kv_read - self.visual_kv_read) * share

    def skip(self, ref: PageRef, finish_reason: str) -> None:
        """Count a page that an earlier run has finished."""
        self._count(ref.document, succeeded=True)
        self.num_skipped += 1
        self.num_cut += PageResult(ref, finish_reason=finish_reason).cut

    def _count(self, document: Document, *, succeeded: bool) -> None:
        tally = self._tallies.setdefault(document.name, Tally())
        tally.num_pages += 1
        tally.any_succeeded |= succeeded
        if tally.num_pages == document.num_selected:  # forget it: a run may have a million documents
            self._num_lost += not tally.any_succeeded
            del self._tallies[document.name]

    @property
    def num_lost_documents(self) -> int:
        """Documents of which every page failed; of a shard, every page that fell to it."""
        return self._num_lost + sum(not tally.any_succeeded for tally in self._tallies.values())

    def exit_code(self, fail_on: str) -> ExitCode:
        """The table of docs/errors.md.

        `page` counts every failed page and input, `cut` also pages cut short, `document` only inputs and
        documents that failed as a whole, `never` nothing.
        """
        if fail_on == "never":
            return ExitCode.DONE
        if not self.num_done + self.num_skipped and (self.bad_inputs or self.failed):
            if len(self.bad_inputs) == 1 and not self.failed:
                return self.bad_inputs[0].error.exit_code
            return ExitCode.NOTHING_SUCCEEDED
        lost = self.num_lost_documents if fail_on == "document" else len(self.failed)
        num_failures = len(self.bad_inputs) + lost + (self.num_cut if fail_on == "cut" else 0)
        return ExitCode.SOME_FAILED if num_failures else ExitCode.DONE


class Interrupted(KeyboardInterrupt):
    """Ctrl-C after the results so far were put in order; `summary` counts them."""

    def __init__(self, summary: Summary) -> None:
        super().__init__()
        self.summary = summary


def convert(
    inputs: str | PathLike[str] | Sequence[str | PathLike[str]], config: RunConfig, events: Events | None = None
) -> Summary:
    """Turn every page of `inputs` into Markdown; a page or file that fails is in the summary.

    Raises:
        FastOCRError: what dooms the whole run (no input, no model, an output that cannot be written).
        Interrupted: Ctrl-C; what was finished is on disk.
    """
    names = [fspath(name) for name in ([inputs] if isinstance(inputs, str | PathLike) else inputs)]
    events = events or Silent()
    summary = Summary()
    started = time.perf_counter()
    try:
        with open_writer(config, names) as writer:
            pages = Unread(find_pages(names, config), writer, summary, events)
            first = list(islice(pages, 1))  # a run with nothing left to read loads no model
            if first:
                _read(chain(first, pages), pages, config)
    except OutputClosed:
        summary.output_closed = True
    except KeyboardInterrupt:
        summary.wall_s = time.perf_counter() - started
        raise Interrupted(summary) from None
    summary.wall_s = time.perf_counter() - started
    return summary


class Unread:
    """The pages that are still to be read, in order; and the account of what became of them."""

    def __init__(self, found: Iterator[PageRef | BadInput], writer: Writer, summary: Summary, events: Events) -> None:
        self.found = found
        self.writer = writer
        self.summary = summary
        self.events = events
        self._in_flight: dict[tuple[str, int], PageRef] = {}
        self._refused: set[str] = set()

    def __iter__(self) -> Iterator[PageRef]:
        for page in self.found:
            if isinstance(page, BadInput):
                self._note_bad(page)
                continue
            if page.document.name in self._refused:
                continue
            try:
                finish_reason = self.writer.done(page)
            except RefusedError as error:
                self._refuse(page.document, error)
                continue
            if finish_reason is None:
                self._in_flight[page.document.name, page.number] = page
                yield page
            else:
                self.summary.skip(page, finish_reason)
                self.events.on_skip(page)

    def settle(self, result: PageResult) -> None:
        """Write and count a page; a second result for the same page is dropped."""
        if self._in_flight.pop((result.ref.document.name, result.ref.number), None) is None:
            logger.warning("%s came twice from the engine", result.ref)
            return
        try:
            self.writer.write(result)
        except RefusedError as error:  # the pages are safe, their document is not
            self._refuse(result.ref.document, error)
        for warning in result.warnings:
            logger.info("%s: %s", result.ref, warning)
        self.summary.add(result)
        self.events.on_page(result)

    def settle_rest(self) -> None:
        """A page that the engine never gave back has failed."""
        for ref in list(self._in_flight.values()):
            error = "no result came back for this page"
            self.settle(PageResult(ref, error=error, finish_reason="error"))

    def _refuse(self, document: Document, error: RefusedError) -> None:
        self._refused.add(document.name)
        self._note_bad(BadInput(document.source or str(document.path), error))

    def _note_bad(self, bad: BadInput) -> None:
        self.writer.note_bad_input(bad)
        self.summary.bad_inputs.append(bad)
        self.events.on_bad_input(bad)


def _read(refs: Iterator[PageRef], pages: Unread, config: RunConfig) -> None:
    """Have an engine read `refs`, and put each result where it belongs as soon as it comes."""
    with open_engine(config) as engine:
        for result in engine.read(refs):
            pages.settle(result)
        pages.settle_rest()
