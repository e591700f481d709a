"""The house's order: imports go downwards, each library has its rooms, and the command starts without torch."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

import fastocr_cli

SOURCE = Path(fastocr_cli.__file__).parent
PROJECT = Path(__file__).parents[1]
FILES = sorted(SOURCE.rglob("*.py"))

# Each line may import the lines below it. Rooms of one line do not know each other.
LAYERS = [
    ["__main__"],
    ["cli"],
    ["doctor", "options", "plot", "progress", "shell"],
    ["pipeline"],
    ["engine", "output"],
    ["engine_processes"],
    ["profiling", "reader"],
    ["decoding"],
    ["models", "pruning"],
    ["markdown"],
    ["pages"],
    ["config", "settings"],
    ["errors"],
    ["__init__"],
]
RANK = {room: -number for number, rooms in enumerate(LAYERS) for room in rooms}

ROOMS_OF_A_LIBRARY = {
    "typer": {"cli", "options", "shell"},
    "rich": {"progress"},
    "pymupdf": {"pages"},
    "huggingface_hub": {"models"},
    "matplotlib": {"plot"},
}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(path: Path) -> Iterator[str]:
    """Modules that a file imports anywhere, dotted."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} imports relatively"
            assert node.module is not None
            if node.module == "fastocr_cli":  # `from fastocr_cli import settings` imports a room
                yield from (f"fastocr_cli.{alias.name}" for alias in node.names)
            else:
                yield node.module


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_go_downwards(path: Path) -> None:
    room = room_of(path)
    assert room in RANK, f"{room} has no place in LAYERS"
    if room == "__init__":  # the public names live in any room and are imported when used
        return
    for module in imported(path):
        package, _, rest = module.partition(".")
        target = rest.partition(".")[0]
        if package == "fastocr_cli" and target in RANK and target != room:
            assert RANK[target] < RANK[room], f"{path.name} in {room} imports {module} from {target}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_each_library_has_its_rooms(path: Path) -> None:
    for module in imported(path):
        library = module.partition(".")[0]
        rooms = ROOMS_OF_A_LIBRARY.get(library)
        assert rooms is None or room_of(path) in rooms, f"{path.name} imports {library}"


def test_every_library_is_declared() -> None:
    declared = (PROJECT / "pyproject.toml").read_text("utf-8").lower()
    distributions = packages_distributions()
    for path in FILES:
        for module in imported(path):
            library = module.partition(".")[0]
            if library in sys.stdlib_module_names or library == "fastocr_cli":
                continue
            names = distributions.get(library, [library])
            assert any(f'"{name.lower().replace("_", "-")}>=' in declared for name in names), (
                f"{path.name} imports {library}"
            )


def test_every_dependency_is_used() -> None:
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {item.partition(">=")[0] for item in project["dependencies"]}
    distributions = packages_distributions()
    libraries = {module.partition(".")[0] for path in FILES for module in imported(path)}
    used = {name.lower().replace("_", "-") for library in libraries for name in distributions.get(library, [])}
    assert declared <= used


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_file_fits_a_reader_and_says_what_it_is_for(path: Path) -> None:
    text = path.read_text("utf-8")
    assert len(text.splitlines()) <= 300
    assert ast.get_docstring(ast.parse(text))


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["convert", "--help"], ["--version"], ["models", "list"], ["models", "path", "pocket"]],
    ids=" ".join,
)
def test_the_command_answers_without_torch(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        "from fastocr_cli.cli import app\n"
        "try:\n"
        f"    app({arguments!r}, prog_name='fastocr')\n"
        "except SystemExit as done:\n"
        "    heavy = {'torch', 'transformers', 'numpy', 'pymupdf'} & set(sys.modules)\n"
        "    sys.exit(f'imported {heavy}' if heavy else done.code)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize("module", ["cli", "config", "models", "pruning", "pipeline", "progress", "engine_processes"])
def test_tables_and_pipeline_import_no_torch(module: str) -> None:
    code = f"import sys, fastocr_cli.{module}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_public_names_are_there_and_sorted() -> None:
    assert fastocr_cli.__all__ == sorted(fastocr_cli.__all__)
    for name in fastocr_cli.__all__:
        assert getattr(fastocr_cli, name) is not None
    with pytest.raises(AttributeError):
        _ = fastocr_cli.nothing
