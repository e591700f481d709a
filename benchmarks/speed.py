"""How fast decoding is: dense and FastOCR in our loop, and transformers' generate(), side by side in one run.

    python benchmarks/speed.py --batch 1 4 8

Every contestant writes the same tokens after the same prompts (the dense model's own, forced), so that only speed
differs. Rounds interleave the contestants; medians of rounds are printed, and ratios of those.
"""

import argparse
import statistics
import time
from collections import defaultdict
from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch
from reference import PocketForGeneration

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.loop import Decoder, Job
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.models.weights import load_model
from fastocr_cli.pages import PageRef, find_pages, render
from fastocr_cli.pruning import make_method

Times = dict[str, float]


def prompts_of(model: VisionModel, pdf: Path, num_pages: int) -> list[Prompt]:
    """The first pages of a PDF, encoded; again from the start where there are not enough."""
    refs = [page for page in find_pages([str(pdf)], RunConfig()) if isinstance(page, PageRef)]
    with torch.inference_mode():
        return [
            model.encode(render(refs[index % len(refs)], model.resolution, characters=False))
            for index in range(num_pages)
        ]


def forced(
    model: VisionModel, method: str, options: dict[str, str], prompts: list[Prompt], tokens: list[list[int]]
) -> Times:
    """Prefill the batch, then write the given tokens; seconds of each part."""
    decoder: Decoder[int] = Decoder(model, make_method(method, options), len(prompts))
    attend = decoder.seam.attend
    times: Times = defaultdict(float)

    def timed(*args: object) -> torch.Tensor:
        started = time.perf_counter()
        output = attend(*args)  # type: ignore[arg-type]
        times["attention"] += time.perf_counter() - started
        return output

    with decoder, torch.inference_mode():
        started = time.perf_counter()
        for row, prompt in enumerate(prompts):
            decoder.prefill(Job(row, prompt, 10**6))
        times["prefill"] = time.perf_counter() - started
        decoder.seam.attend = timed  # type: ignore[method-assign]
        started = time.perf_counter()
        for step in range(len(tokens[0]) - 1):
            decoder.score([ids[step] for ids in tokens], [p.next_position + step for p in prompts]).argmax(-1).tolist()
        times["decode"] = time.perf_counter() - started
    times["kv"] = kv_read(decoder)
    times["visual_kv"] = decoder.gaze.visual_kv_read(0) or 1.0
    return times


def kv_read(decoder: Decoder[int]) -> float:
    """Keys and values read per step, visual and text, over what the dense model reads; text at its mean length."""
    num_visual = statistics.mean(decoder.cache.visual_lengths)
    num_text = statistics.mean(decoder.cache.text_lengths) / 2
    share = statistics.mean(decoder.gaze.visual_kv_read(row) or 1.0 for row in range(decoder.cache.num_rows))
    return (share * num_visual + num_text) / (num_visual + num_text)


def generated(reference: PocketForGeneration, prompts: list[Prompt], num_steps: int) -> Times:
    """transformers' generate() over as many tokens; prefill is timed apart by a run of one token."""
    started = time.perf_counter()
    reference.write(prompts, 1, min_new_tokens=1)
    prefill = time.perf_counter() - started
    started = time.perf_counter()
    reference.write(prompts, num_steps, min_new_tokens=num_steps)
    return {"prefill": prefill, "decode": time.perf_counter() - started - prefill}


def dense_tokens(model: VisionModel, prompts: list[Prompt], num_steps: int) -> list[list[int]]:
    """What the dense model would write, going on where it would stop."""
    decoder: Decoder[int] = Decoder(model, make_method("dense", {}), len(prompts))
    with decoder, torch.inference_mode():
        for row, prompt in enumerate(prompts):
            decoder.prefill(Job(row, prompt, 10**6))
        tokens = [[row.ids[0] if row.ids else 9] for row in decoder.rows]
        for step in range(num_steps - 1):
            scores = decoder.score([ids[-1] for ids in tokens], [p.next_position + step for p in prompts])
            scores[:, list(model.stop_token_ids)] = float("-inf")
            for ids, token in zip(tokens, scores.argmax(-1).tolist(), strict=True):
                ids.append(token)
    return tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pdf", type=Path)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 8])
    parser.add_argument("--steps", type=int, default=600, help="tokens written per page")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--focal", nargs="+", default=["2,4", "4"], help="sets of focal layers")
    parser.add_argument("--keep", default="0.05")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    model = load_model("pocket")
    reference = PocketForGeneration(model)
    print(f"{model.device.type} {args.threads} threads, {model.dtype}, {args.steps} tokens a page, keep {args.keep}")
    for batch in args.batch:
        prompts = prompts_of(model, args.pdf, batch)
        tokens = dense_tokens(model, prompts, args.steps)
        contestants: dict[str, Callable[[], Times]] = {
            "generate()": partial(generated, reference, prompts, args.steps),
            "dense": partial(forced, model, "dense", {}, prompts, tokens),
        }
        for focal in args.focal:
            options = {"focal": focal, "keep": args.keep}
            contestants[f"fastocr {focal}"] = partial(forced, model, "fastocr", options, prompts, tokens)
        report(batch, prompts, contestants, args.rounds)


def report(batch: int, prompts: list[Prompt], contestants: dict[str, Callable[[], Times]], num_rounds: int) -> None:
    rounds: dict[str, list[Times]] = defaultdict(list)
    for _ in range(num_rounds):
        for name, run in contestants.items():
            rounds[name].append(run())
    medians = {
        name: {key: statistics.median(times[key] for times in runs) for key in runs[0]} for name, runs in rounds.items()
    }
    dense = medians["dense"]
    print(f"\nbatch {batch}, {prompts[0].num_visual} visual tokens; seconds, medians of {num_rounds} rounds")
    for name, times in medians.items():
        line = f"{name:14} prefill {times['prefill']:6.2f}  decode {times['decode']:6.2f}"
        line += f" ({dense['decode'] / times['decode']:.2f}x)"
        if "attention" in times:
            line += f"  attention {times['attention']:6.2f} ({dense['attention'] / times['attention']:.2f}x"
            line += f", bytes allow {dense['kv'] / times['kv']:.2f}x)  visual KV read {times['visual_kv']:.3f}"
        total, dense_total = (t["prefill"] + t["decode"] for t in (times, dense))
        print(f"{line}  prefill + decode {dense_total / total:.2f}x")


if __name__ == "__main__":
    main()
