"""What drafts save: pages decoded with and without them, dense and pruned, in one run.

    python benchmarks/drafts.py PDF... --batch 8

A draft is what the page's letters say comes next; a step reads it as a whole and keeps what greedy decoding would have
written. Contestants take turns, each reading all pages, and ratios are medians over the turns.
"""

import argparse
import statistics
import time
from collections.abc import Sequence

import torch

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.models.base import NO_DRAFT, Draft, Prompt, Reading, VisionModel
from fastocr_cli.models.weights import load_model
from fastocr_cli.pages import PageRef, find_pages, render
from fastocr_cli.pruning import make_method


class Contestant:
    """A method with or without drafts, and what it took in each turn."""

    def __init__(self, model: VisionModel, method: str, drafts: bool, batch: int) -> None:
        self.model, self.method, self.drafts, self.batch = model, method, drafts, batch
        self.decode_s: list[float] = []
        self.num_steps = self.num_tokens = 0

    def turn(self, prompts: Sequence[Prompt], max_new_tokens: int) -> None:
        decoder: Decoder[int] = Decoder(self.model, make_method(self.method, {}), self.batch)
        draft, step, prefill = self.model.draft, decoder.step, decoder.prefill
        prefill_s = 0.0
        self.num_steps = self.num_tokens = 0

        def counted() -> None:
            self.num_steps += len(decoder.rows)
            step()

        def timed(job: Job[int]) -> None:
            nonlocal prefill_s
            started = time.perf_counter()
            prefill(job)
            prefill_s += time.perf_counter() - started

        def none(reading: Reading, token: int, count: int) -> Draft:
            return NO_DRAFT

        decoder.step, decoder.prefill = counted, timed  # type: ignore[method-assign]
        self.model.draft = draft if self.drafts else none  # type: ignore[method-assign]
        started = time.perf_counter()
        for page in decoder.write(Job(i, prompt, max_new_tokens) for i, prompt in enumerate(prompts)):
            self.num_tokens += len(page.ids)
        self.decode_s.append(time.perf_counter() - started - prefill_s)
        self.model.draft = draft  # type: ignore[method-assign]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdfs", nargs="+")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--max-new-tokens", type=int, default=2500)
    parser.add_argument("--pixels", action="store_true", help="without the pages' own characters")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    model = load_model("pocket", device="cpu", dtype="float32")
    refs = [ref for ref in find_pages(options.pdfs, RunConfig()) if isinstance(ref, PageRef)]
    with torch.inference_mode():
        prompts = [model.encode(render(r, model.resolution, characters=not options.pixels)) for r in refs]
    contestants = [
        Contestant(model, method, drafts, options.batch) for method in ("dense", "fastocr") for drafts in (False, True)
    ]
    for _ in range(options.turns):
        for contestant in contestants:
            contestant.turn(prompts, options.max_new_tokens)
    print("| method | drafts | decoding | tokens a step | tokens a second |\n| --- | --- | --- | --- | --- |")
    for one in contestants:
        ratios = [plain / own for plain, own in zip(contestants[0].decode_s, one.decode_s, strict=True)]
        a_second = one.num_tokens / statistics.median(one.decode_s)
        print(
            f"| {one.method} | {'yes' if one.drafts else 'no'} | {statistics.median(ratios):.2f}x "
            f"| {one.num_tokens / one.num_steps:.2f} | {a_second:.0f} |"
        )


if __name__ == "__main__":
    main()
