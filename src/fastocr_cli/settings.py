"""Settings as text, from files and from the command line, turned into values.

A flag wins over a `FASTOCR_*` environment variable, that over `fastocr.toml` of the current folder, that over
`fastocr.toml` of the user's configuration folder, that over the default in `RunConfig`. Knows nothing of Typer.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from platformdirs import user_config_path

from fastocr_cli.errors import ConfigError

FILE_NAME = "fastocr.toml"
AUTO = "auto"

Kind = Literal["value", "switch", "list"]
"""What an option takes: one value, yes or no, or several values."""


def files() -> tuple[Path, Path]:
    """Where settings are looked for: the user's file, then that of the current folder, which wins."""
    return user_config_path("fastocr") / FILE_NAME, Path(FILE_NAME)


def read_files(valid: Mapping[str, Kind]) -> dict[str, Any]:
    """Values of both settings files by option name with underscores, the current folder's winning key by key.

    Raises:
        ConfigError: a file that is no TOML, a key that is not in `valid`, or a value of another kind.
    """
    values: dict[str, Any] = {}
    for path in files():
        values |= _read_file(path, valid)
    return values


def _read_file(path: Path, valid: Mapping[str, Kind]) -> dict[str, Any]:
    if not os.path.lexists(path):  # also where its folder may not be entered: such a file was never ours to read
        return {}
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} cannot be read: {error}.", "Mend it or remove it.") from error
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {error}.", "Lines look like: keep = 0.05") from error
    values = {}
    for key, value in table.items():
        name = key.replace("-", "_")
        if name not in valid:
            names = ", ".join(sorted(known.replace("_", "-") for known in valid))
            raise ConfigError(f"{path} has an unknown key {key!r}.", f"Valid keys are: {names}.")
        if not _fits(value, valid[name]):
            raise ConfigError(f"{path} gives {key} as {value!r}.", EXPECTED[valid[name]])
        values[name] = _as_given_on_the_command_line(value, valid[name])
    return values


EXPECTED: dict[Kind, str] = {
    "value": "Give one number or one word in quotes.",
    "switch": "Give true or false.",
    "list": "Give a table, key = value, each on a line of its own.",
}


def _fits(value: Any, kind: Kind) -> bool:
    match kind:
        case "switch":
            return isinstance(value, bool)
        case "value":
            return not isinstance(value, bool | list | dict)
        case "list":
            items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else [value]
            return not any(isinstance(item, list | dict) for item in items)


def _as_given_on_the_command_line(value: Any, kind: Kind) -> Any:
    """A table of method options becomes `key=value` items; a number or word becomes its text."""
    if kind == "switch":
        return value
    if kind == "value":
        return str(value)
    if isinstance(value, dict):
        return [f"{key}={item}" for key, item in value.items()]
    return [str(item) for item in value] if isinstance(value, list) else [str(value)]


def parse_number_or_auto(name: str, text: str) -> float | None:
    """None for `auto`.

    Raises:
        ConfigError: neither a number nor `auto`.
    """
    if text == AUTO:
        return None
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"--{name} is {text!r}.", f"Give a number, or {AUTO}.") from None


def parse_count_or_auto(name: str, text: str) -> int | None:
    """As `parse_number_or_auto`, whole numbers only."""
    number = parse_number_or_auto(name, text)
    if number is not None and not number.is_integer():
        raise ConfigError(f"--{name} is {text}.", f"Give a whole number, or {AUTO}.")
    return None if number is None else int(number)


def parse_shard(text: str | None) -> tuple[int, int] | None:
    """`2/8` is the second of eight.

    Raises:
        ConfigError: not of the form I/N.
    """
    if text is None:
        return None
    try:
        index, num_shards = map(int, text.split("/"))
    except ValueError:
        raise ConfigError(f"--shard is {text!r}.", "Give it as I/N, for example 2/8.") from None
    return index, num_shards


def parse_options(items: Iterable[str]) -> dict[str, str]:
    """`key=value` items as a dictionary; dashes in keys are underscores, a later item wins.

    Raises:
        ConfigError: an item without `=`.
    """
    options = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise ConfigError(f"-O {item} is not of the form key=value.", "See `fastocr methods` for the keys.")
        options[key.strip().replace("-", "_")] = value.strip()
    return options


def read_prompt(text: str | None) -> str | None:
    """The prompt itself, or the content of a file given as `@FILE`.

    Raises:
        ConfigError: the file cannot be read.
    """
    if text is None or not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The prompt file {text[1:]} cannot be read: {error}.", "Give --prompt @FILE.") from error
