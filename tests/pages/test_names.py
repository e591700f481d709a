"""Case FL-41: names of results, whatever the inputs are called."""

import unicodedata
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.pages.names import assign_names


def test_clashes_get_their_ending_then_a_number() -> None:
    wanted = [("x", ".pdf"), ("x", ".png"), ("X", ".pdf"), ("a/x", ".pdf"), ("y", ".PDF")]
    assert assign_names(wanted) == ["x.pdf", "x.png", "X.pdf-2", "a/x", "y"]


def test_a_made_up_name_never_takes_one_that_is_asked_for() -> None:
    assert assign_names([("x", ".pdf"), ("x", ".png"), ("x.pdf", ".pdf")]) == ["x.pdf-2", "x.png", "x.pdf"]


def test_folders_called_like_our_own_results_are_renamed() -> None:
    assert assign_names([("report", ".pdf"), ("report.pages/0003", ".png"), ("a.MD/b", ".pdf")]) == [
        "report",
        "report.pages_/0003",
        "a.MD_/b",
    ]


def test_many_twins_take_no_quadratic_time() -> None:
    names = assign_names([("x", ".pdf")] * 20_000)
    assert len(set(names)) == 20_000


_parts = st.text(st.characters(codec=None, exclude_categories=()), max_size=30).map(lambda part: part.replace("/", ""))
_names = st.lists(st.one_of(_parts, st.sampled_from(["..", ".", "x", "X", "é", "e\u0301", "x.pages"])), max_size=4).map(
    "/".join
)


@given(st.lists(st.tuples(_names, st.sampled_from([".pdf", ".PDF", ".png", ""])), max_size=12))
def test_names_differ_on_every_file_system_and_stay_inside(wanted: list[tuple[str, str]]) -> None:
    names = assign_names(wanted)
    keys = [unicodedata.normalize("NFC", name).casefold() for name in names]
    assert len(set(keys)) == len(wanted)
    for name in names:
        path = Path("out") / name
        assert not Path(name).is_absolute()
        assert all(part not in ("", ".", "..") for part in name.split("/"))
        assert str(path) == f"out/{name}"
        assert all(len(f"{part}.pages".encode()) <= 255 for part in name.split("/"))  # surrogates would raise
