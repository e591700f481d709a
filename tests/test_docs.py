"""What the documents say is so: commands exist, options and exit codes are complete, examples run."""

import re
import types
from pathlib import Path
from typing import Any

import pytest
import typer

from fastocr_cli import pruning
from fastocr_cli.cli import app
from fastocr_cli.errors import ExitCode

PROJECT = Path(__file__).parents[1]
DOCS = sorted((PROJECT / "docs").glob("*.md"))
PAGES = [PROJECT / "README.md", *DOCS]
GROUP: Any = typer.main.get_command(app)


def commands() -> dict[str, Any]:
    """Every command by what one types after `fastocr`."""
    found = {}
    for name, command in GROUP.commands.items():
        found[name] = command
        for below, part in getattr(command, "commands", {}).items():
            found[f"{name} {below}"] = part
    return found


def flags(command: Any) -> set[str]:
    return {flag for parameter in command.params for flag in (*parameter.opts, *parameter.secondary_opts)}


def code_blocks(path: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text("utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_commands_and_their_flags_exist(path: Path) -> None:
    known = commands()
    for block in code_blocks(path, "bash"):
        for line in re.split(r"\n|&&|\|", block):
            words = line.partition("#")[0].split()
            if words[:1] != ["fastocr"]:
                continue
            name = " ".join(words[1:3]) if " ".join(words[1:3]) in known else words[1]
            assert name in known, line
            for word in words[2:]:
                if word.startswith("-") and word != "-":
                    assert word in flags(known[name]) | {"--help"}, line


def test_the_option_list_is_the_command_line() -> None:
    text = (PROJECT / "docs" / "convert.md").read_text("utf-8")
    table = text.partition("## Options")[2].partition("##")[0]
    documented = {
        flag for row in re.findall(r"^\| (`-.*?) \|", table, re.MULTILINE) for flag in re.findall(r"`(.*?)`", row)
    }
    assert documented == flags(commands()["convert"]) - {"INPUT", "inputs", "--help", "-h"}


def test_exit_codes_are_complete() -> None:
    text = (PROJECT / "docs" / "errors.md").read_text("utf-8")
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \|", text, re.MULTILINE)
    assert {(int(code), name) for code, name in rows} == {(code.value, code.name) for code in ExitCode}


def test_the_test_command_of_the_readme_is_that_of_ci() -> None:
    command = "python -m pytest -q"
    assert command in (PROJECT / "README.md").read_text("utf-8")
    assert (PROJECT / ".ci" / "run").read_text("utf-8").rstrip().endswith(command)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)", path.read_text("utf-8")):
        assert target.startswith("https://") or (path.parent / target).exists(), target


def test_the_tree_of_the_readme_is_the_tree() -> None:
    tree = (PROJECT / "README.md").read_text("utf-8").partition("src/fastocr_cli/\n")[2].partition("```")[0]
    named = set(re.findall(r"^  (\w+(?:\.py|/)) ", tree, re.MULTILINE))
    package = PROJECT / "src" / "fastocr_cli"
    there = {path.name for path in package.glob("*.py")} | {
        f"{path.parent.name}/" for path in package.glob("*/__init__.py")
    }
    assert named >= there - {"decoding/"}
    assert all((package / name).exists() for name in named)


def test_the_example_of_a_method_works() -> None:
    import torch

    from fastocr_cli.pruning import base

    example, row = code_blocks(PROJECT / "docs" / "add-a-method.md", "python")
    module = types.ModuleType("stride")
    exec(example, module.__dict__)
    assert list(eval(f"{{{row}}}", {"MethodRow": pruning.MethodRow})) == ["stride"]
    gaze = module.Method(keep=0.1).begin(base.Layout(num_layers=4, checkpoint_key="", device=torch.device("cpu")))
    gaze.admit(40)
    gaze.admit(95)
    assert gaze.fixation.places.shape == (2, 10)
    assert gaze.fixation.places[0, :4].tolist() == [0, 13, 26, 39]
    assert gaze.fixation.bias[0, 4:].isinf().all()
    gaze.advance()
    assert gaze.visual_kv_read(0) == pytest.approx(0.1)
    gaze.drop(0)
    assert gaze.fixation.places.shape == (1, 10)


def test_the_example_of_a_checkpoint_works() -> None:
    from fastocr_cli.models import Checkpoint

    (row,) = code_blocks(PROJECT / "docs" / "add-a-model.md", "python")
    assert eval(row, {"Checkpoint": Checkpoint}).family == "qwen2_5_vl"
