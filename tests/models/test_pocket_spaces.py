"""Blanks between letters, told from the white between them."""

import torch
from torch import Tensor

from fastocr_cli.models.pocket.cells import NUM_CLASSES, cell_grid
from fastocr_cli.models.pocket.letters import WIDE, Letters, letters_of
from fastocr_cli.models.pocket.spaces import Spaces, white_before

MIDDLES = [12, 20, 34, 42]
"""Of four letters, 5 pixels wide."""


def letters_at(middles: list[int], rows: list[int] | None = None) -> Letters:
    characters = [("a", x, y) for x, y in zip(middles, rows or [20] * len(middles), strict=True)]
    grid = torch.from_numpy(cell_grid(characters, 64, 96))
    return letters_of(torch.nn.functional.one_hot(grid, NUM_CLASSES).permute(1, 2, 0, 3)[None].float(), 2)


def ink_at(middles: list[int], top: int = 17, bottom: int = 25) -> Tensor:
    pixels = torch.zeros(1, 1, 64, 96)
    for x in middles:
        pixels[..., top:bottom, x - 2 : x + 3] = 1
    return pixels


def test_white_is_as_wide_as_the_strip_without_ink() -> None:
    white = white_before(letters_at(MIDDLES), ink_at(MIDDLES))[0]
    assert white[1:].tolist() == [3, 9, 3]


def test_white_within_a_letter_is_none_between_letters() -> None:
    """A strip that reaches beyond the letter before is cut there."""
    hollow = ink_at(MIDDLES)
    hollow[..., 10:12] = 0  # the left half of the first letter
    assert torch.equal(white_before(letters_at(MIDDLES), hollow), white_before(letters_at(MIDDLES), ink_at(MIDDLES)))


def test_print_above_and_below_the_band_is_not_seen() -> None:
    pixels = ink_at(MIDDLES)
    pixels[..., :8, :] = pixels[..., 40:, :] = 1
    assert white_before(letters_at(MIDDLES), pixels)[0, 1:].tolist() == [3, 9, 3]


def test_a_line_begins_with_the_widest_white_and_no_opinion() -> None:
    torch.manual_seed(0)
    letters = letters_at([12, 20, 12, 20], [20, 20, 52, 52])
    pixels = torch.ones(1, 1, 64, 96)
    assert white_before(letters, pixels)[0].tolist() == [4 * WIDE, 0, 4 * WIDE, 0]
    logit = Spaces()(letters, pixels)[0]
    assert (logit == 0).tolist() == [True, False, True, False]


def test_spaces_can_be_learnt_from_white_alone() -> None:
    """Letters of one pitch: their centres say nothing, the strips between them all."""
    torch.manual_seed(0)
    middles = list(range(10, 90, 8))
    letters, pixels = letters_at(middles), ink_at(middles)
    for x in middles[3::3]:
        pixels[..., x - 2 : x + 1] = 0  # a narrow letter after a blank
    truth = torch.tensor([float(i > 0 and i % 3 == 0) for i in range(len(middles))])
    spaces = Spaces()
    optimizer = torch.optim.Adam(spaces.parameters(), 0.05)
    for _ in range(60):
        loss = torch.nn.functional.binary_cross_entropy_with_logits(spaces(letters, pixels)[0], truth)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert ((spaces(letters, pixels)[0, 1:] > 0) == (truth[1:] > 0)).all()
