"""The table of methods, and options given as text."""

import pytest

from fastocr_cli.errors import ConfigError
from fastocr_cli.pruning import METHODS, make_method, method_class, options_of
from fastocr_cli.pruning.base import Method


@pytest.mark.parametrize("name", METHODS)
def test_every_row_is_a_method_with_explained_options(name: str) -> None:
    assert issubclass(method_class(name), Method)
    assert method_class(name).__doc__
    assert all(meaning for _, meaning in options_of(name).values())


def test_options_become_the_types_of_the_fields() -> None:
    method = make_method("fastocr", {"keep": "0.1", "floor": "4", "focal": "2,4", "reuse": "false"})
    assert (method.keep, method.floor, method.focal, method.reuse) == (0.1, 4, "2,4", False)


@pytest.mark.parametrize(
    ("name", "options", "says"),
    [
        ("fastocr", {"kepe": "0.1"}, "keep, floor"),
        ("fastocr", {"keep": "much"}, "keep=much is not a float"),
        ("fastocr", {"reuse": "perhaps"}, "reuse=perhaps is not a bool"),
        ("fastocr", {"keep": "0"}, "above 0"),
        ("dense", {"keep": "0.1"}, "none"),
        ("fastocd", {}, "fastocr"),
    ],
)
def test_a_mistake_says_what_is_valid(name: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError) as error:
        make_method(name, options)
    assert says in str(error.value)
