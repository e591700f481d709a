"""find_pages(): from what the user typed to the pages to read, one document open at a time, only to count.

Knows no format and renders nothing.
"""

import atexit
import logging
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import FastOCRError, InputError
from fastocr_cli.pages.apart import APART, EndedError
from fastocr_cli.pages.files import count_pages
from fastocr_cli.pages.names import assign_names
from fastocr_cli.pages.paths import STDIN, Candidate, Found, find_files
from fastocr_cli.pages.ranges import Span, parse_pages, select_pages
from fastocr_cli.pages.refs import BadInput, Document, PageRef

log = logging.getLogger("fastocr")


def find_pages(inputs: Sequence[str], config: RunConfig) -> Iterator[PageRef | BadInput]:
    """The pages that `inputs` and `config` choose, in order, and the inputs that gave none.

    Files are listed and results named at once; documents are opened one by one as the pages are asked for.
    With a shard (i, n) every n-th item of that order comes, beginning with the i-th; a bad input is an item, so
    each is told of by one shard only.

    Raises:
        ConfigError: `config.pages` makes no sense.
        InputError: there is nothing to read at all.
    """
    spans = parse_pages(config.pages)
    found = find_files(inputs)
    candidates = [item for item in found.items if isinstance(item, Candidate)]
    if not candidates:
        raise _nothing_found(found)
    _log_passed_over(found)
    names = iter(assign_names([(candidate.name, candidate.ending) for candidate in candidates]))
    named = [(item, "" if isinstance(item, BadInput) else next(names)) for item in found.items]
    items = _all_items(named, spans, config.password)
    if config.shard is None:
        return items
    index, num_shards = config.shard
    return islice(items, index - 1, None, num_shards)


def _all_items(
    named: Sequence[tuple[Candidate | BadInput, str]], spans: tuple[Span, ...], password: str | None
) -> Iterator[PageRef | BadInput]:
    for item, name in named:
        if isinstance(item, BadInput):
            yield item
            continue
        try:
            document = _count(item, name, spans, password)
        except FastOCRError as error:
            yield BadInput(item.source, error)
            continue
        for number in document.page_numbers():
            yield PageRef(document, number)


def _count(candidate: Candidate, name: str, spans: tuple[Span, ...], password: str | None) -> Document:
    """The document, its pages counted.

    Raises:
        InputError: the file gives no page.
    """
    path = _spool(candidate) if candidate.piped else Path(candidate.path)
    try:
        num_pages, notes = APART.call(count_pages, path, password, candidate.source)
    except EndedError as ended:
        hint = "Open it in a viewer and print it to a new PDF."
        raise InputError(f"{candidate.source} cannot be opened: opening it {ended}.", hint) from ended
    for note in notes:
        log.warning(note)
    selected = select_pages(spans, num_pages)
    if not selected:
        pages = _many(num_pages, "page")
        raise InputError(f"{candidate.source} has {pages}, none of those asked for.", "Change --pages.")
    return Document(path, name, num_pages, selected, candidate.source)


def _spool(candidate: Candidate) -> Path:
    """Standard input or a pipe, read once into a file that lives as long as this process."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="fastocr-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
        path = folder / "stdin"
        if candidate.path != STDIN:
            with open(candidate.path, "rb") as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target)
        elif sys.stdin is None:
            raise InputError("Standard input is closed.", "Pipe a PDF or an image into it, or give a file.")
        else:
            with open(path, "wb") as target:
                shutil.copyfileobj(sys.stdin.buffer, target)
    except OSError as error:  # most often no room: it is kept in a temporary file
        hint = "Give a file instead, or set TMPDIR to a folder with room."
        raise InputError(f"{candidate.source} cannot be read: {error.strerror}.", hint) from error
    return path


def _nothing_found(found: Found) -> InputError:
    problems = [item.error for item in found.items if isinstance(item, BadInput)]
    if not problems:
        return InputError("No input was given.", "Name a PDF, an image, a folder, or - for standard input.")
    more = f" ({len(problems) - 1} more inputs give nothing either.)" if len(problems) > 1 else ""
    return InputError(problems[0].message + more, problems[0].hint)


def _log_passed_over(found: Found) -> None:
    if found.passed_over:
        kinds = ", ".join(f"{ending} {count}" for ending, count in found.passed_over.most_common(5))
        log.warning("Passed over %s, neither PDF nor image (%s).", _many(found.passed_over.total(), "file"), kinds)
    if found.num_twice:
        log.warning("%s named twice, read once.", _many(found.num_twice, "file"))


def _many(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"
