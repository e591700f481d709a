"""Held-out generated pages as files: python -m training.testset DATA OUT [--count 20] [--size small].

OUT/text: headings, lists, paragraphs; OUT/rich: tables, formulas, code, figures too. One-page PDFs, each with its
Markdown beside it; their text, their formulas and their seeds are never trained on.
"""

import argparse
import random
from itertools import count
from pathlib import Path

from training.batches import MIDDLE, SMALL, WHOLE, Shape
from training.content import Content
from training.document import Writer
from training.typeset import compile_pdf, numbered_pages

SEED = 987_651
SIZES = {"small": SMALL, "middle": MIDDLE, "whole": WHOLE}


def write_pages(data: Path, out: Path, num_pages: int, text_only: bool, shapes: list[Shape]) -> None:
    """One page of each document, so that every page has its own look."""
    out.mkdir(parents=True, exist_ok=True)
    written = 0
    for seed in count(SEED):
        rng = random.Random(f"test/{seed}")
        shape = rng.choice(shapes)
        writer = Writer(Content(data, rng, held_out=True), rng, text_only)
        document = writer.document(*shape, num_pages=2)
        pdf = compile_pdf(document)
        first = next(numbered_pages(pdf, document, *shape), None)
        if first is not None:
            number, page = first
            pdf.select([number])
            pdf.save(out / f"{seed}.pdf", garbage=4, deflate=True)
            (out / f"{seed}.md").write_text(page.target + "\n")
            written += 1
        if written == num_pages:
            return


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--size", choices=SIZES, default="whole")
    options = parser.parse_args()
    for kind in ("text", "rich"):
        folder = options.out / kind
        write_pages(options.data, folder, options.count, text_only=kind == "text", shapes=SIZES[options.size])
