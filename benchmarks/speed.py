"""How fast decoding is: dense and FastOCR in our loop, and transformers' generate(), side by side in one run.

    python benchmarks/speed.py PDF --batch 1 4 8

Every contestant writes the same tokens after the same prompts (the dense model's own, forced), so that only speed
differs. Our contestants take turns every few steps and the ratios are medians over the turns, so that a machine whose
speed drifts slows all of them alike; generate() runs as a whole, straight after.
"""

import argparse
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from reference import PocketForGeneration

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.models.weights import load_model
from fastocr_cli.pages import PageRef, find_pages, render
from fastocr_cli.pruning import make_method
from fastocr_cli.pruning.base import Method


def prompts_of(model: VisionModel, pdf: Path, num_pages: int) -> list[Prompt]:
    """The first pages of a PDF, encoded; again from the start where there are not enough."""
    refs = [page for page in find_pages([str(pdf)], RunConfig()) if isinstance(page, PageRef)]
    with torch.inference_mode():
        return [
            model.encode(render(refs[index % len(refs)], model.resolution, characters=False))
            for index in range(num_pages)
        ]


class Contestant:
    """A method with its batch prefilled, and how long it took over each turn."""

    def __init__(self, model: VisionModel, method: Method, prompts: list[Prompt]) -> None:
        self.decoder: Decoder[int] = Decoder(model, method, len(prompts))
        self.prompts = prompts
        self.decode_s: list[float] = []
        self.attention_s: list[float] = []
        started = time.perf_counter()
        with self.decoder, torch.inference_mode():
            for row, prompt in enumerate(prompts):
                self.decoder.prefill(Job(row, prompt, 10**6))
        self.prefill_s = time.perf_counter() - started
        self._attend = self.decoder.seam.attend
        self.decoder.seam.attend = self._timed  # type: ignore[method-assign]

    def _timed(self, *args: Any) -> torch.Tensor:
        started = time.perf_counter()
        output = self._attend(*args)
        self.attention_s[-1] += time.perf_counter() - started
        return output

    def turn(self, tokens: list[list[int]], steps: range) -> None:
        """Write the given tokens of these steps."""
        self.attention_s.append(0.0)
        with self.decoder, torch.inference_mode():
            started = time.perf_counter()
            for step in steps:
                self.decoder.score([ids[step] for ids in tokens]).argmax(-1).tolist()
            self.decode_s.append(time.perf_counter() - started)

    def visual_kv_read(self) -> float:
        reads = [self.decoder.gaze.visual_kv_read(row) for row in range(len(self.prompts))]
        return statistics.mean(1.0 if read is None else read for read in reads)

    def kv_read(self) -> float:
        """Keys and values read per step, visual and text (at its mean length), over what the dense model reads."""
        num_visual = statistics.mean(self.decoder.cache.visual_lengths)
        num_text = statistics.mean(self.decoder.cache.text_lengths) / 2
        return (self.visual_kv_read() * num_visual + num_text) / (num_visual + num_text)


def generate_s(reference: PocketForGeneration, prompts: list[Prompt], num_steps: int) -> float:
    """Seconds of transformers' generate() over as many steps, without those of its prefill."""
    seconds = []
    for length in (1, num_steps):
        started = time.perf_counter()
        reference.write(prompts, length, min_new_tokens=length)
        seconds.append(time.perf_counter() - started)
    return seconds[1] - seconds[0]


def dense_tokens(model: VisionModel, prompts: list[Prompt], num_steps: int) -> list[list[int]]:
    """What the dense model would write, going on where it would stop."""
    decoder: Decoder[int] = Decoder(model, make_method("dense", {}), len(prompts))
    with decoder, torch.inference_mode():
        for row, prompt in enumerate(prompts):
            decoder.prefill(Job(row, prompt, 10**6))
        tokens = [[row.ids[0] if row.ids else 9] for row in decoder.rows]
        for _ in range(num_steps - 1):
            scores = decoder.score([ids[-1] for ids in tokens])
            scores[:, list(model.stop_token_ids)] = float("-inf")
            for ids, token in zip(tokens, scores.argmax(-1).tolist(), strict=True):
                ids.append(token)
    return tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--steps", type=int, default=600, help="tokens written per page")
    parser.add_argument("--turn", type=int, default=20, help="steps before the next contestant's turn")
    parser.add_argument("--focal", nargs="+", default=["saved"], help="sets of focal layers")
    parser.add_argument("--keep", default="0.05")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = load_model("pocket")
    print(f"{model.device.type}, {args.threads} threads, {model.dtype}, {args.steps} tokens a page, keep {args.keep}")
    for batch in args.batch:
        prompts = prompts_of(model, args.pdf, batch)
        tokens = dense_tokens(model, prompts, args.steps)
        contestants = {"dense": Contestant(model, make_method("dense", {}), prompts)}
        for focal in args.focal:
            method = make_method("fastocr", {"focal": focal, "keep": args.keep})
            contestants[f"fastocr, focal {focal}"] = Contestant(model, method, prompts)
        for first in range(0, args.steps - 1, args.turn):
            for contestant in contestants.values():
                contestant.turn(tokens, range(first, min(first + args.turn, args.steps - 1)))
        print(f"\nbatch {batch}, {prompts[0].num_visual} visual tokens")
        report(contestants)
        reference_s = generate_s(PocketForGeneration(model), prompts, args.steps)
        again = Contestant(model, make_method("dense", {}), prompts)
        again.turn(tokens, range(args.steps - 1))
        print(f"generate() straight before dense: {reference_s / again.decode_s[0]:.2f} times dense's decode time")


def report(contestants: dict[str, Contestant]) -> None:
    """A line each: seconds, ratios to dense (medians over the turns after the warm-up), what the bytes would allow."""
    dense = contestants["dense"]
    for name, one in contestants.items():
        decode, attention = (
            statistics.median(a / b for a, b in zip(theirs[1:], ours[1:], strict=True))
            for theirs, ours in ((dense.decode_s, one.decode_s), (dense.attention_s, one.attention_s))
        )
        total = (dense.prefill_s + sum(dense.decode_s)) / (one.prefill_s + sum(one.decode_s))
        print(
            f"{name:20} prefill {one.prefill_s:5.2f} s  decode {sum(one.decode_s):6.2f} s, {decode:.2f}x"
            f"  attention {sum(one.attention_s):6.2f} s, {attention:.2f}x"
            f" (bytes allow {dense.kv_read() / one.kv_read():.2f}x)"
            f"  visual KV read {one.visual_kv_read():.3f}  prefill + decode {total:.2f}x"
        )


if __name__ == "__main__":
    main()
