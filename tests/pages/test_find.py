"""Cases FL-01..03, FL-18, FL-19, FL-41: what is found, under which name, and what is said of the rest."""

import io
import logging
import os
import sys
import tempfile
from pathlib import Path

import pymupdf
import pytest
from made import pages, pdf, picture, refs, write

from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ConfigError, InputError
from fastocr_cli.pages import BadInput, PageRef, find_pages


def names(found: list[PageRef | BadInput]) -> list[str]:
    return [item.document.name for item in found if isinstance(item, PageRef)]


def problem(found: list[PageRef | BadInput]) -> str:
    (bad,) = (item for item in found if isinstance(item, BadInput))
    return str(bad.error)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """in/a/x.pdf in/b/x.pdf in/X.pdf in/x.png"""
    monkeypatch.chdir(tmp_path)
    for folder in ("in/a", "in/b"):
        Path(folder).mkdir(parents=True)
    for path in ("in/a/x.pdf", "in/b/x.pdf", "in/X.pdf"):
        pdf(Path(path), write(path))
    picture("x").save("in/x.png")
    return Path("in")


def test_a_folder_is_mirrored_and_clashes_are_solved(tree: Path) -> None:
    assert names(refs(tree)) == ["X.pdf", "a/x", "b/x", "x.png"]


def test_names_do_not_depend_on_how_the_folder_is_written(tree: Path) -> None:
    expected = names(refs(tree))
    for written in ("in/", "./in", tree.resolve(), "in/a/.."):
        assert names(refs(written)) == expected


def test_files_are_called_by_their_stem(tree: Path) -> None:
    assert names(refs("in/a/x.pdf")) == ["x"]
    assert names(refs(tree / "a/x.pdf", tree.resolve() / "b/x.pdf", "in/x.png")) == ["x.pdf", "x.pdf-2", "x.png"]


def test_the_same_file_is_read_once(tree: Path) -> None:
    (tree / "link.pdf").symlink_to("X.pdf")
    found = refs("in/X.pdf", "./in/X.pdf", (tree / "X.pdf").resolve(), "in/link.pdf", tree)
    assert names(found) == ["X.pdf", "a/x", "b/x", "x.png"]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("in/*.pdf", ["X"]),
        ("in/*.PDF", ["X"]),
        ("in/**/*.pdf", ["X", "a/x", "b/x"]),
        ("in/*/x.pdf", ["a/x", "b/x"]),
        ("**/x.p[dn][fg]", ["in/X.pdf", "in/a/x", "in/b/x", "in/x.png"]),
        ("i?/a", ["in/a/x"]),
        ("in/**", ["X.pdf", "a/x", "b/x", "x.png"]),
    ],
)
def test_globs_are_expanded_when_the_shell_left_them(tree: Path, pattern: str, expected: list[str]) -> None:
    (tree / "notes.txt").write_text("no document")
    assert names(refs(pattern)) == expected


def test_a_file_whose_name_looks_like_a_pattern(tree: Path) -> None:
    pdf(tree / "scan[1].pdf", write("x"))
    assert names(refs("in/scan[1].pdf")) == ["scan[1]"]


def test_office_scanner_folder(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one = pdf(tmp_path / "A.PDF", write("a"))
    picture("b").save(tmp_path / "b.Tiff", format="TIFF")
    picture("c").save(tmp_path / "C.JPEG")
    picture("d").save(tmp_path / "d.jpg", format="PNG")
    (tmp_path / "e").write_bytes(one.read_bytes())
    (tmp_path / ".hidden.pdf").write_bytes(one.read_bytes())
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/f.pdf").write_bytes(one.read_bytes())
    (tmp_path / "sub/.git").mkdir()
    (tmp_path / "sub/.git/g.pdf").write_bytes(one.read_bytes())
    (tmp_path / "self").symlink_to(tmp_path)
    (tmp_path / "sub/up").symlink_to("..")
    (tmp_path / "readme.txt").write_text("mentions %PDF-1.7 only")
    os.mkfifo(tmp_path / "pipe.pdf")
    with caplog.at_level(logging.INFO, "fastocr"):
        found = refs(tmp_path)
    assert names(found) == ["A", "C", "b", "d", "e", "sub/f"]
    assert "Passed over 2 files" in caplog.text
    assert names(refs(tmp_path / ".hidden.pdf")) == ["_hidden"]
    assert len(names(refs(str(tmp_path / "**/*.pdf")))) == 2


def test_what_an_earlier_run_wrote_is_no_input(tmp_path: Path) -> None:
    for folder in ("out/a.pages/figures", "mine.pages"):
        (tmp_path / folder).mkdir(parents=True)
        picture("x").save(tmp_path / folder / "0001-1.png")
    pdf(tmp_path / "a.pdf", write("a"))
    (tmp_path / "out/a.pages/document.json").write_text("{}")
    for given in (tmp_path, tmp_path / "**"):
        assert names(refs(given)) == ["a", "mine.pages_/0001-1"]


def test_a_linked_folder_is_followed_once(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "far").mkdir()
    pdf(tmp_path / "far/x.pdf", write("x"))
    for link in ("in/one", "in/two"):
        (tmp_path / link).symlink_to(tmp_path / "far")
    assert names(refs(tmp_path / "in")) == ["one/x"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty.pdf", b"", "empty"),
        ("note.pdf", b"just some words", "is no PDF, or damaged beyond repair."),
        ("login.pdf", b"<html>Please log in</html>", "is no PDF, or damaged beyond repair."),
        ("torn.pdf", b"%PDF-1.7\n1 0 ob", "is no PDF, or damaged beyond repair."),
        ("note.txt", b"just some words", "neither a PDF nor an image"),
        ("d.png", b"", "empty"),
        ("e.jpg", b"<html>", "neither a PDF nor an image"),
        ("f.png", b"\x89PNG\r\n\x1a\n and no more", "damaged"),
        ("g.docx", b"PK\x03\x04", "neither a PDF nor an image"),
    ],
)
def test_what_is_no_document_is_said_in_one_line(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    (tmp_path / name).write_bytes(content)
    good = pdf(tmp_path / "good.pdf", write("good"))
    found = refs(tmp_path / name, good)
    assert names(found) == ["good"]
    assert said in problem(found)
    assert str(tmp_path / name) in problem(found)
    assert "\n" not in problem(found)


ZERO_PAGES = b"""%PDF-1.4
1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj
2 0 obj<</Type/Pages/Kids[]/Count COUNT>>endobj
trailer<</Size 3/Root 1 0 R>>
%%EOF"""


@pytest.mark.parametrize("count", [b"0", b"-1", b"30", b"3000000000"])
def test_a_pdf_without_pages_is_damaged(tmp_path: Path, count: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "z.pdf").write_bytes(ZERO_PAGES.replace(b"COUNT", count))
    assert "damaged" in problem(refs(tmp_path / "z.pdf"))
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("damage", [lambda data: data[20:], lambda data: data[: len(data) // 2]])
def test_a_repaired_pdf_is_read_with_a_warning(tmp_path: Path, caplog, damage) -> None:
    path = pdf(tmp_path / "a.pdf", write("one"), write("two"))
    path.write_bytes(damage(path.read_bytes()))
    found = refs(path)
    assert names(found) == ["a", "a"] or "damaged" in problem(found)
    assert "repaired" in caplog.text or "damaged" in problem(found)


def test_an_image_called_pdf_is_read_as_an_image(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    picture("x").save(tmp_path / "photo.pdf", format="PNG")
    assert names(refs(tmp_path / "photo.pdf")) == ["photo"]
    assert "no PDF but an image" in caplog.text


def test_passwords(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pymupdf.open() as document:
        document.new_page()
        aes = pymupdf.PDF_ENCRYPT_AES_256
        document.save(tmp_path / "user.pdf", encryption=aes, user_pw="u-test", owner_pw="o-test")
        document.save(tmp_path / "owner.pdf", encryption=aes, owner_pw="o-test", permissions=pymupdf.PDF_PERM_PRINT)
    user, owner = tmp_path / "user.pdf", tmp_path / "owner.pdf"
    assert names(refs(user, owner)) == ["owner"]
    assert "needs a password" in problem(refs(user))
    wrong = problem(refs(user, password="hush-hush"))
    assert "does not open" in wrong
    assert "hush-hush" not in wrong + caplog.text
    for password in ("u-test", "o-test"):
        assert names(refs(user, owner, password=password)) == ["user", "owner"]


def test_page_ranges(tmp_path: Path) -> None:
    path = pdf(tmp_path / "a.pdf", *[write("x")] * 12)
    assert [ref.number for ref in pages(path, pages="1-3,7,10-")] == [1, 2, 3, 7, 10, 11, 12]
    assert [ref.number for ref in pages(path, pages="-2,99")] == [1, 2]
    assert "has 12 pages" in problem(refs(path, pages="13-"))
    with pytest.raises(ConfigError):
        find_pages([str(path)], RunConfig(pages="x"))


def test_shards_share_out_every_item_once(tmp_path: Path) -> None:
    for number in range(4):
        pdf(tmp_path / f"{number}.pdf", *[write("x")] * 3)
    (tmp_path / "bad.pdf").write_bytes(b"")
    whole = refs(tmp_path)
    shards = [refs(tmp_path, shard=(index, 3)) for index in (1, 2, 3)]
    assert [len(shard) for shard in shards] == [5, 4, 4]
    assert {str(item) for shard in shards for item in shard} == {str(item) for item in whole}
    assert shards[1][0] == whole[1]


@pytest.mark.parametrize("given", [[], ["nowhere.pdf"], ["empty"], ["*.pdf"], ["nowhere.pdf", "empty"]])
def test_nothing_at_all_to_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("empty/readme.txt").write_text("x")
    with pytest.raises(InputError):
        find_pages(given, RunConfig())


def test_missing_inputs_beside_good_ones(tree: Path) -> None:
    for missing in ("nowhere.pdf", "*.docx", "broken.pdf"):
        Path("broken.pdf").unlink(missing_ok=True)
        Path("broken.pdf").symlink_to("gone.pdf")
        found = refs("in/X.pdf", missing)
        assert names(found) == ["X"]
        assert missing in problem(found)


class Stdin:
    def __init__(self, content: bytes) -> None:
        self.buffer = io.BytesIO(content)


def test_standard_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    image = io.BytesIO()
    picture("x").save(image, "PNG")
    document = pdf(tmp_path / "a.pdf", write("a"), write("b")).read_bytes()
    for content, num_pages in ((document, 2), (image.getvalue(), 1)):
        monkeypatch.setattr(sys, "stdin", Stdin(content))
        found = pages("-", "-")
        assert [ref.document.name for ref in found] == ["stdin"] * num_pages
        assert {ref.document.source for ref in found} == {"-"}
    for content in (b"", b"words"):
        monkeypatch.setattr(sys, "stdin", Stdin(content))
        assert problem(refs("-")).startswith("- is")
    monkeypatch.setattr(sys, "stdin", None)
    assert "closed" in problem(refs("-"))
    monkeypatch.setattr(sys, "stdin", Stdin(document))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    assert "TMPDIR" in problem(refs("-"))


def test_documents_are_opened_only_when_their_turn_comes(tmp_path: Path) -> None:
    first, second = pdf(tmp_path / "1.pdf", write("x")), pdf(tmp_path / "2.pdf", write("x"))
    found = find_pages([str(first), str(second)], RunConfig())
    next(found)
    second.unlink()
    assert isinstance(next(found), BadInput)


def test_odd_file_names(tmp_path: Path) -> None:
    for name in ("..pdf", "a\nb.pdf", "x" * 250 + ".pdf", os.fsdecode(b"\xff.pdf")):
        pdf(tmp_path / "made.pdf", write("x")).rename(tmp_path / name)
    found = names(refs(tmp_path))
    assert len(found) == 3  # `..pdf` is hidden
    assert all(name.encode() and "\n" not in name for name in found)


def test_paths_do_not_move_with_the_working_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (found,) = pages("in/X.pdf")
    monkeypatch.chdir("/")
    assert found.document.path.is_file()
    assert found.document.source == "in/X.pdf"


def crash(*_: object) -> None:
    os.abort()


def test_a_file_that_crashes_the_library_is_a_bad_input(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastocr_cli.pages.find.count_pages", crash)
    found = list(find_pages([str(tree)], RunConfig()))
    assert found
    for item in found:
        assert isinstance(item, BadInput)
        assert "cannot be opened: opening it crashed (Aborted). Open it in a viewer" in str(item.error)
