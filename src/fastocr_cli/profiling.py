"""measure(): which layers of a model look at the page, and how few of them must.

What `fastocr profile` runs. Reads pages densely and watches every layer's attention; then lets FastOCR follow the
dense text with growing sets of focal layers, until a set writes the same.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import as_file, files
from itertools import islice

import torch
from torch import Tensor

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.follow import follow
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.errors import InputError, PageError
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.models.weights import load_model
from fastocr_cli.pages import BadInput, find_pages, render
from fastocr_cli.pages.ink import is_blank
from fastocr_cli.pruning import base, fastocr
from fastocr_cli.pruning.focal import FocalProfile

NUM_PAGES, NUM_STEPS = 4, 256
"""Pages read, and tokens of each: enough for the shares to settle, short enough for a laptop."""
MIN_AGREEMENT = 0.98
"""A set of focal layers suffices when FastOCR then writes this share of the dense tokens."""
NUM_CANDIDATES = 8
"""Layers tried: those that look most at the page."""


@dataclass(frozen=True)
class Probe(base.Method):
    """Reads everything and watches every layer."""

    def begin(self, layout: base.Layout) -> "ProbeGaze":
        return ProbeGaze(layout)


class ProbeGaze(base.Gaze):
    """Adds up, layer by layer, the attention that lands on the image."""

    def __init__(self, layout: base.Layout) -> None:
        super().__init__(layout)
        self.mass = [0.0] * layout.num_layers
        self.num_looks = [0] * layout.num_layers

    def watches(self, layer: int) -> bool:
        return True

    def see(self, layer: int, rows: Sequence[int], mass: Tensor) -> None:
        self.mass[layer] += float(mass.sum())
        self.num_looks[layer] += len(rows)


def measure(
    pages_from: Sequence[str],
    config: RunConfig,
    say: Callable[[str], None] = lambda line: None,
) -> FocalProfile:
    """Measure `config.model` on the first pages of `pages_from`, or on the package's own sample. Not saved.

    Raises:
        InputError: there is no page with something on it.
        ModelError: the model cannot be loaded.
    """
    model = load_model(config.model, device=config.device, dtype=config.dtype)
    prompts = sample_prompts(model, pages_from, config)
    say(f"Reading {len(prompts)} pages, {NUM_STEPS} tokens of each, with every layer watched.")
    share, texts = watch(model, prompts)
    prompts = [prompt for prompt, text in zip(prompts, texts, strict=True) if len(text) > 1]
    texts = [text for text in texts if len(text) > 1]
    tried = search(model, prompts, texts, share, say)
    return FocalProfile(
        model.checkpoint.key,
        focal=choose(tried),
        image_share=tuple(round(value, 4) for value in share),
        settings={
            "pages": [str(name) for name in pages_from] or ["the package's sample"],
            "num_pages": len(prompts),
            "num_tokens": sum(map(len, texts)),
            "keep": fastocr.Method().keep,
            "agreement": {",".join(map(str, layers)): round(agreed, 4) for layers, agreed in tried.items()},
            "device": model.device.type,
            "dtype": str(model.dtype).removeprefix("torch."),
        },
    )


def sample_prompts(model: VisionModel, pages_from: Sequence[str], config: RunConfig) -> list[Prompt]:
    """The first pages with something on them, encoded."""
    with as_file(files("fastocr_cli") / "sample.pdf") as sample, torch.inference_mode():
        inputs = list(pages_from) or [str(sample)]
        prompts = list(islice(encoded(model, inputs, config), NUM_PAGES))
    if not prompts:
        raise InputError("None of the pages has anything on it.", "Give pages with text: --pages-from FILE.")
    return prompts


def encoded(model: VisionModel, inputs: Sequence[str], config: RunConfig) -> Iterator[Prompt]:
    for ref in find_pages(inputs, config):
        if isinstance(ref, BadInput):
            raise ref.error
        try:
            page = render(ref, model.resolution, characters=model.takes_characters, password=config.password)
        except PageError:
            continue
        if not is_blank(page.image):
            yield model.encode(page)


def watch(model: VisionModel, prompts: Sequence[Prompt]) -> tuple[list[float], list[list[int]]]:
    """Read densely: each layer's mean share of attention on the image, and the text of each page."""
    decoder: Decoder[int] = Decoder(model, Probe(), len(prompts))
    jobs = iter([Job(index, prompt, NUM_STEPS) for index, prompt in enumerate(prompts)])
    texts = {written.job.key: written.ids for written in decoder.write(jobs)}
    gaze = decoder.gaze
    assert isinstance(gaze, ProbeGaze)
    num_heads = model.text_config.num_attention_heads
    share = [mass / num_heads / max(1, looks) for mass, looks in zip(gaze.mass, gaze.num_looks, strict=True)]
    return share, [texts[index] for index in range(len(prompts))]


def search(
    model: VisionModel,
    prompts: Sequence[Prompt],
    texts: Sequence[Sequence[int]],
    share: Sequence[float],
    say: Callable[[str], None],
) -> dict[tuple[int, ...], float]:
    """Grow the focal set by the layer that helps most; {layers: agreement with the dense text}, in order tried."""
    candidates = sorted(range(len(share)), key=lambda layer: -share[layer])[:NUM_CANDIDATES]
    most = min(len(candidates), max(2, round(len(share) / 7)))
    tried: dict[tuple[int, ...], float] = {}
    best: tuple[int, ...] = ()
    while len(best) < most and tried.get(best, -1) < MIN_AGREEMENT:
        grown = [tuple(sorted({*best, layer})) for layer in candidates if layer not in best]
        for layers in grown:
            method = fastocr.Method(focal=",".join(map(str, layers)))
            tried[layers] = follow(model, method, prompts, texts).agreement
            say(f"focal {','.join(map(str, layers))}: {tried[layers]:.1%} of the dense tokens")
        best = max(grown, key=tried.__getitem__)
    return tried


def choose(tried: dict[tuple[int, ...], float]) -> tuple[int, ...]:
    """The best of the smallest sets that suffice; where none does, the best of all."""
    enough = {layers: agreed for layers, agreed in tried.items() if agreed >= MIN_AGREEMENT}
    return max(enough or tried, key=lambda layers: (-len(layers) if enough else 0, tried[layers]))
