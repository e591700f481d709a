"""What FastOCR keeps of the dense text: python benchmarks/kept.py PAGES... --batch 1 8 --keep 0.05

Reads every page densely and pruned, in one run, through the same reader that `fastocr convert` uses. Prints the text
kept (1 - edit distance / longer length, over all pages), the visual KV read, and whether the tokens at kept ratio 1
and the tokens at each batch size are those of the dense model at batch 1. Where NAME.md lies beside NAME.pdf, it is
the truth, and the character error rate is printed too.
"""

import argparse
import time
from collections.abc import Iterable

import torch
from rapidfuzz.distance import Levenshtein

from fastocr_cli.config import RunConfig
from fastocr_cli.pages import PageRef, PageResult, find_pages
from fastocr_cli.reader import Reader

Results = dict[PageRef, PageResult]


def read(args: argparse.Namespace, batch: int, method: str, options: dict[str, str]) -> tuple[Results, float]:
    """All pages, and the seconds that reading them took after the model was loaded."""
    config = RunConfig(
        model=args.model,
        method=method,
        method_options=options,
        batch_size=batch,
        text_layer=args.text_layer,
        max_new_tokens=args.max_new_tokens,
    )
    reader = Reader(config)
    refs = [item for item in find_pages(args.pages, config) if isinstance(item, PageRef)]
    started = time.perf_counter()
    return {result.ref: result for result in reader.read(refs[: args.num_pages])}, time.perf_counter() - started


def kept(texts: Iterable[tuple[str, str]]) -> float:
    """1 - normalised edit distance over pairs of texts."""
    pairs = list(texts)
    return 1 - sum(Levenshtein.distance(*pair) for pair in pairs) / max(1, sum(max(map(len, pair)) for pair in pairs))


def error_rate(results: Results) -> float | None:
    """Character error rate against NAME.md, over one-page documents that have one."""
    truths = {
        ref: truth.read_text(encoding="utf-8").strip()
        for ref in results
        if (truth := ref.document.path.with_suffix(".md")).exists() and ref.document.num_pages == 1
    }
    if not truths:
        return None
    errors = sum(Levenshtein.distance(results[ref].raw.strip(), truth) for ref, truth in truths.items())
    return errors / sum(map(len, truths.values()))


def describe(name: str, results: Results, dense: Results, seconds: float) -> str:
    pages = list(results.values())
    equal = sum(results[ref].raw == dense[ref].raw for ref in dense)
    reads = [page.visual_kv_read for page in pages if page.visual_kv_read is not None]
    rate = error_rate(results)
    line = f"{name:34} text kept {kept((results[ref].raw, dense[ref].raw) for ref in dense):7.2%}"
    line += f"  equal pages {equal}/{len(dense)}  visual KV read {sum(reads) / max(1, len(reads)):.3f}"
    line += "" if rate is None else f"  CER {rate:.4f}"
    cut = sum(page.cut for page in pages)
    return f"{line}  cut {cut}  tokens {sum(page.num_new_tokens for page in pages)}  {seconds:.1f} s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", help="PDFs, images, folders")
    parser.add_argument("--model", default="pocket")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8])
    parser.add_argument("--keep", nargs="+", default=["0.05"])
    parser.add_argument("--focal", nargs="+", default=["saved"], help="sets of focal layers")
    parser.add_argument("--text-layer", default="auto")
    parser.add_argument("--num-pages", type=int, default=20)
    parser.add_argument("--max-new-tokens", type=int)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    dense, seconds = read(args, 1, "dense", {})
    visual = [page.num_visual_tokens for page in dense.values()]
    print(f"{len(dense)} pages, {min(visual)} to {max(visual)} visual tokens, cpu, {args.threads} threads")
    print(describe("dense, batch 1", dense, dense, seconds))
    for batch in args.batch:
        if batch > 1:
            print(describe(f"dense, batch {batch}", *shown(read(args, batch, "dense", {}), dense)))
        for focal in args.focal:
            for keep in ("1.0", *args.keep):
                options = {"keep": keep, "focal": focal}
                name = f"fastocr {keep}, focal {focal}, batch {batch}"
                print(describe(name, *shown(read(args, batch, "fastocr", options), dense)), flush=True)


def shown(run: tuple[Results, float], dense: Results) -> tuple[Results, Results, float]:
    return run[0], dense, run[1]


if __name__ == "__main__":
    main()
