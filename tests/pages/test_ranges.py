"""--pages, as people type it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastocr_cli.errors import ConfigError
from fastocr_cli.pages.ranges import parse_pages, select_pages


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        (None, ((1, None),)),
        ("7", ((7, 7),)),
        ("1-3,7,10-", ((1, 3), (7, 7), (10, None))),
        ("-5", ((1, 5),)),
        (" 2 - 4 , 3-6 ", ((2, 6),)),
        ("3-,5-7", ((3, None),)),
        ("9,8,7", ((7, 9),)),
        ("007", ((7, 7),)),
    ],
)
def test_spans(text: str | None, spans: object) -> None:
    assert parse_pages(text) == spans


@pytest.mark.parametrize("text", ["", ",", "1,,2", "-", "0", "0-3", "3-1", "a", "1-2-3", "1.5", "--5", "²", "٣", "1;2"])
def test_nonsense_is_a_usage_error_that_shows_the_right_form(text: str) -> None:
    with pytest.raises(ConfigError, match="1-3,7,10-"):
        parse_pages(text)


def test_out_of_range_is_clipped() -> None:
    assert select_pages(parse_pages("2-99"), 3) == (range(2, 4),)
    assert select_pages(parse_pages("9-"), 3) == ()
    assert sum(map(len, select_pages(parse_pages("1-"), 10**12))) == 10**12


_spans = st.lists(st.tuples(st.integers(1, 40), st.one_of(st.none(), st.integers(0, 20))), min_size=1, max_size=6)


@given(_spans, st.integers(1, 50))
def test_selects_exactly_the_named_pages_once_and_ascending(
    spans: list[tuple[int, int | None]], num_pages: int
) -> None:
    text = ",".join(f"{first}-" if length is None else f"{first}-{first + length}" for first, length in spans)
    chosen = [number for numbers in select_pages(parse_pages(text), num_pages) for number in numbers]
    expected = {
        number
        for number in range(1, num_pages + 1)
        if any(first <= number and (length is None or number <= first + length) for first, length in spans)
    }
    assert chosen == sorted(expected)
