"""What is drawn on a page is measured without weights."""

import torch

from fastocr_cli.models.pocket.strokes import NUM_STROKES, drawn_lines, strokes


def test_a_line_is_found_where_it_is_drawn_and_letters_are_none() -> None:
    pixels = torch.zeros(1, 1, 48, 120)
    pixels[0, 0, 20, 40:100] = 0.8  # half cells 10 to 24 of the third row of cells
    pixels[0, 0, 32:44, 8:30] = 1  # a broad letter
    pixels[0, 0, 2:46, 110:112] = 1  # a line down
    across, down = torch.zeros(2, 6, 30, dtype=torch.bool)
    across[2, 10:25] = True
    down[:, 27] = True
    assert (drawn_lines(pixels)[0] == torch.stack([across, down])).all()


def test_strokes_tell_bold_print_and_rules() -> None:
    pixels = torch.zeros(4, 1, 48, 48)
    pixels[0, :, ::8] = 1  # hairlines of the whole width
    pixels[1, :, :, 16:19] = 1  # an upright stroke of three pixels
    pixels[2, :, 20:23, 8:22] = 1  # the bar of a fraction
    seen = strokes(pixels)
    assert seen.shape == (4, 6, 6, NUM_STROKES)
    ink, two, three, four, across, long, down = (seen.mean((1, 2)) > 0).T.tolist()
    assert ink == [True, True, True, False]
    assert two == three == [False, True, True, False]
    assert not any(four)
    assert across == [True, False, True, False]
    assert long == [True, False, False, False]
    assert down == [False, True, False, False]
