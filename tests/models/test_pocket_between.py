"""What stood between print is expected again."""

from fastocr_cli.models.pocket.between import REPEATED, Between, Step

END, BLANK, HYPHEN = 1, 2, 3


def after(between: Between, step: Step, *marks: int) -> Between:
    """A line that begins after such a step, and these marks before it."""
    for number, mark in enumerate(marks):
        between = between.with_mark(mark, None if number else step)
    return between.with_print(step)


def test_nothing_is_expected_of_a_page_that_has_just_begun() -> None:
    assert Between().following((2, 5)) == ()
    assert Between().with_mark(END, (2, 5)).following((2, 5)) == ()


def test_a_line_is_expected_to_begin_as_the_last_one_like_it() -> None:
    between = after(after(after(Between(), (2, 5)), (4, 5), END, END), (2, 9), END, HYPHEN)
    assert between.following((2, 5)) == ()
    assert between.following((4, 5)) == (END, END)
    assert between.following((6, 5)) == (END, END)  # further down than any: like the one furthest down
    assert between.following((2, 9)) == (END, HYPHEN)
    assert between.following((2, 30)) == (END, HYPHEN)  # elsewhere: like the last line
    assert between.following(None) == ()  # within a line


def test_the_last_of_two_ways_counts() -> None:
    between = after(after(Between(), (2, 5), END), (2, 5))
    assert between.following((2, 5)) == ()


def test_what_was_written_already_is_not_expected_again() -> None:
    between = after(after(Between(), (2, 5), END, BLANK), (4, 5), END, END)
    assert between.with_mark(END, (2, 5)).following((2, 5)) == (BLANK,)
    assert between.with_mark(END, (2, 5)).with_mark(END, None).following(None) == ()  # like no line at this step
    assert between.with_mark(BLANK, (2, 5)).following((2, 5)) == ()  # like none


def test_a_mark_that_was_read_off_the_page_still_begins_its_line() -> None:
    between = Between().with_mark(END, (2, 5)).with_mark(HYPHEN, None).with_print(None)
    assert between.following((2, 5)) == (END, HYPHEN)


def test_blanks_that_go_on_are_expected_to() -> None:
    between = Between().with_mark(END, (2, 9))
    for _ in range(REPEATED):
        assert between.following((2, 9)) == ()
        between = between.with_mark(BLANK, None)
    assert set(between.following((2, 9))) == {BLANK}
