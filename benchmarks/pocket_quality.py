"""How well pocket reads, beside Tesseract and RapidOCR: python benchmarks/pocket_quality.py SYSTEM... --pages DIR...

A folder of pages holds NAME.pdf (or .png, .tif) with its truth NAME.md. Systems: `pocket`, with `+text` for the page's
own characters and `+fastocr` for pruned decoding (the plain name decodes densely from pixels alone); `tesseract`;
`rapidocr`. Prints one Markdown table a folder; `--out` keeps every text and figure.
"""

import argparse
import json
import os
import platform
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pymupdf
import torch
from training.metrics import Score, score

from fastocr_cli.config import RunConfig
from fastocr_cli.pages import PageRef, find_pages
from fastocr_cli.reader import Reader

ENDINGS = {".pdf", ".png", ".tif"}
COLUMNS = [
    "system", "CER text", "median", "word error", "missing", "CER Markdown", "TEDS", "formulas exact", "formula CER",
    "pages/min", "kept",
]  # fmt: skip
Texts = dict[Path, str]  # of each page's file
Read = Callable[[list[Path]], Texts]


def truths(folder: Path, exclude: str | None) -> dict[Path, str]:
    """The truth of every page that has one; a YAML head is not part of it."""
    found = {}
    for path in sorted(folder.resolve().rglob("*")):
        truth = path.with_suffix(".md")
        if path.suffix in ENDINGS and truth.exists() and not (exclude and exclude in path.name):
            text = truth.read_text()
            found[path] = text.split("---\n", 2)[2] if text.startswith("---\n") else text
    return found


def pocket(options: argparse.Namespace, system: str) -> Read:
    extras = system.split("+")[1:]
    config = RunConfig(
        model=options.model,
        method="fastocr" if "fastocr" in extras else "dense",
        method_options={"focal": options.focal} if options.focal and "fastocr" in extras else {},
        text_layer="auto" if "text" in extras else "ignore",
        batch_size=options.batch,
        dtype=options.dtype,
        device="cpu",
        max_new_tokens=options.max_new_tokens,
    )
    reader = Reader(config)

    def read(paths: list[Path]) -> Texts:
        refs = [item for item in find_pages([str(path) for path in paths], config) if isinstance(item, PageRef)]
        return {result.ref.document.path: result.raw for result in reader.read(refs)}

    return read


def picture_of(path: Path, dpi: int) -> Any:
    document: Any = pymupdf.open(path)  # type: ignore[no-untyped-call]
    return document[0].get_pixmap(dpi=dpi)


def tesseract(*_: object) -> Read:
    """At 300 dpi, which it asks for, in one thread: more of them get in each other's way."""
    alone = {**os.environ, "OMP_THREAD_LIMIT": "1"}

    def read_one(path: Path) -> str:
        picture = picture_of(path, 300).tobytes("png")
        run = subprocess.run(["tesseract", "-", "-"], input=picture, capture_output=True, check=True, env=alone)
        text: str = run.stdout.decode()
        return text

    return lambda paths: {path: read_one(path) for path in paths}


def rapidocr(*_: object) -> Read:
    """At 200 dpi; its lines from top to bottom."""
    import numpy as np
    from rapidocr import RapidOCR

    engine = RapidOCR()

    def read_one(path: Path) -> str:
        pixmap = picture_of(path, 200)
        picture = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, pixmap.n)[..., :3]
        found: Any = engine(picture)
        return "\n".join(found.txts or ())

    return lambda paths: {path: read_one(path) for path in paths}


SYSTEMS: dict[str, Callable[[argparse.Namespace, str], Read]] = {
    "pocket": pocket,
    "tesseract": tesseract,
    "rapidocr": rapidocr,
}
"""Of each, what loads it; the time to do so does not count."""


def kept(dense: Texts, pruned: Texts) -> float:
    """Share of the dense text that pruned decoding keeps."""
    from rapidfuzz.distance import Levenshtein

    distance = sum(Levenshtein.distance(dense[name], pruned[name]) for name in dense)
    return 1 - distance / max(1, sum(max(len(dense[name]), len(pruned[name])) for name in dense))


def measure(folder: Path, options: argparse.Namespace) -> dict[str, object]:
    """All systems on one folder."""
    truth = truths(folder, options.exclude)
    paths = list(truth)[: options.limit]
    results: dict[str, object] = {}
    texts: dict[str, Texts] = {}
    print(f"\n{folder.name}: {len(paths)} pages\n")
    print("| " + " | ".join(COLUMNS) + " |\n" + "| --- " * len(COLUMNS) + "|")
    for system in options.systems:
        read = SYSTEMS[system.split("+")[0]](options, system)
        started = time.perf_counter()
        texts[system] = read(paths)
        minutes = (time.perf_counter() - started) / 60
        scored = score([(truth[path], texts[system].get(path, "")) for path in paths])
        dense = texts.get(system.replace("+fastocr", ""))
        share = kept(dense, texts[system]) if dense and "+fastocr" in system else None
        print(row(system, scored, len(paths) / minutes, share), flush=True)
        results[system] = {
            **vars(scored),
            "pages_per_minute": len(paths) / minutes,
            "kept": share,
            "texts": {path.name: text for path, text in texts[system].items()},
        }
    return results


def row(system: str, scored: Score, speed: float, share: float | None) -> str:
    """One line of the table; shares in percent."""

    def percent(value: float | None) -> str:
        return "" if value is None else f"{100 * value:.1f}"

    figures: list[float | None] = [scored.text_cer, scored.median_cer, scored.word_error, scored.missing]
    figures += [scored.markdown_cer, scored.teds, scored.formula_exact, scored.formula_cer]
    return f"| {system} | " + " | ".join([*map(percent, figures), f"{speed:.1f}", percent(share)]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("systems", nargs="+")
    parser.add_argument("--model", default="pocket", help="or a folder with other weights of pocket")
    parser.add_argument("--pages", nargs="+", type=Path, required=True)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--exclude", help="leave out files with this in their names")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--max-new-tokens", type=int, help="else what the model writes at most")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--focal", help="else those of the profile")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    machine = f"{platform.machine()}, {options.threads} threads, torch {torch.__version__}"
    print(f"{machine}; pocket in {options.dtype}, batch {options.batch}")
    results = {folder.name: measure(folder, options) for folder in options.pages}
    if options.out:
        options.out.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
