"""What pocket writes of pages that name their letters: other languages, wide tables, cells that wrap."""

from collections.abc import Callable
from pathlib import Path

import pymupdf
import pytest
import torch

from fastocr_cli.config import RunConfig
from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job
from fastocr_cli.models.base import Prompt
from fastocr_cli.models.pocket import Model
from fastocr_cli.models.pocket.pointer import CLOSING, PATIENCE
from fastocr_cli.pages import PageRef, find_pages, render
from fastocr_cli.pruning import make_method

Draw = Callable[[pymupdf.Page], None]


def encoded(pocket: Model, folder: Path, draw: Draw, width: float = 595, characters: bool = True) -> Prompt:
    """The prompt of a PDF page."""
    document = pymupdf.open()
    draw(document.new_page(width=width, height=300))
    document.save(folder / "page.pdf")
    (page,) = find_pages([str(folder / "page.pdf")], RunConfig())
    assert isinstance(page, PageRef)
    with torch.inference_mode():
        return pocket.encode(render(page, pocket.resolution, characters=characters))


def written(pocket: Model, prompt: Prompt) -> str:
    """What is written of a page, everything read."""
    (result,) = Decoder[int](pocket, make_method("dense", {}), 1).write(iter([Job(0, prompt, 900)]))
    assert result.finish_reason == "stop"
    return pocket.detokenize(result.ids).strip()


@pytest.mark.parametrize(
    "text",
    [
        "Les ateliers d'été ont été complétés par une série de conférences à l'hôtel de ville. « Très bien », a dit Éric.",
        "Die Gesellschaft für Straßenbau hat über 120 Kilometer erneuert. Größere Störungen gab es an Brücken nicht.",
    ],
    ids=["French", "German"],
)  # fmt: skip
def test_letters_that_english_lacks_are_copied(pocket: Model, tmp_path: Path, text: str) -> None:
    def draw(page: pymupdf.Page) -> None:
        assert page.insert_textbox(pymupdf.Rect(60, 60, 540, 200), text, fontname="tiro", fontsize=11) > 0

    assert written(pocket, encoded(pocket, tmp_path, draw)).lstrip("# ") == text


def test_a_landscape_table_is_read_to_its_last_column(pocket: Model, tmp_path: Path) -> None:
    rows = [["Station", *["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"], "Year"]]
    rows += [
        [name, *(str(100 + 7 * k + n) for n in range(13))] for k, name in enumerate(("Aberdeen", "Bergen", "Cork"))
    ]

    def draw(page: pymupdf.Page) -> None:
        for number, row in enumerate(rows):
            for column, text in enumerate(row):
                page.insert_text((40 + 56 * column, 80 + 22 * number), text, fontname="helv", fontsize=10)
        for y in (64, 86, 80 + 22 * len(rows)):
            page.draw_line((40, y), (802, y))

    text = written(pocket, encoded(pocket, tmp_path, draw, width=842))
    for row in rows:
        assert "<tr><td>" + "</td><td>".join(row) + "</td>" in text
    assert text.count("<table>") == 1


def test_cells_that_wrap_are_read_one_after_the_other(pocket: Model, tmp_path: Path) -> None:
    rows = [
        ("Source", "What it is", "Examples"),
        ("Major", "emits ten tons per year or more of any one of the gases", "refineries, steel works and plants"),
        ("Area", "emits less than that, but is one of very many", "dry cleaners, garages and paint shops"),
    ]

    def draw(page: pymupdf.Page) -> None:
        edges = (60, 140, 320, 500)
        for number, row in enumerate(rows):
            top = 60 + 44 * number
            for left, right, text in zip(edges, edges[1:], row, strict=False):
                box = pymupdf.Rect(left + 5, top + 4, right - 5, top + 44)
                assert page.insert_textbox(box, text, fontname="helv", fontsize=10) > 0
        for y in (60, 104, 148, 192):
            page.draw_line((60, y), (500, y))
        for x in edges:
            page.draw_line((x, 60), (x, 192))

    text = written(pocket, encoded(pocket, tmp_path, draw))
    for row in rows:
        assert "<tr><td>" + "</td><td>".join(row) + "</td>" in text
    assert text.count("<table>") == 1


def test_a_page_that_was_read_to_its_end_ends(pocket: Model, tmp_path: Path) -> None:
    def draw(page: pymupdf.Page) -> None:
        page.insert_text((60, 80), "All of it", fontsize=11)

    pointer = pocket.begin(encoded(pocket, tmp_path, draw))
    mark = pocket.tokenizer.token_to_id("-")
    pointer.idle = PATIENCE
    assert pocket.writable.instead(pointer, mark) == mark  # there is something to read
    pointer.read[:], pointer.onward, pointer.idle = True, len(pointer.read), CLOSING - 1
    assert pocket.writable.instead(pointer, mark) == mark  # a listing may have to be closed
    pointer.idle = CLOSING
    assert pocket.writable.instead(pointer, mark) in pocket.stop_token_ids


@pytest.mark.parametrize("characters", [True, False])
def test_a_bill_without_drawn_lines_is_a_table_with_its_empty_cells(
    pocket: Model, tmp_path: Path, characters: bool
) -> None:
    rows = [
        ("Item", "Description", "Price", "Amount"),
        ("1", "Website redesign", "4,500.00", "4,500.00"),
        ("2", "Hosting", "39.90", "478.80"),
        ("3", "Consulting", "110.00", "1,760.00"),
        ("", "", "Total", "6,738.80"),
    ]

    def draw(page: pymupdf.Page) -> None:
        page.insert_text((72, 60), "Bill to Harper and Sons, Bath.", fontname="helv", fontsize=11)
        for number, row in enumerate(rows):
            for x, text in zip((72, 130, 330, 430), row, strict=True):
                page.insert_text((x, 110 + 18 * number), text, fontname="helv", fontsize=11)

    text = written(pocket, encoded(pocket, tmp_path, draw, characters=characters))
    table = "</td></tr><tr><td>".join("</td><td>".join(row) for row in rows)
    assert f"<table><tr><td>{table}</td></tr></table>" in text


def test_a_side_column_of_short_lines_is_read_by_itself_and_makes_no_table(pocket: Model, tmp_path: Path) -> None:
    side = [
        "anna@holm.example",
        "070 123 45 67",
        "Uppsala",
        "Python",
        "Airflow",
        "Kubernetes",
        "Terraform",
        "Swedish",
        "English",
    ]
    prose = [f"Sentence number {number} tells what was done at work that year." for number in range(9)]

    def draw(page: pymupdf.Page) -> None:
        for number, (short, long) in enumerate(zip(side, prose, strict=True)):
            page.insert_text((60, 80 + 21 * number), short, fontname="helv", fontsize=10)
            page.insert_text((230, 80 + 17 * number), long, fontname="tiro", fontsize=11)

    text = written(pocket, encoded(pocket, tmp_path, draw))
    assert "<table" not in text
    assert [word for word in text.replace("- ", "").replace("#", "").split() if word] == " ".join(
        [*side, *prose]
    ).split()
