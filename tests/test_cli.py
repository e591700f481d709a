"""The command as a user meets it: exit codes, what is on which stream, and what a mistake says."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image
from typer.testing import CliRunner, Result

import stub_engine
from fastocr_cli import pipeline
from fastocr_cli.cli import app, main
from fastocr_cli.config import RunConfig
from fastocr_cli.errors import ExitCode

PAGE = Image.new("RGB", (60, 80), "white")


def make_pdf(path: Path, num_pages: int = 1) -> Path:
    PAGE.save(path, save_all=True, append_images=[PAGE] * (num_pages - 1))
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A current folder of our own, no settings from elsewhere, and the stub engine."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.startswith("FASTOCR_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("FASTOCR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(pipeline, "open_engine", stub_engine.StubEngine)
    return tmp_path


def fastocr(*arguments: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(app, list(arguments), input=stdin)


def process(*arguments: str, stdin: bytes = b"", **environment: str) -> "subprocess.CompletedProcess[bytes]":
    """The command in a process of its own, with the stub engine."""
    return subprocess.run(
        [sys.executable, stub_engine.__file__, *arguments],
        input=stdin,
        capture_output=True,
        env={**os.environ, **environment},
        timeout=60,
        check=False,
    )


def test_one_document_to_standard_output(folder: Path) -> None:
    make_pdf(folder / "a.pdf", 2)
    result = fastocr("convert", "a.pdf")
    assert result.exit_code == ExitCode.DONE
    assert "text of page 1 ✓ 中" in result.stdout
    assert result.stdout.index("page 1") < result.stdout.index("page 2")


def test_a_bare_file_means_convert(folder: Path) -> None:
    make_pdf(folder / "a.pdf")
    assert fastocr("a.pdf").stdout == fastocr("convert", "a.pdf", "-o", "-").stdout != ""
    assert fastocr("--pages", "1", "a.pdf").stdout == fastocr("a.pdf").stdout


@pytest.mark.parametrize("name", ["b.pdf", "no/such", "x" * 300 + ".pdf"])
def test_a_file_that_is_not_there_is_no_command(folder: Path, name: str) -> None:
    result = fastocr(name)
    assert result.exit_code == ExitCode.INPUT
    assert name in result.stderr


def test_a_mistyped_command_is_no_file() -> None:
    assert "No such command 'convrt'. Did you mean 'convert'?" in fastocr("convrt").stderr
    assert "No such option" in fastocr("-v", "models").stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["convert", "--help"], ["methods"], ["--version"]], ids=" ".join)
def test_a_full_disk_under_standard_output(arguments: list[str]) -> None:
    with open("/dev/full", "wb") as full:
        command = [sys.executable, stub_engine.__file__, *arguments]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == ExitCode.OUTPUT
    assert done.stderr.splitlines() == ["Error: Cannot write standard output: No space left on device. Make room."]


def test_a_folder_that_has_gone(folder: Path) -> None:
    made = make_pdf(folder / "a.pdf")
    script = f'mkdir gone; cd gone; rmdir ../gone; "{sys.executable}" "{stub_engine.__file__}" "{made}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, timeout=60, check=False)
    assert done.returncode == ExitCode.DONE, done.stderr


def test_a_folder_of_results(folder: Path) -> None:
    make_pdf(folder / "a.pdf", 3)
    result = fastocr("convert", "a.pdf", "-o", "out", "--pages", "2-")
    assert (result.exit_code, result.stdout) == (0, "")
    text = (folder / "out" / "a.md").read_text("utf-8")
    assert "page 1" not in text
    assert "text of page 3" in text


def test_a_second_run_skips_what_is_done(folder: Path) -> None:
    make_pdf(folder / "a.pdf", 3)
    fastocr("convert", "a.pdf", "-o", "out")
    events = events_of(fastocr("convert", "a.pdf", "-o", "out", "--progress", "json"))
    assert [event["event"] for event in events] == ["skip", "skip", "skip", "summary"]


def test_standard_input(folder: Path) -> None:
    data = io.BytesIO()
    PAGE.save(data, "PNG")
    result = fastocr("convert", "-", stdin=data.getvalue())
    assert result.exit_code == ExitCode.DONE
    assert "text of page 1" in result.stdout


def test_an_unexpected_error_is_one_line_and_code_1(folder: Path) -> None:
    make_pdf(folder / "boom.pdf")
    result = fastocr("convert", "boom.pdf", "-o", "out")
    assert result.exit_code == ExitCode.UNEXPECTED
    assert "RuntimeError: the stub was told to break" in result.stderr
    assert "Traceback" not in result.stderr
    assert "Traceback" in fastocr("convert", "boom.pdf", "-o", "out", "-v").stderr


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((), "Missing argument"),
        (("a.pdf", "--bacth-size", "4"), "--batch-size"),
        (("a.pdf", "--keep", "2"), "above 0 and at most 1"),
        (("a.pdf", "--keep", "much"), "--keep"),
        (("a.pdf", "--format", "docx"), "md, json, html"),
        (("a.pdf", "--dpi", "fine"), "a number, or auto"),
        (("a.pdf", "--batch-size", "1.5"), "a whole number, or auto"),
        (("a.pdf", "--shard", "3/2"), "I/N"),
        (("a.pdf", "--pages", "3-x"), "3-x"),
        (("a.pdf", "--progress", "loud"), "auto, rich, json, none"),
        (("a.pdf", "--method", "nix"), "dense, fastocr"),
        (("a.pdf", "--prompt", "@nowhere.txt"), "nowhere.txt"),
        (("a.pdf", "--gpus", "0,0"), "numbers such as 0,1"),
        (("a.pdf", "--gpus", "cuda:0"), "numbers such as 0,1"),
        (("a.pdf", "--gpus", "all", "--device", "cuda"), "Leave one out"),
    ],
)
def test_usage(folder: Path, arguments: tuple[str, ...], expected: str) -> None:
    make_pdf(folder / "a.pdf")
    result = fastocr("convert", *arguments)
    assert (result.exit_code, result.stdout) == (ExitCode.USAGE, "")
    assert expected in " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("wamrup=3", "Its options are: keep, floor, warmup"),
        ("warmup=soon", "warmup=soon"),
        ("warmup", "key=value"),
        ("keep=7", "above 0 and at most 1"),
    ],
)
def test_method_options(folder: Path, item: str, expected: str) -> None:
    make_pdf(folder / "a.pdf")
    result = fastocr("convert", "a.pdf", "-O", item)
    assert result.exit_code == ExitCode.USAGE
    assert expected in result.stderr


def test_good_method_options_run(folder: Path) -> None:
    make_pdf(folder / "a.pdf")
    assert fastocr("convert", "a.pdf", "-O", "warmup=3", "-O", "reuse=false").exit_code == ExitCode.DONE


def test_a_missing_model(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_pdf(folder / "a.pdf")
    monkeypatch.setattr(pipeline, "open_engine", stub_engine.MissingModel)
    result = fastocr("convert", "a.pdf", "-o", "out")
    assert result.exit_code == ExitCode.MODEL_MISSING
    assert "fastocr models download stub" in result.stderr


def test_a_bad_file_among_good_ones(folder: Path) -> None:
    make_pdf(folder / "a.pdf")
    (folder / "b.pdf").write_bytes(b"no PDF at all")
    make_pdf(folder / "fail.pdf")
    result = fastocr("convert", "a.pdf", "b.pdf", "fail.pdf", "-o", "out")
    assert result.exit_code == ExitCode.SOME_FAILED
    assert (folder / "out" / "a.md").exists()
    lines = [line for line in result.stderr.splitlines() if "b.pdf" in line]
    assert len(lines) == 1
    assert "fail.pdf page 1: the stub was told to fail" in result.stderr


@pytest.mark.parametrize(("fail_on", "code"), [("cut", 4), ("page", 0), ("document", 0), ("never", 0)], ids=str)
def test_a_cut_page_counts_when_asked(folder: Path, fail_on: str, code: int) -> None:
    make_pdf(folder / "cut.pdf")
    assert fastocr("convert", "cut.pdf", "-o", "out", "--fail-on", fail_on).exit_code == code


def test_nothing_succeeded(folder: Path) -> None:
    make_pdf(folder / "fail.pdf", 2)
    assert fastocr("convert", "fail.pdf", "-o", "out").exit_code == ExitCode.NOTHING_SUCCEEDED
    assert fastocr("convert", "fail.pdf", "-o", "out", "--fail-on", "never").exit_code == ExitCode.DONE


def test_no_input(folder: Path) -> None:
    result = fastocr("convert", "nowhere.pdf", "-o", "out")
    assert result.exit_code == ExitCode.INPUT
    assert "nowhere.pdf" in result.stderr


def test_an_output_that_is_a_file(folder: Path) -> None:
    make_pdf(folder / "a.pdf")
    (folder / "out").write_text("I was here first")
    result = fastocr("convert", "a.pdf", "-o", "out")
    assert result.exit_code == ExitCode.OUTPUT
    assert "out" in result.stderr
    assert (folder / "out").read_text() == "I was here first"


@pytest.mark.parametrize("name", ["stop", "term"])
def test_an_interrupt_says_what_was_finished(folder: Path, name: str) -> None:
    make_pdf(folder / f"{name}.pdf", 5)
    done = process("convert", f"{name}.pdf", "-o", "out")
    assert done.returncode == ExitCode.INTERRUPTED
    assert b"Interrupted after 2 finished pages" in done.stderr
    assert b"Traceback" not in done.stderr
    assert len(list((folder / "out").rglob("000*.md"))) == 2


def test_an_interrupt_inside_of_exec_ends_with_the_exit_code_too(folder: Path) -> None:
    (folder / "probe.py").write_text(
        "import sys\n"
        "from fastocr_cli import cli\n"
        "def app(**names):\n"
        "    try: exec('raise KeyboardInterrupt')\n"
        "    except KeyboardInterrupt: sys.exit(130)\n"
        "cli.app = app\n"
        "cli.main()\n"
    )
    done = subprocess.run([sys.executable, "-m", "probe"], check=False)  # only `python -m` looks back at it
    assert done.returncode == ExitCode.INTERRUPTED


@pytest.mark.parametrize("locale", ["utf-8", "cp1252", "ascii"])
def test_standard_output_holds_results_and_nothing_else(folder: Path, locale: str) -> None:
    make_pdf(folder / "print.pdf", 2)
    done = process("convert", "print.pdf", "--no-page-marks", PYTHONIOENCODING=locale)
    assert done.returncode == ExitCode.DONE
    assert done.stdout.decode("utf-8").split("\n\n") == ["text of page 1 ✓ 中", "text of page 2 ✓ 中\n"]
    assert b"a library chats" in done.stderr
    assert b"a C library chats" in done.stderr


def test_with_a_folder_standard_output_is_empty(folder: Path) -> None:
    make_pdf(folder / "print.pdf")
    assert process("convert", "print.pdf", "-o", "out").stdout == b""


@pytest.mark.skipif(os.name == "nt", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    ("line", "code", "expected"),
    [
        ("fastocr convert a.pdf -q | head -c 1", 0, ""),
        ("fastocr convert a.pdf -q >&-", 7, "Standard output"),
        ("fastocr convert a.pdf -q -o out >&-", 0, ""),
        ("fastocr convert a.pdf -q >/dev/full", 7, "tandard output"),
        ("fastocr --help | head -1 || true", 0, ""),
        ("fastocr models list | true", 0, ""),
        ("cat a.pdf | fastocr - -q | head -c 1", 0, ""),
    ],
)
def test_shell_manners(folder: Path, line: str, code: int, expected: str) -> None:
    make_pdf(folder / "a.pdf", 40)
    script = f'set -o pipefail; fastocr() {{ "{sys.executable}" "{stub_engine.__file__}" "$@"; }}; {line}'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == code, done.stderr
    assert expected in done.stderr
    assert bool(done.stderr) == bool(expected), done.stderr


def events_of(result: Result) -> list[dict[str, object]]:
    return [json.loads(line) for line in result.stderr.splitlines()]


def test_progress_as_json_lines(folder: Path) -> None:
    make_pdf(folder / "a.pdf", 2)
    (folder / "b.pdf").write_bytes(b"no PDF at all")
    make_pdf(folder / "fail.pdf")
    events = events_of(fastocr("convert", "a.pdf", "b.pdf", "fail.pdf", "-o", "out", "--progress", "json"))
    assert sorted(str(event["event"]) for event in events) == ["bad_input", "page", "page", "page", "summary"]
    assert events[-1]["event"] == "summary"
    assert (events[-1]["done"], events[-1]["failed"], events[-1]["bad_inputs"]) == (2, 1, 1)
    assert [event["page"] for event in events if event.get("document") == "a.pdf"] == [1, 2]


def test_the_final_table(folder: Path) -> None:
    make_pdf(folder / "a.pdf", 2)
    lines = fastocr("convert", "a.pdf", "-o", "out").stderr.splitlines()
    table = dict(line.split(maxsplit=1) for line in lines if line.split()[0] in ("pages", "failed", "cut", "skipped"))
    assert {name: value.strip() for name, value in table.items()} == {
        "pages": "2",
        "failed": "0",
        "cut": "0",
        "skipped": "0",
    }
    assert "25.0 % of dense" in " ".join(lines)


def test_warnings_are_counted_and_told_when_asked(folder: Path) -> None:
    make_pdf(folder / "warn.pdf", 2)
    result = fastocr("convert", "warn.pdf", "-o", "out")
    assert result.exit_code == ExitCode.DONE
    assert "with warnings      2 (-v tells them)" in result.stderr
    assert "half of it" not in result.stderr
    told = fastocr("convert", "warn.pdf", "-o", "again", "-v").stderr
    assert "warn.pdf page 2: half of it is missing" in told
    assert events_of(fastocr("convert", "warn.pdf", "-o", "json", "--progress", "json"))[-1]["warned"] == 2


def test_a_bar_for_people(folder: Path) -> None:
    make_pdf(folder / "a.pdf", 2)
    result = fastocr("convert", "a.pdf", "-o", "out", "--progress", "rich")
    assert result.exit_code == ExitCode.DONE
    assert "wall time" in result.stderr


def test_quiet_tells_only_what_failed(folder: Path) -> None:
    make_pdf(folder / "a.pdf")
    make_pdf(folder / "fail.pdf")
    assert fastocr("convert", "a.pdf", "-o", "out", "-q").stderr == ""
    assert fastocr("convert", "a.pdf", "fail.pdf", "-o", "out", "-q").stderr.count("\n") == 1


def test_settings_from_flag_environment_and_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_pdf(folder / "a.pdf")
    (folder / "fastocr.toml").write_text("page-marks = false\nkeep = 2\n")
    assert "keep is 2.0" in fastocr("convert", "a.pdf").stderr
    monkeypatch.setenv("FASTOCR_KEEP", "3")
    assert "keep is 3.0" in fastocr("convert", "a.pdf").stderr
    result = fastocr("convert", "a.pdf", "--keep", "0.5")
    assert result.exit_code == ExitCode.DONE
    assert "<!--" not in result.stdout
    assert "<!--" in fastocr("convert", "a.pdf", "--keep", "0.5", "--page-marks").stdout


def test_a_broken_settings_file_stops_no_other_command(folder: Path) -> None:
    (folder / "fastocr.toml").write_text("kep = 2\n")
    assert fastocr("convert", "a.pdf").exit_code == ExitCode.USAGE
    assert fastocr("models", "list").exit_code == ExitCode.DONE


def test_the_password_is_never_shown(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_pdf(folder / "boom.pdf")
    make_pdf(folder / "a.pdf")
    monkeypatch.setenv("FASTOCR_PASSWORD", "s3cret")
    for arguments in (("boom.pdf", "-vv"), ("a.pdf", "--progress", "json"), ("a.pdf", "--keep", "3"), ("--help",)):
        assert "s3cret" not in fastocr("convert", *arguments).output
    fastocr("convert", "a.pdf", "-o", "out")
    assert not [path for path in (folder / "out").rglob("*") if path.is_file() and "s3cret" in path.read_text("utf-8")]


def test_models() -> None:
    assert "pocket" in fastocr("models", "list").stdout
    folder = Path(fastocr("models", "path", "pocket").stdout.strip())
    assert (folder / "model.safetensors").exists()
    assert fastocr("models", "download", "pocket").stdout.strip() == str(folder)
    unknown = fastocr("models", "path", "nix")
    assert unknown.exit_code == ExitCode.MODEL_MISSING
    assert "pocket" in unknown.stderr


def test_methods() -> None:
    text = fastocr("methods").stdout
    assert "dense" in text
    assert "keep=0.05" in text


def test_profile(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fastocr_cli import profiling
    from fastocr_cli.pruning.focal import FocalProfile

    asked = []

    def measure(pages_from: list[str], config: RunConfig, say: object) -> FocalProfile:
        asked.append((pages_from, config.model))
        return FocalProfile("pocket@main", focal=(0, 2), image_share=(0.27, 0.05, 0.19))

    monkeypatch.setattr(profiling, "measure", measure)
    result = fastocr("profile", "--model", "pocket", "--pages-from", "a.pdf", "--plot", "profile.png")
    assert result.exit_code == ExitCode.DONE, result.stderr
    assert asked == [(["a.pdf"], "pocket")]
    assert [line.split() for line in result.stdout.splitlines()[1:]] == [
        ["0", "27.0%", "focal"],
        ["1", "5.0%"],
        ["2", "19.0%", "focal"],
    ]
    assert json.loads((folder / "cache" / "profiles" / "pocket@main.json").read_text())["focal"] == [0, 2]
    assert Image.open(folder / "profile.png").width > 500
    assert fastocr("profile", "--plot", "profile.nix").exit_code == ExitCode.OUTPUT
    monkeypatch.setenv("FASTOCR_CACHE", str(folder / "profile.png"))
    asked.clear()
    result = fastocr("profile")
    assert result.exit_code == ExitCode.OUTPUT
    assert "Set FASTOCR_CACHE" in result.stderr
    assert asked == []  # said before anything is measured


def test_doctor() -> None:
    result = fastocr("doctor")
    assert result.exit_code == ExitCode.DONE, result.output
    for word in ("torch", "transformers", "device", "dtype", "cache", "pocket"):
        assert word in result.stdout


def test_doctor_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastocr_cli.doctor.LIBRARIES", ("torch", "a-library-that-nobody-has"))
    result = fastocr("doctor")
    assert result.exit_code == ExitCode.MODEL_MISSING
    assert "a-library-that-nobody-has is missing" in result.stderr


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fastocr_cli", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("fastocr ")


def test_main_leaves_with_the_exit_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["fastocr", "models", "path", "nix"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == ExitCode.MODEL_MISSING
