"""Cases FL-46, FL-47: many pages, many files, many threads."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pymupdf
import pytest
from made import DPI, pages, pdf, picture, text_of, write

from fastocr_cli.errors import PageError
from fastocr_cli.pages import PageRef, Resolution, render
from fastocr_cli.pages.apart import APART
from fastocr_cli.pages.files import MAX_OPEN, OPEN_FILES
from fastocr_cli.pages.render import draw


def read(ref: PageRef) -> str | None:
    return text_of(render(ref, DPI, characters=True))


def test_every_page_has_its_own_word_whatever_the_number_of_threads(tmp_path: Path) -> None:
    for file in range(6):
        pdf(tmp_path / f"{file}.pdf", *(write(f"word{file}x{number}") for number in range(1, 4)), width=200, height=150)
    found = pages(tmp_path)
    expected = [f"word{ref.document.name}x{ref.number}" for ref in found]
    assert [read(ref) for ref in found] == expected
    for num_threads in (4, 16):
        with ThreadPoolExecutor(num_threads) as pool:
            assert list(pool.map(read, found)) == expected


def test_few_documents_stay_open(tmp_path: Path) -> None:
    for file in range(5):
        pdf(tmp_path / f"{file}.pdf", write("x"))
    for ref in pages(tmp_path):
        draw(ref, DPI, False, None)
        assert len(OPEN_FILES._open) <= MAX_OPEN


def test_a_changed_or_vanished_file(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", write("old"), write("old"))
    first, second = pages(path)
    assert read(first) == "old"
    pdf(tmp_path / "b.pdf", write("brandnew")).replace(path)
    assert read(first) == "brandnew"
    with pytest.raises(PageError, match="no page 2"):
        read(second)
    path.unlink()
    with pytest.raises(PageError, match="cannot be read"):
        read(first)


def test_a_locked_page_needs_its_password_again(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    with pymupdf.open() as document:
        document.new_page().insert_text((72, 72), "secret")
        document.save(path, encryption=pymupdf.PDF_ENCRYPT_AES_256, user_pw="u", owner_pw="o")
    (ref,) = pages(path, password="u")
    assert text_of(render(ref, DPI, characters=True, password="u")) == "secret"
    with pytest.raises(PageError, match="needs a password"):
        render(ref, DPI, characters=True)


def test_a_forked_process_draws_for_itself(tmp_path: Path) -> None:
    first, second = pages(pdf(tmp_path / "a.pdf", write("one"), write("two")))
    assert read(first) == "one"
    child = os.fork()
    if child == 0:
        os._exit(0 if read(second) == "two" else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert read(second) == "two"


def endless(path: Path) -> Path:
    """Forms that draw each other ten times, ten deep: MuPDF is busy for years."""
    with pymupdf.open() as document:
        page = document.new_page()
        inner = 0
        for level in range(10):
            form = document.get_new_xref()
            resources = f"/Resources<</XObject<</F {inner} 0 R>>>>" if level else ""
            document.update_object(form, f"<</Type/XObject/Subtype/Form/BBox[0 0 99 99]{resources}>>")
            document.update_stream(form, b"/F Do " * 10 if level else b"0 0 9 9 re f")
            inner = form
        document.xref_set_key(page.xref, "Resources", f"<</XObject<</F {inner} 0 R>>>>")
        contents = document.get_new_xref()
        document.update_object(contents, "<<>>")
        document.update_stream(contents, b"/F Do")
        page.set_contents(contents)
        document.save(path)
    return path


def test_a_page_that_takes_for_ever_fails_and_the_next_is_drawn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (endless_page,) = pages(endless(tmp_path / "endless.pdf"))
    (good_page,) = pages(pdf(tmp_path / "good.pdf", write("good")))
    monkeypatch.setattr(APART, "limit_s", 3.0)
    with pytest.raises(PageError, match=r"the drawing took longer than 3 s\. Open the file in a viewer"):
        read(endless_page)
    assert read(good_page) == "good"


def test_a_page_that_crashes_the_library_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ref,) = pages(pdf(tmp_path / "a.pdf", write("x")))
    monkeypatch.setattr(sys.modules["fastocr_cli.pages.render"], "draw", crash)
    with pytest.raises(PageError, match="the drawing crashed"):
        read(ref)


def crash(*_: object) -> None:
    os.abort()


def test_images_and_pdfs_share_the_door(tmp_path: Path) -> None:
    picture("x").save(tmp_path / "a.png")
    pdf(tmp_path / "b.pdf", write("x"))
    for ref in pages(tmp_path):
        image = render(ref, Resolution(longest_side=300), characters=True).image
        assert image.mode == "RGB"
        assert max(image.size) == 300


LONG = """
import resource, sys
from fastocr_cli.config import RunConfig
from fastocr_cli.pages import Resolution, find_pages
from fastocr_cli.pages.render import draw
peaks = []
for number, ref in enumerate(find_pages([sys.argv[1]], RunConfig()), 1):
    image = draw(ref, Resolution(dpi=120), number % 50 == 0, None)
    if number in (100, 3000):
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10)
print(number, peaks[1] - peaks[0])
"""


def test_three_thousand_pages_take_no_more_memory_than_a_hundred(tmp_path: Path) -> None:
    path = tmp_path / "long.pdf"
    with pymupdf.open() as document:
        for number in range(3000):
            document.new_page(width=120, height=60).insert_text((10, 30), f"page {number}")
        document.save(path)
    done = subprocess.run(
        [sys.executable, "-c", LONG, path],
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        capture_output=True,
        text=True,
        check=True,
    )
    num_pages, num_mebibytes = map(int, done.stdout.split())
    assert num_pages == 3000
    assert num_mebibytes < 30
