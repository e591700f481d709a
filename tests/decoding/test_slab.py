"""The slab holds exactly the fixation, however it came there."""

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fastocr_cli.decoding.slab import Moves, Slab, gathered, move
from fastocr_cli.pruning.base import Fixation

ROWS, HEADS, PLACES, KEPT, WIDTH = 3, 2, 30, 5, 4


def choose(seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.stack([torch.randperm(PLACES, generator=generator)[:KEPT] for _ in range(ROWS)])


@given(st.lists(st.integers(0, 50), min_size=1, max_size=6))
@settings(max_examples=40, deadline=None)
def test_after_any_moves_it_equals_a_gather(seeds: list[int]) -> None:
    keys, values = torch.randn(2, ROWS + 1, HEADS, PLACES, WIDTH)  # one idle row, as after a page has ended
    slab, moves = Slab(), Moves()
    for seed in seeds:
        index = choose(seed)
        held_keys, held_values = slab.read(Fixation(index, None), keys, values, moves)
        assert slab.held is not None
        assert torch.equal(slab.held.sort().values, index.sort().values)
        assert torch.equal(held_keys, gathered(keys, slab.held))
        assert torch.equal(held_values, gathered(values, slab.held))


def test_only_new_tokens_move() -> None:
    held = torch.tensor([[3, 9, 4], [0, 1, 2]])
    change = move(held, torch.tensor([[9, 5, 3], [2, 1, 0]]), num_heads=1, num_places=PLACES)
    assert change.places.tolist() == [[3, 9, 5], [0, 1, 2]]
    assert (change.target.tolist(), change.source.tolist()) == ([2], [5])


def test_rows_that_keep_unequal_numbers_are_gathered_in_order() -> None:
    keys, values = torch.randn(2, ROWS, HEADS, PLACES, WIDTH)
    index, bias = choose(1), torch.zeros(ROWS, KEPT)
    slab = Slab()
    held_keys, _ = slab.read(Fixation(index, bias), keys, values, Moves())
    assert torch.equal(held_keys, gathered(keys, index))
