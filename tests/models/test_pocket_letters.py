"""Letters of a page, how tokens spell them, and the pointer that follows them."""

from importlib.resources import files

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch import Tensor

from fastocr_cli.models.pocket.cells import CHARACTERS, CLASS_OF, NUM_CLASSES, blank_grid, cell_grid, class_of
from fastocr_cli.models.pocket.columns import Drawn
from fastocr_cli.models.pocket.formula import MAX_TOKENS, Marks
from fastocr_cli.models.pocket.letters import (
    AROUND,
    OWN_SPACE,
    OWN_TRUST,
    WIDE,
    Letters,
    letters_of,
    lined_up,
    nearest,
    windows,
)
from fastocr_cli.models.pocket.pointer import MAX_REFUSALS, MIN_INSIDE, MIN_LEFT, PATIENCE, Pointer
from fastocr_cli.models.pocket.printed import Printed
from fastocr_cli.models.pocket.spelling import (
    LEAST_TOKEN,
    MAX_LETTERS,
    NOTHING,
    Spelling,
    fits,
    sharpened,
    without_marks,
)
from fastocr_cli.models.pocket.table import Tags
from fastocr_cli.models.pocket.unread import AMONG
from fastocr_cli.models.pocket.wording import Wording
from fastocr_cli.pages import Character


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return TOKENIZER


@pytest.fixture(scope="module")
def vocabulary(tokenizer: Tokenizer) -> Spelling:
    return Spelling.of(tokenizer, tokenizer.get_vocab_size())


@pytest.fixture(scope="module")
def spelling(vocabulary: Spelling) -> Tensor:
    return vocabulary.letters


TOKENIZER = Tokenizer.from_file(str(files("fastocr_cli.models.pocket") / "tokenizer.json"))
MARKS = Marks(TOKENIZER, TOKENIZER.get_vocab_size())
DISPLAY = TOKENIZER.token_to_id("$$")
LINES = ["the cat sat", "on the mat"]


def a_page(lines: list[str]) -> Tensor:
    """Probabilities as a born-digital page gives them: a letter every 8 pixels, a line every 32."""
    characters = [
        (char, 8.0 * column + 10, 32.0 * row + 18)
        for row, line in enumerate(lines)
        for column, char in enumerate(line)
        if char != " "
    ]
    grid = torch.from_numpy(cell_grid(characters, 96, 120))
    return torch.nn.functional.one_hot(grid, NUM_CLASSES).permute(1, 2, 0, 3)[None].float()


def read(letters: Letters) -> str:
    classes = letters.scores[0].argmax(-1)[letters.row[0] >= 0]
    return "".join(CHARACTERS[index - 1] for index in classes.tolist())


def pointer_on(lines: list[str], spelling: Tensor) -> Pointer:
    return begun(letters_of(a_page(lines), 2), spelling)


def begun(
    letters: Letters, spelling: Tensor, tags: frozenset[int] = frozenset(), space: Tensor | None = None
) -> Pointer:
    unprinted = (without_marks(spelling)[:, 0] == NOTHING).nonzero()[:, 0].tolist()
    space = torch.zeros(letters.row.shape) if space is None else space
    drawn = torch.zeros(1, 2, 400, 400, dtype=torch.bool)
    page = Printed(letters, space, drawn)
    return Pointer(
        page,
        Wording(TOKENIZER, page.print, frozenset()),
        spelling.numpy(),
        frozenset(unprinted),
        Tags({f"<td>{tag}": tag for tag in tags}, len(spelling)),
        MARKS,
    )


def at(pointer: Pointer, row: int, cell: int) -> tuple[int, int]:
    """Let the place head be sure of a place."""
    rows, cells = np.full(256, -9, np.float32), np.full(512, -9, np.float32)
    rows[row] = cells[cell] = 0
    pointer.look(rows, cells)
    return pointer.place


def test_letters_come_line_by_line_from_left_to_right() -> None:
    letters = letters_of(a_page(LINES), 2)
    assert read(letters) == "thecatsatonthemat"
    assert letters.row[0].tolist() == [1] * 9 + [3] * 8
    assert letters.half[0, :3].tolist() == [2, 4, 6]


def test_a_letter_on_a_border_is_one_and_two_sure_ones_are_two() -> None:
    classes = torch.zeros(1, 4, 6, 2, NUM_CLASSES)
    classes[..., 0] = 1
    for cell_row, half, char, probability in [
        (1, 2, "l", 0.55), (2, 2, "l", 0.4), (1, 3, "l", 0.35), (1, 6, "l", 1.0), (1, 7, "l", 0.95), (1, 10, "e", 0.2)
    ]:  # fmt: skip
        place = classes[0, cell_row, half // 2, half % 2]
        place[CLASS_OF[char]] = probability
        place[0] = 1 - probability
    letters = letters_of(classes, 2)
    assert read(letters) == "lll"
    assert letters.half[0].tolist() == [2, 6, 7]


def seen_between(pairs: list[tuple[int, float]], num_letters: int = 20) -> Tensor:
    """Lines of print by the row of cells above the middle of each and the share of it that is seen there."""
    classes = torch.zeros(1, 8, 2 * num_letters, 2, NUM_CLASSES)
    for above, share in pairs:
        for number in range(num_letters):
            wavering = share + (0.1 if number % 2 else -0.1)
            label = CLASS_OF["abcdefghij"[number % 10]]
            classes[0, above, 2 * number, 0, label] = wavering
            classes[0, above + 1, 2 * number, 0, label] = 1 - wavering
    classes[..., 0] = 1 - classes[..., 1:].sum(-1)
    return classes


@pytest.mark.parametrize(("share", "row"), [(0.45, 2), (0.55, 1)])
def test_a_line_on_the_border_of_two_rows_is_read_in_one(share: float, row: int) -> None:
    letters = letters_of(seen_between([(3, share)]), 2)
    assert letters.row[0].tolist() == [row] * 20
    assert read(letters) == 2 * "abcdefghij"


def test_lines_close_to_each_other_stay_apart() -> None:
    letters = letters_of(seen_between([(2, 0.9), (3, 0.1)]), 2)
    assert letters.row[0].tolist() == [1] * 20 + [2] * 20


def test_a_line_moves_only_where_there_is_room() -> None:
    found, drift = torch.zeros(1, 3, 40, dtype=torch.bool), torch.zeros(1, 3, 40)
    found[0, 1, ::2], drift[0, 1, ::2] = True, 0.6
    found[0, 2, :8:4] = True
    assert lined_up(found, drift)[0, 2, :12].tolist() == [2, -1, 1, -1, 2, -1, 1, -1, 1, -1, 1, -1]
    assert lined_up(found, drift)[0, 1, :12].tolist() == [1, -1, -1, -1, 1, -1, -1, -1, -1, -1, -1, -1]


def test_a_page_without_letters_has_none() -> None:
    letters = letters_of(a_page([""]), 2)
    assert letters.row.tolist() == [[-1]]
    assert (windows(letters, torch.zeros(letters.row.shape), torch.tensor([[-1, 0]]))[..., :NOTHING] < 0).all()


def test_tokens_are_spelled_as_printed_and_marks_are_not(tokenizer: Tokenizer, spelling: Tensor) -> None:
    the, cell, mark, call = (tokenizer.token_to_id(token) for token in ("Ġthe", "</td><td>", "#", "()"))
    assert spelling[the].tolist() == [*(CLASS_OF[char] for char in "the"), *[NOTHING] * (MAX_LETTERS - 3)]
    assert (spelling[cell] == NOTHING).all()
    assert spelling[mark, 0] == CLASS_OF["#"]
    compared = without_marks(spelling)
    assert (compared[mark] == NOTHING).all()
    assert torch.equal(compared[[the, call]], spelling[[the, call]])


@pytest.mark.parametrize("char", CHARACTERS)
def test_every_character_is_one_token_that_is_copied(tokenizer: Tokenizer, vocabulary: Spelling, char: str) -> None:
    ids = tokenizer.encode(char).ids
    assert len(ids) == 1
    assert tokenizer.decode(tokenizer.encode(f"a {char}b").ids) == f"a {char}b"
    pointer = pointer_on(["a" + char], vocabulary.letters)
    pointer.at = 1
    assert fits(pointer.window(), vocabulary.letters)[ids[0]] == 0
    assert fits(pointer.window(), vocabulary.letters)[tokenizer.token_to_id("z" if char != "z" else "y")] < 0
    pointer.wrote(ids[0])
    assert pointer.read[1]


@pytest.mark.parametrize(("command", "printed"), [("\\alpha", "α"), ("\\leq", "≤"), ("\\sin", "sin"), ("\\sum", "∑")])
def test_a_command_is_copied_from_what_it_prints(
    tokenizer: Tokenizer, vocabulary: Spelling, command: str, printed: str
) -> None:
    token = tokenizer.token_to_id(command)
    pointer = pointer_on([printed], vocabulary.letters)
    pointer.at = 0
    fit = fits(pointer.window(), vocabulary.compared)
    assert fit[token] == 0
    assert fit[tokenizer.token_to_id("\\beta")] < 0
    pointer.wrote(token)
    assert pointer.read.all()


def test_commands_that_print_nothing_fit_anywhere(tokenizer: Tokenizer, spelling: Tensor) -> None:
    assert (spelling[tokenizer.token_to_id("\\frac")] == NOTHING).all()


@pytest.mark.parametrize(
    ("char", "alike"),
    [("𝑛", "n"), ("𝛼", "α"), ("ϕ", "φ"), ("−", "-"), ("\xad", "-"), ("⋅", "·"), ("µ", "μ"), ("ﬁ", None), ("中", None)],
)
def test_letters_of_formulas_are_the_letters_that_they_are(char: str, alike: str | None) -> None:
    assert class_of(char) == (CLASS_OF[alike] if alike else 0)


def test_what_is_printed_fits_best_and_a_line_ends_where_it_ends(tokenizer: Tokenizer, spelling: Tensor) -> None:
    letters = letters_of(a_page(LINES), 2)
    fit = fits(windows(letters, torch.zeros(letters.row.shape), torch.tensor([[0, 6, -1]])), spelling)[0]
    the, to, newline = (tokenizer.token_to_id(token) for token in ("Ġthe", "Ġto", "Ċ"))
    assert fit[0, the] == fit[0, newline] == 0
    assert fit[0, to] < fit[0, the]
    sat = tokenizer.encode(" sat").ids
    assert fit[1, sat[0]] == 0
    crossing = torch.full((1, MAX_LETTERS), NOTHING)
    crossing[0, :4] = torch.tensor([CLASS_OF[char] for char in "sato"])
    assert fits(windows(letters, torch.zeros(letters.row.shape), torch.tensor([[6]])), crossing) < 0
    assert (fit[2] <= 0).all()
    assert fit.min() >= LEAST_TOKEN


def test_blanks_belong_to_tokens_with_letters(tokenizer: Tokenizer, vocabulary: Spelling) -> None:
    signs, ends = vocabulary.signs, vocabulary.ends
    tokens = {name: tokenizer.token_to_id(name) for name in ("Ġthe", "the", "Ġ", "Ċ", "#", "</td><td>", "}", "\\alpha")}
    assert [signs[i].item() for i in tokens.values()] == [0.5, -0.5, 0.5, 0, 0, 0, 0, -0.5]
    assert [ends[i].item() for i in tokens.values()] == [False, False, True, True, False, True, True, True]


def test_gaps_are_those_within_a_line() -> None:
    letters = letters_of(a_page(LINES), 2)
    gap = letters.gap()
    assert gap[0].tolist() == [WIDE, 2, 2, 4, 2, 2, 4, 2, 2, WIDE, 2, 4, 2, 2, 4, 2, 2]
    gaps = letters.around(gap)[0]
    assert gaps[4].tolist() == [2, 2, 4, 2, 2, 4, 2]
    assert gaps[0].tolist() == [WIDE] * 4 + [2, 2, 4]
    assert gaps[:, AROUND].tolist() == gap[0].tolist()


def test_a_page_says_where_its_blanks_are() -> None:
    said = [Character("a", 10, 18), Character("b", 18, 18, False), Character("c", 34, 18, True)]
    grid = blank_grid(said, 96, 120)
    assert grid.shape == (12, 30)
    assert (grid[2, 2], grid[2, 4], grid[2, 8]) == (0, -1, 1)
    assert np.count_nonzero(grid) == 2


def test_letters_in_one_half_cell_keep_their_own_blanks() -> None:
    said = [Character("6", 10, 18), Character(",", 11, 18, False), Character("5", 18, 18, False)]
    letters = cell_grid(said, 96, 120)
    grid = blank_grid(said, 96, 120)
    assert letters[0, 2, 1] == CLASS_OF["6"]
    assert letters[1, 2, 1] == CLASS_OF[","]
    assert (grid[2, 2], grid[2, 3], grid[2, 4]) == (0, -1, -1)


def test_the_nearest_letter_of_the_row() -> None:
    letters = letters_of(a_page(LINES), 2)
    cell_row, half = torch.tensor([[2, 3, 6, 4, -1]]), torch.tensor([[2, 5, 3, 2, -1]])
    assert nearest(letters, cell_row, half, 2).tolist() == [[0, 2, 10, -1, -1]]


def small_print() -> Tensor:
    """Two lines of five letters, both in the third row of visual tokens."""
    characters = [(char, 8.0 * i + 10, y) for y, line in ((34, "upper"), (46, "below")) for i, char in enumerate(line)]
    grid = torch.from_numpy(cell_grid(characters, 96, 120))
    return torch.nn.functional.one_hot(grid, NUM_CLASSES).permute(1, 2, 0, 3)[None].float()


def test_two_lines_in_a_row_are_read_one_after_the_other(spelling: Tensor) -> None:
    letters = letters_of(small_print(), 2)
    assert read(letters) == "upperbelow"
    assert letters.row[0].tolist() == [2] * 10
    assert letters.line[0].tolist() == [4] * 5 + [5] * 5
    cell_row, half = torch.tensor([[4, 5, 5]]), torch.tensor([[2, 2, 10]])
    assert nearest(letters, cell_row, half, 2).tolist() == [[0, 5, 9]]
    begins = letters.begins_line()[0]
    assert begins.tolist() == [number in (0, 5) for number in range(10)]
    pointer = begun(letters, spelling)
    at(pointer, 2, 5)
    pointer.at = 4
    assert (pointer.window()[1:, :NOTHING] < 0).all()  # the line ends with this letter


def test_the_pointer_sees_what_training_sees(spelling: Tensor) -> None:
    letters = letters_of(a_page(LINES), 2)
    space = torch.tensor([[8.0 if number in (3, 6, 11, 14) else -8.0 for number in range(17)]])
    pointer = begun(letters, spelling, space=space)
    for letter, (row, cell) in {0: (1, 1), 8: (1, 11), 16: (3, 10)}.items():
        assert at(pointer, row, cell) == (row, cell)
        assert torch.equal(pointer.window(), windows(letters, space, torch.tensor([[letter]]))[0, 0])
    at(pointer, 0, 0)  # nothing printed is near
    assert torch.equal(pointer.window(), windows(letters, space, torch.tensor([[-1]]))[0, 0])


def test_no_token_goes_on_beyond_a_blank(tokenizer: Tokenizer, spelling: Tensor) -> None:
    letters = letters_of(a_page(["we left"]), 2)
    token = tokenizer.token_to_id("el")
    for blank, fit in ((8.0, -3.5), (1.0, 0.0), (-8.0, 0.0)):
        space = torch.tensor([[-8.0, -8.0, blank, -8.0, -8.0, -8.0]])
        assert fits(windows(letters, space, torch.tensor([[1]])), spelling)[0, 0, token] == fit


def test_what_was_read_is_not_read_again_while_more_is_near(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["aaaa"], spelling)
    token = tokenizer.token_to_id("a")
    places = []
    for _ in range(4):
        rows, cells = np.full(256, -3, np.float32), np.full(512, -3, np.float32)
        rows[1], cells[1] = 0, 0  # the head insists on the first letter
        pointer.look(rows, cells)
        places.append(pointer.place)
        pointer.wrote(token)
    assert places == [(1, 1), (1, 2), (1, 3), (1, 4)]
    assert pointer.read.all()


def test_it_goes_on_however_sure_the_head_is_of_the_last_place(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["aaab"], spelling)
    token = tokenizer.token_to_id("a")
    for letter in range(3):
        pointer.look(*sure_of(1, 1))
        assert pointer.at == letter
        pointer.wrote(token)


def test_a_leap_costs_what_it_leaves_out(spelling: Tensor) -> None:
    pointer = begun(letters_of(a_page(["a" * 14]).repeat(1, 30, 1, 1, 1), 2), spelling)
    rows, cells = np.full(256, -9, np.float32), np.zeros(512, np.float32)
    rows[[1, 7]], cells[2:] = -1.5, -9  # the first line, and with more right the second
    rows[7] = -1
    pointer.look(rows, cells)
    assert pointer.at == 14  # a running head may be left out
    rows[[7, 61]] = -9, -1
    pointer.look(rows, cells)
    assert pointer.at == 0  # ten lines are not
    pointer.read[: 14 * 9] = True
    pointer.look(rows, cells)
    assert pointer.at == 14 * 10  # unless they were read before


@pytest.mark.parametrize(("line", "leaps"), [(15, True), (25, False)])
def test_however_sure_it_does_not_leap_over_a_column(spelling: Tensor, line: int, leaps: bool) -> None:
    pointer = begun(letters_of(a_page(["a" * 14]).repeat(1, 30, 1, 1, 1), 2), spelling)
    pointer.read[:14], pointer.onward = True, 14
    rows, cells = np.full(256, -40, np.float32), np.zeros(512, np.float32)
    rows[1 + 6 * line], cells[2:] = 0, -9
    pointer.look(rows, cells)
    assert pointer.at == (14 * line if leaps else 14)


def test_a_divided_word_is_one_word(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["the com-", "mon law"], spelling)
    for token in tokenizer.encode("the").ids:
        pointer.at = 0
        pointer.wrote(token)
    at(pointer, 1, 5)
    common = tokenizer.encode(" common").ids
    assert len(common) == 2
    for token in common:
        assert fits(pointer.window(), spelling)[token] == 0
        pointer.wrote(token)
        pointer.at = pointer.onward
    assert pointer.read.tolist() == [True] * 10 + [False] * 3  # the hyphen, too
    assert pointer.page.place_of(pointer.at) == (3, 5)


def test_a_hyphen_may_be_written(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["half-", "time"], spelling)
    for token in tokenizer.encode("half").ids:
        at(pointer, 1, 1 + pointer.onward)
        pointer.wrote(token)
    assert at(pointer, 1, 5) == (1, 5)  # where the head is sure of it
    pointer.wrote(tokenizer.token_to_id("-"))
    assert pointer.read[4]
    assert pointer.onward == 5


def test_a_page_may_end_with_a_divided_word(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["com-", "m"], spelling)
    pointer.at = 2
    assert pointer.window().shape == (MAX_LETTERS, NOTHING + 1)
    for token in tokenizer.encode("mmm").ids:
        pointer.wrote(token)
    assert pointer.onward <= 5


def test_the_letter_here_is_read_though_one_beside_it_is_clearer(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["aaa"], spelling)
    pointer.page.scores[1, CLASS_OF["a"]] = -0.5
    token = tokenizer.token_to_id("a")
    pointer.read[0], pointer.at = True, 1
    pointer.wrote(token)
    assert pointer.read.tolist() == [True, True, False]


def test_reading_again_is_no_progress(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(LINES, spelling)
    for _ in range(PATIENCE + 1):
        pointer.at = 0
        pointer.wrote(tokenizer.token_to_id("the"))
    assert pointer.must_read


def sure_of(row: int, cell: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    rows, cells = np.full(256, -50, np.float32), np.full(512, -50, np.float32)
    rows[row] = cells[cell] = 0
    return rows, cells


def test_within_a_word_it_goes_on_where_the_last_token_ended(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(LINES, spelling)
    at(pointer, 1, 1)
    pointer.wrote(tokenizer.token_to_id("Ġthe"))
    assert at(pointer, 1, 6) == (1, 5)  # the head is a letter too far
    assert at(pointer, 3, 1) == (3, 1)  # the next line is another matter


def test_marks_and_bullets_that_are_printed_count_as_read(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["• a_b"], spelling)
    for token, cell, num_read in (("-", 1, 1), ("Ġa", 3, 2), ("_", 4, 3), ("b", 5, 4)):
        at(pointer, 1, cell)
        pointer.wrote(tokenizer.token_to_id(token))
        assert pointer.read.sum() == num_read
    pointer = pointer_on(["ab"], spelling)
    at(pointer, 1, 1)
    pointer.wrote(tokenizer.token_to_id("#"))  # a heading: the mark is not printed
    assert not pointer.read.any()


def test_a_printed_mark_is_to_be_written(spelling: Tensor) -> None:
    pointer = pointer_on(["a *b-c"], spelling)
    found = []
    for letter in range(len(pointer.read) + 1):
        pointer.at = letter
        found.append(pointer.at_mark)
    assert found == [False, True, False, False, False, False]  # a hyphen may be a minus sign; the last is nowhere


def test_a_wrong_word_leaves_the_rest_unread(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(LINES, spelling)
    at(pointer, 1, 1)
    pointer.wrote(tokenizer.token_to_id("Ġwith"))
    assert pointer.read.sum() == 1


def test_after_many_blanks_it_goes_on_with_the_next_letter(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(LINES, spelling)
    at(pointer, 1, 1)
    pointer.wrote(tokenizer.token_to_id("Ġthe"))
    for _ in range(PATIENCE):
        assert not pointer.must_read
        at(pointer, 0, 0)  # lost
        pointer.wrote(tokenizer.token_to_id("Ġ"))
    assert pointer.must_read
    assert at(pointer, 0, 0) == (1, 5)  # "cat"
    pointer.wrote(tokenizer.token_to_id("c"))
    assert not pointer.must_read


def test_a_table_may_have_empty_cells_but_not_for_ever(tokenizer: Tokenizer, spelling: Tensor) -> None:
    tag = tokenizer.token_to_id("</td><td>")
    pointer = begun(letters_of(a_page(LINES), 2), spelling, frozenset({tag}))
    for _ in range(2 * PATIENCE):
        at(pointer, 1, 1)
        pointer.wrote(tag)
    assert not pointer.must_read
    for _ in range(PATIENCE + 1):
        at(pointer, 1, 1)
        pointer.wrote(tag)
    assert pointer.must_read


def test_a_page_does_not_end_while_much_is_unread(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["a" * 14] * 3, spelling)
    assert not pointer.refuses_to_end()  # a few words, as in a running head
    num_rows = MIN_LEFT // 14 + 1
    classes = a_page(["a" * 14]).repeat(1, num_rows, 1, 1, 1)
    pointer = begun(letters_of(classes, 2), spelling)
    assert [pointer.refuses_to_end() for _ in range(MAX_REFUSALS + 1)] == [True] * MAX_REFUSALS + [False]
    assert pointer.warnings() == ("About 100% of the letters on the page were not written.",)
    pointer.refusals = 0
    pointer.read[20:] = True
    assert not pointer.refuses_to_end()
    assert pointer.warnings() == ()


def test_what_is_missing_most_is_read_before_the_page_ends(spelling: Tensor) -> None:
    pointer = begun(letters_of(a_page(["a" * 14]).repeat(1, 20, 1, 1, 1), 2), spelling)
    pointer.read[:] = True
    pointer.read[10:40] = pointer.read[100 : 100 + MIN_LEFT] = pointer.read[200:230] = False
    assert pointer.largest_unread() == (100, MIN_LEFT + 30 - AMONG * 20)
    assert pointer.refuses_to_end()
    assert pointer.at == 100
    pointer.read[100:] = True
    assert not pointer.refuses_to_end()
    pointer.read[:] = True
    assert pointer.largest_unread() == (0, 0)


def test_a_column_is_missing_though_the_one_beside_it_was_read_line_by_line(spelling: Tensor) -> None:
    pointer = begun(letters_of(a_page(["a" * 14]).repeat(1, 30, 1, 1, 1), 2), spelling)
    pointer.read = np.arange(len(pointer.read)) % 14 < 7
    assert pointer.refuses_to_end()
    assert pointer.at == 7
    pointer.read = np.arange(len(pointer.read)) % 14 < 10
    assert not pointer.refuses_to_end()


def test_the_print_decides_among_what_may_be_printed_and_nothing_else() -> None:
    """Three tokens that print something, a tag, the end."""
    scores = torch.tensor([[2.0, 3.0, 0.0, 2.5, 1.0]])
    fit, printed = torch.tensor([[0.0, -7.0, -9.0, 0.0, 0.0]]), torch.tensor([0, 1, 2])
    before, after = scores.softmax(-1), sharpened(scores, fit, printed).softmax(-1)
    assert after[0, :3].argmax() == 0
    assert torch.allclose(after[0, 3:], before[0, 3:])
    assert torch.allclose(after[0, :3].sum(), before[0, :3].sum())
    nothing_fits = sharpened(scores, torch.tensor([[-9.0, -9.0, -9.0, 0.0, 0.0]]), printed)
    assert torch.allclose(nothing_fits, scores)


def test_a_page_without_letters_goes_where_the_head_says(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on([""], spelling)
    assert at(pointer, 2, 3) == (2, 3)
    pointer.wrote(tokenizer.token_to_id("Ġthe"))
    assert not pointer.must_read


def test_a_line_between_two_letters_parts_the_cells_of_a_table(tokenizer: Tokenizer, spelling: Tensor) -> None:
    opening, closing = (tokenizer.token_to_id(tag) for tag in ("<table><tr><td>", "</td><td>"))
    pointer = begun(letters_of(a_page(["ab", "cd"]), 2), spelling, frozenset({opening, closing}))

    def leaves() -> bool:
        return pointer.table.leaves_cell(pointer.page, pointer.at)

    assert not leaves()
    for token, drawn in ((opening, False), (tokenizer.token_to_id("a"), False)):
        at(pointer, 1, 1)
        pointer.wrote(token)
        assert leaves() == drawn
    pointer.page.drawn.across[5] = pointer.page.drawn.down[:, 3] = True  # below the first line, and between a and b
    for row, cell in ((1, 2), (3, 1)):
        at(pointer, row, cell)
        assert leaves()
    pointer.wrote(closing)
    assert not leaves()  # after a tag there is no cell that goes on


@pytest.mark.parametrize(
    ("before", "here", "parted"),
    [((2, 4), (2, 8), False), ((2, 4), (2, 20), True), ((2, 4), (8, 4), True), ((2, 4), (4, 4), False),
     ((8, 4), (2, 4), False), ((8, 30), (8, 20), False)],
)  # fmt: skip
def test_lines_are_between_what_they_part(before: tuple[int, int], here: tuple[int, int], parted: bool) -> None:
    drawn = Drawn(np.zeros((20, 40), bool), np.zeros((20, 40), bool))
    drawn.across[6, 2:12] = drawn.down[1:10, 12] = True  # they meet
    assert drawn.between(before, here) == parted


@pytest.mark.parametrize("dollars", ["$$", "$"])
def test_a_formula_is_open_from_its_dollars_to_the_next_ones(
    tokenizer: Tokenizer, spelling: Tensor, dollars: str
) -> None:
    token = tokenizer.token_to_id(dollars)
    pointer = pointer_on(["a = b", "$$ is", "a shell"], spelling)
    at(pointer, 1, 1)
    for written, is_open in ((token, True), (tokenizer.token_to_id("a"), True), (token, False)):
        pointer.wrote(written)
        assert bool(pointer.in_formula) == is_open
    at(pointer, 3, 1)
    assert pointer.at_mark
    pointer.wrote(token)
    assert not pointer.in_formula  # these are printed
    at(pointer, 1, 1)
    pointer.wrote(token)
    for _ in range(MAX_TOKENS):
        pointer.wrote(tokenizer.token_to_id("Ġ"))
    assert not pointer.in_formula  # nothing is that long


def test_the_first_cell_of_a_ruled_row_is_known() -> None:
    drawn = Drawn(np.zeros((30, 60), bool), np.zeros((30, 60), bool))
    drawn.across[[4, 10, 16], 10:51] = True
    drawn.down[4:17, [10, 24, 38, 50]] = True
    assert [drawn.is_first_cell(6, half) for half in (12, 22, 26, 40)] == [True, True, False, False]
    assert drawn.is_first_cell(12, 14)
    assert not drawn.is_first_cell(25, 14)  # below the table, the line is its lower edge: no line goes down
    assert not drawn.is_first_cell(2, 14)
    drawn.down[:] = False
    assert not drawn.is_first_cell(6, 12)  # lines across alone part no cells


def test_an_underline_parts_nothing() -> None:
    drawn = Drawn(np.zeros((20, 100), bool), np.zeros((20, 100), bool))
    drawn.across[6, 10:30] = True
    assert not drawn.between((2, 12), (8, 12))
    drawn.down[2:12, 30] = True
    assert drawn.between((2, 12), (8, 12))  # it ends at a line down: the border of a cell
    drawn.down[:] = False
    drawn.across[6, 10:60] = True
    assert drawn.between((2, 12), (8, 12))  # it goes across the table


def test_a_formula_may_begin_with_a_mark(tokenizer: Tokenizer, spelling: Tensor) -> None:
    pointer = pointer_on(["|x| = 1"], spelling)
    at(pointer, 1, 1)
    assert pointer.at_mark
    pointer.wrote(DISPLAY)
    assert pointer.in_formula


def own_page(lines: list[str], spelling: Tensor, times: int = 1) -> Pointer:
    """Of a page that names its letters itself, with these lines once or several times."""
    letters = letters_of(a_page(lines).repeat(1, times, 1, 1, 1), 2)
    letters.scores *= OWN_TRUST
    return begun(letters, spelling)


def test_no_line_of_a_page_that_names_its_letters_is_left_out_but_the_first_and_the_last(spelling: Tensor) -> None:
    pointer = own_page(["running head", "12 May 2024", "page 12"], spelling)
    pointer.read[:] = True
    pointer.read[11 : 11 + MIN_INSIDE] = False
    assert pointer.refuses_to_end()
    assert pointer.at == 11
    for left in (2, 1, 0):
        assert pointer.breaks == left
        assert at(pointer, 1, 1) == pointer.page.place_of(11)  # it is read first, wherever the head would rather go
        pointer.wrote(TOKENIZER.token_to_id("Ċ"))
    pointer.read[11] = True
    assert not pointer.refuses_to_end()  # a letter less
    pointer.read[:11] = pointer.read[20:] = False
    assert not pointer.refuses_to_end()


def test_what_is_missing_begins_behind_a_hyphen_that_is_not_written(spelling: Tensor) -> None:
    pointer = own_page(["to devel-", "op it all"], spelling, times=3)
    pointer.read[:] = True
    pointer.read[22:30] = False  # the hyphen, too
    assert pointer.page.char(22) == "-"
    assert pointer.refuses_to_end()
    assert pointer.at == 23


def test_a_short_line_of_a_picture_may_be_no_letters(spelling: Tensor) -> None:
    pointer = pointer_on(["running head", "12 May 2024", "page 12"], spelling)
    pointer.read[:] = True
    pointer.read[11:20] = False
    assert not pointer.refuses_to_end()


@pytest.mark.parametrize(
    ("lines", "apart"),
    [
        pytest.param(["chapter 7", "2 the mat"], True, id="a figure below a figure"),
        pytest.param(["the cat-", "tle sat"], False, id="a divided word"),
        pytest.param(["www.cat.", "org/mat"], False, id="an address"),
        pytest.param(["the cat sat", "12"], False, id="a mark of a footnote"),
    ],
)
def test_lines_of_a_page_that_names_its_letters_are_apart(spelling: Tensor, lines: list[str], apart: bool) -> None:
    pointer, first = own_page(lines, spelling), len(lines[0].replace(" ", ""))
    assert pointer.page.spaces[first] == (OWN_SPACE if apart else 0)
    assert pointer_on(lines, spelling).page.spaces[first] == 0  # what a picture shows may be less than what is printed
