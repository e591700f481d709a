"""What decoding may skip. Rows only: nothing here imports torch."""

from dataclasses import MISSING, fields
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, get_type_hints

from fastocr_cli.errors import ConfigError

if TYPE_CHECKING:
    from fastocr_cli.pruning.base import Method


class MethodRow(NamedTuple):
    module: str
    summary: str


METHODS: dict[str, MethodRow] = {
    "dense": MethodRow("fastocr_cli.pruning.dense", "every layer reads every visual token"),
    "fastocr": MethodRow("fastocr_cli.pruning.fastocr", "focal layers read all and choose; the others read the choice"),
}


def method_class(name: str) -> "type[Method]":
    """The dataclass of a method; its fields are the method's options (imports torch).

    Raises:
        ConfigError: there is no method of this name.
    """
    if name not in METHODS:
        raise ConfigError(f"There is no method {name!r}.", f"Choose one of: {', '.join(METHODS)}.")
    method: type[Method] = import_module(METHODS[name].module).Method
    return method


def make_method(name: str, options: dict[str, str]) -> "Method":
    """A method with options given as text, as `-O key=value` gives them.

    Raises:
        ConfigError: an unknown method or option, or a value that is not of the option's type.
    """
    cls = method_class(name)
    types = get_type_hints(cls)
    known = {f.name: types[f.name] for f in fields(cls)}
    values = {}
    for key, text in options.items():
        if key not in known:
            valid = ", ".join(known) or "none"
            raise ConfigError(f"{name} has no option {key!r}.", f"Its options are: {valid}.")
        values[key] = _parse(key, text, known[key])
    return cls(**values)


def options_of(name: str) -> dict[str, tuple[str, str]]:
    """Options of a method as {name: (default, meaning)}."""
    cls = method_class(name)
    return {f.name: ("" if f.default is MISSING else str(f.default), f.metadata.get("help", "")) for f in fields(cls)}


def _parse(key: str, text: str, kind: type) -> object:
    try:
        if kind is bool:
            return {"true": True, "false": False}[text.lower()]
        return kind(text)
    except (KeyError, ValueError) as error:
        raise ConfigError(f"{key}={text} is not a {kind.__name__}.", f"Give it as {key}=VALUE.") from error
