"""Files of real pages: python -m training.realset FOLDER --train DATA/real.pickle --test TESTSET.

FOLDER holds the PDFs of Debian's documentation packages; some documents are only ever tested on.
"""

import argparse
import gzip
import io
import pickle
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
from PIL import Image

from training.page import TOKEN_HEIGHT, TOKEN_WIDTH, Page
from training.realpages import real_pages

HELD_OUT = ("bashref", "debian-faq", "maint-guide", "reportlab-userguide")  # documents kept for testing


def pack(page: Page) -> tuple[bytes, str, Any, str, Any]:
    """A page with its picture as PNG."""
    buffer = io.BytesIO()
    Image.fromarray(page.image).save(buffer, "PNG")
    return buffer.getvalue(), page.target, page.centres, page.glyphs, page.glyph_centres


def unpack(packed: tuple[bytes, str, Any, str, Any]) -> Page:
    picture_bytes, *rest = packed
    image = np.asarray(Image.open(io.BytesIO(picture_bytes)))
    margins = (0, -image.shape[0] % TOKEN_HEIGHT), (0, -image.shape[1] % TOKEN_WIDTH)
    return Page(np.pad(image, margins, constant_values=255), *rest)


def write_training_pages(folder: Path, out: Path, most: int = 100) -> None:
    """Up to `most` pages of every document that is not held out, as one pickle."""
    pages = []
    for path in documents(folder):
        if not path.name.startswith(HELD_OUT):
            found = [pack(page) for _, page in real_pages(path)]
            chosen = random.Random(0).sample(found, min(most, len(found)))
            pages += chosen
            print(f"{len(chosen):4} of {len(found):4} pages  {path.name}", flush=True)
    out.write_bytes(pickle.dumps(pages))


def write_test_pages(folder: Path, out: Path, each: int = 10) -> None:
    """Pages of the held-out documents as one-page PDFs with their Markdown beside them."""
    out.mkdir(parents=True, exist_ok=True)
    for path in documents(folder):
        if path.name.startswith(HELD_OUT):
            data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
            found = list(real_pages(path, every=3))
            for number, page in found[:: max(1, len(found) // each)][:each]:
                name = f"{path.name.split('.')[0]}-{number + 1:03}"
                single = pymupdf.open(stream=data, filetype="pdf")  # type: ignore[no-untyped-call]
                single.select([number])  # type: ignore[no-untyped-call]
                single.save(out / f"{name}.pdf", garbage=4, deflate=True)  # type: ignore[no-untyped-call]
                (out / f"{name}.md").write_text(page.target + "\n")


def documents(folder: Path) -> list[Path]:
    """English PDFs under a folder, each name once."""
    found = sorted(path for path in folder.rglob("*.pdf*") if not re.search(r"\.(?!en\b)[a-z]{2}(_BR)?\.", path.name))
    return list({path.name: path for path in found}.values())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="where Debian's documentation packages are unpacked")
    parser.add_argument("--train", type=Path, help="file to write for training")
    parser.add_argument("--test", type=Path, help="folder to write held-out pages to")
    options = parser.parse_args()
    if options.train:
        write_training_pages(options.folder, options.train)
    if options.test:
        write_test_pages(options.folder, options.test)
