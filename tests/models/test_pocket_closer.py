"""Small print is looked at again."""

import pytest
import torch

from fastocr_cli.models.pocket.cells import CHARACTERS, CLASS_OF, NUM_CLASSES, lay
from fastocr_cli.models.pocket.closer import FEW, enlarged, laid_back, magnification
from fastocr_cli.models.pocket.letters import Letters, letters_of


def letters_every(pixels: float, num: int = 150, width: int = 640) -> Letters:
    """Letters in lines, so far from each other."""
    in_a_line = int(width // pixels) - 1
    places = ((i % in_a_line * pixels + 4, i // in_a_line * 16 + 12) for i in range(num))
    grid = torch.from_numpy(lay(((i % 90 + 1, x, y) for i, (x, y) in enumerate(places)), 480, width))
    return letters_of(torch.nn.functional.one_hot(grid, NUM_CLASSES).permute(1, 2, 0, 3)[None].float(), 2)


@pytest.mark.parametrize(("pixels", "factor"), [(6.5, 1.5), (8, 1.5), (8.8, 1.25), (9.2, 1), (12, 1)])
def test_narrow_print_is_enlarged(pixels: float, factor: float) -> None:
    assert magnification(letters_every(pixels)) == factor


def test_a_few_letters_say_nothing_of_a_page() -> None:
    assert magnification(letters_every(6.5, FEW // 2)) == 1


def test_an_enlarged_page_is_made_of_whole_visual_tokens() -> None:
    page = torch.rand(1, 1, 96, 120)
    larger = enlarged(page, 1.25, (16, 24))
    assert larger.shape == (1, 1, 128, 168)
    assert larger.min() >= 0
    assert larger.max() <= 1
    assert not larger[..., 120:, :].any()
    assert not larger[..., 150:].any()


def test_letters_come_back_to_where_they_are_on_the_page_with_their_doubts() -> None:
    classes = torch.zeros(1, 12, 18, 2, NUM_CLASSES)
    classes[..., 0] = 1
    where = [(3, 4, 0, "t"), (3, 4, 1, "t"), (3, 9, 1, "e"), (9, 12, 0, "x")]
    for row, cell, half, char in where:
        classes[0, row, cell, half] = 0
        classes[0, row, cell, half, CLASS_OF[char]] = 0.8
        classes[0, row, cell, half, CLASS_OF["c"]] = 0.2
    classes[0, 3, 4, :, CLASS_OF["t"]] = 1  # two of the same letter beside each other are sure
    back = laid_back(letters_of(classes, 2), 1.5, 64, 96)
    assert back.shape == (1, 8, 12, 2, NUM_CLASSES)
    assert torch.allclose(back.sum(-1), torch.ones(()))
    sure, which = back[0].flatten(1, 2)[..., 1:].max(-1)
    row, half = (sure > 0).nonzero(as_tuple=True)
    assert [CHARACTERS[i] for i in which[row, half].tolist()] == ["t", "t", "e", "x"]
    assert row.tolist() == [2, 2, 2, 6]
    assert half.tolist() == [5, 6, 13, 16]
    assert 0.7 < float(sure[2, 13]) < 0.9


def test_letters_that_meet_in_a_half_cell_are_both_kept() -> None:
    grid = torch.from_numpy(lay([(1, 18, 12), (2, 22, 12)], 48, 96))
    letters = letters_of(torch.nn.functional.one_hot(grid, NUM_CLASSES).permute(1, 2, 0, 3)[None].float(), 2)
    seen = laid_back(letters, 1.5, 32, 72)[0].flatten(1, 2).argmax(-1)
    assert seen.nonzero().tolist() == [[1, 3], [1, 4]]
    assert seen[1, 3:5].tolist() == [1, 2]
