"""Reader: page references in, page results out. One loaded model and its method: the only heavy object.

Rendering happens here, beside the model, one page at a time and only when a row of the batch is free. A page that
fails becomes a result that says so.
"""

import logging
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, replace
from io import BytesIO
from math import ceil
from typing import Any

import torch
from PIL.Image import Image, Transpose

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job, Written
from fastocr_cli.errors import ConfigError, PageError
from fastocr_cli.markdown import Reply, clean_page, cut_page, figure_numbers, ragged_tables
from fastocr_cli.models.memory import default_batch_size
from fastocr_cli.models.weights import load_model
from fastocr_cli.pages import Block, Figure, PageImage, PageRef, PageResult, render
from fastocr_cli.pages.ahead import ahead
from fastocr_cli.pages.ink import is_blank
from fastocr_cli.pruning import make_method
from fastocr_cli.pruning.base import Method

logger = logging.getLogger("fastocr")

TURNS = {90: Transpose.ROTATE_90, 180: Transpose.ROTATE_180, 270: Transpose.ROTATE_270}
"""Counter-clockwise, without resampling."""


@dataclass
class Rendered:
    """A page on its way through the decoder."""

    ref: PageRef
    page: PageImage
    prefill_s: float
    """Spent on it before it came to the decoder."""
    decode_s: float = 0.0
    """Spent on reading it sideways."""
    rotation: int = 0
    """Degrees counter-clockwise by which it was turned because the model asked for it."""


class Reader:
    """Reads pages with the model and the method that a run asked for.

    Raises:
        ModelError: the model cannot be loaded.
        ConfigError: the method or one of its options is unknown; an instruction for a model that takes none.
    """

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.method = configured_method(config)
        self.model = load_model(config.model, device=config.device, dtype=config.dtype)
        if config.prompt is not None and not self.model.takes_prompt:
            hint = "Leave --prompt out, or choose another --model."
            raise ConfigError(f"{self.model.checkpoint.name} takes no instruction.", hint)
        self.batch_size = config.batch_size or default_batch_size(self.model)

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]:
        """Read pages; results come as pages end, not in order."""
        ready: deque[PageResult] = deque()  # pages that need no decoding: blank, or failed before it
        decoder: Decoder[Rendered] = Decoder(self.model, self.method, self.batch_size)
        for written in decoder.write(self._jobs(refs, ready)):
            yield from drain(ready)
            if (result := self._finish(written, decoder)) is not None:
                yield result
        yield from drain(ready)

    def _finish(self, written: Written[Rendered], decoder: Decoder[Rendered]) -> PageResult | None:
        """What came of a page; None: it lies on its side, and goes back to be read again."""
        rendered = written.job.key
        if written.error is not None:
            return failed(rendered.ref, written.error)
        try:
            raw = self.model.detokenize(written.ids)
            reply = self.model.parse(raw, rendered.page)
            if reply.rotation and not rendered.rotation:  # once: a model may ask for ever
                decoder.again.append(self._turned(written, reply.rotation))
                return None
            return self._result(written, raw, reply)
        except Exception as error:  # as in `_jobs`: one odd reply must not end a folder
            logger.debug("%s", rendered.ref, exc_info=True)
            return failed(rendered.ref, f"The reply could not be read: {type(error).__name__}: {error}")

    def _jobs(self, refs: Iterable[PageRef], ready: deque[PageResult]) -> Iterator[Job[Rendered]]:
        for ref, page in ahead(self._render, refs):
            try:
                prepared = self._prepare(ref, page)
            except PageError as error:
                ready.append(failed(ref, str(error)))
                continue
            except Exception as error:  # a fault of ours or of a library: it costs this page, not the folder
                logger.debug("%s", ref, exc_info=True)
                ready.append(failed(ref, f"The page could not be prepared: {type(error).__name__}: {error}"))
                continue
            if isinstance(prepared, PageResult):
                ready.append(prepared)
            else:
                yield prepared

    def _render(self, ref: PageRef) -> tuple[PageImage, float]:
        """A page's picture, and the seconds that it took."""
        started = time.perf_counter()
        config, model = self.config, self.model
        resolution = replace(model.resolution, dpi=config.dpi, longest_side=None) if config.dpi else model.resolution
        characters = model.takes_characters and config.text_layer == "auto"
        page = render(ref, resolution, characters=characters, password=config.password)
        return page, time.perf_counter() - started

    @torch.inference_mode()
    def _prepare(self, ref: PageRef, rendered: Future[tuple[PageImage, float]]) -> Job[Rendered] | PageResult:
        """Encode a page; its result where there is nothing on it."""
        page, render_s = rendered.result()
        started = time.perf_counter() - render_s
        if is_blank(page.image):
            return PageResult(ref, warnings=page.warnings, finish_reason="blank")
        return self._job(Rendered(ref, page, 0), started)

    @torch.inference_mode()
    def _turned(self, written: Written[Rendered], rotation: int) -> Job[Rendered]:
        """The same page, turned; what its first reading cost is carried on."""
        started, before = time.perf_counter(), written.job.key
        page = PageImage(before.page.image.transpose(TURNS[rotation]), warnings=before.page.warnings)
        spent = before.prefill_s + written.prefill_s
        return self._job(Rendered(before.ref, page, spent, written.decode_s, rotation), started)

    def _job(self, rendered: Rendered, started: float) -> Job[Rendered]:
        prompt = self.model.encode(rendered.page, self.config.prompt)
        rendered.prefill_s += time.perf_counter() - started
        return Job(rendered, prompt, self.config.max_new_tokens or self.model.max_new_tokens)

    def _result(self, written: Written[Rendered], raw: str, reply: Reply) -> PageResult:
        rendered = written.job.key
        cut = written.finish_reason != "stop"
        markdown = clean_page(cut_page(reply.markdown) if cut else reply.markdown, self.config.tables)
        return PageResult(
            rendered.ref,
            markdown=markdown,
            warnings=rendered.page.warnings + written.warnings + reply.warnings + table_warnings(markdown),
            finish_reason=written.finish_reason,
            blocks=reply.blocks,
            figures=crop_figures(rendered.page.image, reply.blocks, markdown),
            raw=raw,
            num_visual_tokens=written.job.prompt.num_visual,
            num_new_tokens=len(written.ids),
            prefill_s=rendered.prefill_s + written.prefill_s,
            decode_s=rendered.decode_s + written.decode_s,
            attempts=written.job.attempt + bool(rendered.rotation),
            coverage=written.coverage,
            visual_kv_read=written.visual_kv_read,
            extra=facts_of(reply, rendered.rotation),
        )


def table_warnings(markdown: str) -> tuple[str, ...]:
    """Tables whose rows cover unequal numbers of columns: likely misread."""
    return tuple(f"Table {number} has rows of unequal width." for number in ragged_tables(markdown))


def facts_of(reply: Reply, rotation: int) -> dict[str, Any]:
    """What a page's JSON says beyond text and boxes, as far as there is anything to say."""
    facts = {
        "language": reply.language,
        "headers": list(reply.headers),
        "footers": list(reply.footers),
        "rotation": rotation,
    }
    return {name: value for name, value in facts.items() if value}


def crop_figures(image: Image, blocks: Sequence[Block], markdown: str) -> tuple[Figure, ...]:
    """The pictures that the page's Markdown refers to."""
    pictures = [block for block in blocks if block.category == "picture"]
    wanted = [number for number in figure_numbers(markdown) if number <= len(pictures)]
    return tuple(Figure(number, crop(image, pictures[number - 1].box)) for number in wanted)


def crop(image: Image, box: tuple[float, float, float, float]) -> bytes:
    """A PNG of the part of a page that `box` marks (shares of width and height), at least one pixel of it."""
    left, top = (min(int(share * side), side - 1) for share, side in zip(box[:2], image.size, strict=True))
    right, bottom = (ceil(share * side) for share, side in zip(box[2:], image.size, strict=True))
    buffer = BytesIO()
    image.crop((left, top, max(right, left + 1), max(bottom, top + 1))).save(buffer, "PNG")
    return buffer.getvalue()


def failed(ref: PageRef, error: str) -> PageResult:
    return PageResult(ref, error=error, finish_reason="error")


def drain(ready: deque[PageResult]) -> Iterator[PageResult]:
    while ready:
        yield ready.popleft()


def configured_method(config: RunConfig) -> Method:
    """The method with its options; `--keep` is a short way to say `-O keep=`."""
    method = make_method(config.method, config.method_options)
    return method if config.keep is None else method.with_keep(config.keep)
