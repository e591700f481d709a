"""Files are whole or absent, and leftovers of the dead are told from work of the living."""

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fastocr_cli.errors import OutputError
from fastocr_cli.output import files


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_utf8_and_unix_newlines_with_the_usual_permissions(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.md"
    old = os.umask(0o022)
    files.write_atomically(path, ["✓ 中\n", "ﬃ\n"])
    os.umask(old)
    assert path.read_bytes() == "✓ 中\nﬃ\n".encode()
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert files.file_sha256(path) == files.write_atomically(path, ["✓ 中\nﬃ\n"])


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    path.write_text("old")

    def chunks() -> Iterator[str]:
        yield "new"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.write_atomically(path, chunks())
    assert path.read_text() == "old"
    assert names(tmp_path) == {"a.md"}


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_full_disk_is_told_with_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    def full(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(f"os.{step}", full)
    with pytest.raises(OutputError, match=r"a\.md: No space left.*Make room"):
        files.write_atomically(tmp_path / "a.md", ["text"])
    assert names(tmp_path) == set()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_line_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(OutputError, match="No space left"):
        files.append_line(Path("/dev/full"), {"a": 1})


def test_a_file_system_without_fsync_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(number: int) -> None:
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr("os.fsync", unknown)
    files.write_atomically(tmp_path / "a.md", ["text"])
    assert (tmp_path / "a.md").read_text() == "text"


def test_leftovers_go_and_living_files_stay(tmp_path: Path) -> None:
    (tmp_path / ".fastocr-0011223344556677.tmp").write_text("of a killed run")
    (tmp_path / "mine.tmp").write_text("of someone else")
    with files.temporary_file(tmp_path) as (path, _):
        files.remove_stale(tmp_path)
        assert names(tmp_path) == {path.name, "mine.tmp"}
    assert names(tmp_path) == {"mine.tmp"}
    files.remove_stale(tmp_path / "absent")


def test_without_locks_only_age_tells(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_lock", lambda file: False)
    young, old = tmp_path / ".fastocr-1.tmp", tmp_path / ".fastocr-2.tmp"
    young.touch()
    old.touch()
    os.utime(old, (1, 1))
    files.remove_stale(tmp_path)
    assert names(tmp_path) == {young.name}


def test_a_file_in_place_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(OutputError, match="out"):
        files.check_writable(tmp_path / "out" / "deep")


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_takes_no_files(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    with pytest.raises(OutputError, match="Permission denied"):
        files.check_writable(tmp_path)


def test_json_lines_pass_over_what_is_torn(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    files.append_line(path, {"a": 1})
    with path.open("a") as file:
        file.write('{"torn\n[1]\n')
    files.append_line(path, {"b": "\udc80"})
    assert list(files.read_lines(path)) == [{"a": 1}, {"b": "\udc80"}]
    assert list(files.read_lines(tmp_path / "absent")) == []
