"""Reader: page references in, page results out. One loaded model and its method: the only heavy object.

Rendering happens here, beside the model, one page at a time and only when a row of the batch is free. A page that
fails becomes a result that says so.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import torch

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.loop import Decoder, Job, Written
from fastocr_cli.errors import PageError
from fastocr_cli.markdown import clean_page, cut_page
from fastocr_cli.models.memory import default_batch_size
from fastocr_cli.models.weights import load_model
from fastocr_cli.pages import PageImage, PageRef, PageResult, render
from fastocr_cli.pages.ink import is_blank
from fastocr_cli.pruning import make_method
from fastocr_cli.pruning.base import Method


@dataclass
class Rendered:
    """A page on its way through the decoder."""

    ref: PageRef
    page: PageImage
    render_s: float


class Reader:
    """Reads pages with the model and the method that a run asked for.

    Raises:
        ModelError: the model cannot be loaded.
        ConfigError: the method or one of its options is unknown.
    """

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self.method = configured_method(config)
        self.model = load_model(config.model, device=config.device, dtype=config.dtype)
        self.batch_size = config.batch_size or default_batch_size(self.model)

    def read(self, refs: Iterable[PageRef]) -> Iterator[PageResult]:
        """Read pages; results come as pages end, not in order."""
        ready: deque[PageResult] = deque()  # pages that need no decoding: blank, or failed before it
        decoder: Decoder[Rendered] = Decoder(self.model, self.method, self.batch_size)
        for written in decoder.write(self._jobs(refs, ready)):
            yield from drain(ready)
            yield self._result(written)
        yield from drain(ready)

    def _jobs(self, refs: Iterable[PageRef], ready: deque[PageResult]) -> Iterator[Job[Rendered]]:
        for ref in refs:
            try:
                job = self._prepare(ref)
            except PageError as error:
                ready.append(PageResult(ref, error=str(error), finish_reason="error"))
                continue
            if job is None:
                ready.append(PageResult(ref, finish_reason="blank"))
            else:
                yield job

    @torch.inference_mode()
    def _prepare(self, ref: PageRef) -> Job[Rendered] | None:
        """Render and encode a page; None: there is nothing on it."""
        started = time.perf_counter()
        config, model = self.config, self.model
        resolution = replace(model.resolution, dpi=config.dpi, longest_side=None) if config.dpi else model.resolution
        characters = model.takes_characters and config.text_layer == "auto"
        page = render(ref, resolution, characters=characters, password=config.password)
        if is_blank(page.image):
            return None
        prompt = model.encode(page, config.prompt)
        rendered = Rendered(ref, page, time.perf_counter() - started)
        return Job(rendered, prompt, config.max_new_tokens or model.max_new_tokens)

    def _result(self, written: Written[Rendered]) -> PageResult:
        rendered = written.job.key
        raw = self.model.detokenize(written.ids)
        reply = self.model.parse(raw, rendered.page)
        cut = written.finish_reason != "stop"
        markdown = cut_page(reply.markdown) if cut else reply.markdown
        return PageResult(
            rendered.ref,
            markdown=clean_page(markdown, self.config.tables),
            warnings=rendered.page.warnings,
            finish_reason=written.finish_reason,
            blocks=reply.blocks,
            raw=raw,
            num_visual_tokens=written.job.prompt.num_visual,
            num_new_tokens=len(written.ids),
            prefill_s=rendered.render_s + written.prefill_s,
            decode_s=written.decode_s,
            attempts=written.job.attempt,
            coverage=written.coverage,
            visual_kv_read=written.visual_kv_read,
        )


def drain(ready: deque[PageResult]) -> Iterator[PageResult]:
    while ready:
        yield ready.popleft()


def configured_method(config: RunConfig) -> Method:
    """The method with its options; `--keep` is a short way to say `-O keep=`."""
    method = make_method(config.method, config.method_options)
    return method if config.keep is None else method.with_keep(config.keep)
