"""The pruned attention of training is what decoding attends to."""

import pytest
import torch
from torch import nn
from training.attention import Gaze, Pruning, attend, text_mask

from fastocr_cli.decoding.attention import attend_segment

NUM_VISUAL, NUM_ROWS, HEADS, SIZE = 40, 14, 4, 8


class Layer(nn.Module):
    def __init__(self, index: int) -> None:
        super().__init__()
        self.layer_idx = index


@pytest.fixture
def qkv() -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    length = 1 + NUM_VISUAL + NUM_ROWS
    return torch.randn(1, HEADS, length, SIZE), torch.randn(1, 2, length, SIZE), torch.randn(1, 2, length, SIZE)


def a_gaze(layers: int = 6, pruning: Pruning | None = None) -> Gaze:
    return Gaze(NUM_VISUAL, {2: 1}, layers, pruning, pruned=pruning is not None)


def test_each_row_attends_to_its_choice_and_all_text(qkv: tuple[torch.Tensor, ...]) -> None:
    query, key, value = qkv
    pruning = Pruning(focal_layers=(2,), kept_ratio=0.1, floor=4, warm_up=8)
    gaze = a_gaze(pruning=pruning)
    attend(Layer(2), query, key, value, None, SIZE**-0.5, gaze)
    out, _ = attend(Layer(3), query, key, value, None, SIZE**-0.5, gaze)
    assert gaze.chosen is not None
    for row in (0, 8, 9, 13):
        position = 1 + NUM_VISUAL + row
        seen = gaze.chosen[0, row].nonzero()[:, 0] if row > 8 else torch.arange(NUM_VISUAL)
        kept = torch.cat([torch.zeros(1, dtype=torch.long), 1 + seen, torch.arange(1 + NUM_VISUAL, position + 1)])
        expected, _ = attend_segment(
            query[:, :, position : position + 1], key[:, :, kept], value[:, :, kept],
            torch.zeros(1, len(kept)), SIZE**-0.5,
        )  # fmt: skip
        torch.testing.assert_close(out[:, position], expected[:, :, 0])


def test_layers_before_the_focal_one_use_the_choice_of_the_row_before() -> None:
    pruning = Pruning(focal_layers=(2, 4), warm_up=1)
    gaze = a_gaze(pruning=pruning)
    gaze.previous = torch.zeros(1, NUM_ROWS, NUM_VISUAL, dtype=torch.bool)
    gaze.chosen = torch.ones_like(gaze.previous)
    first, after = gaze.fixation(1), gaze.fixation(3)
    assert first is not None
    assert after is not None
    assert first[:, :2].all()  # warm-up: prefill's row and one step
    assert not first[:, 2:].any()
    assert after.all()
    assert gaze.fixation(2) is None


def test_keeping_everything_is_dense_attention(qkv: tuple[torch.Tensor, ...]) -> None:
    query, key, value = qkv
    gaze = a_gaze(pruning=Pruning(focal_layers=(2,), kept_ratio=1.0))
    attend(Layer(2), query, key, value, None, SIZE**-0.5, gaze)
    pruned, _ = attend(Layer(3), query, key, value, None, SIZE**-0.5, gaze)
    dense, _ = attend(Layer(3), query, key, value, None, SIZE**-0.5, a_gaze())
    torch.testing.assert_close(pruned, dense)


def test_the_last_layer_gives_the_same_text(qkv: tuple[torch.Tensor, ...]) -> None:
    query, key, value = qkv
    last, _ = attend(Layer(5), query, key, value, None, SIZE**-0.5, a_gaze())
    other, _ = attend(Layer(3), query, key, value, None, SIZE**-0.5, a_gaze())
    torch.testing.assert_close(last[:, 1 + NUM_VISUAL :], other[:, 1 + NUM_VISUAL :])


def test_text_is_causal_and_never_pruned() -> None:
    mask = text_mask(3, 1 + 2, torch.zeros(1, 3, 2, dtype=torch.bool))
    assert mask[0, 0].int().tolist() == [[1, 0, 0, 1, 0, 0], [1, 0, 0, 1, 1, 0], [1, 0, 0, 1, 1, 1]]


def test_the_budget_is_that_of_decoding() -> None:
    assert [Pruning().num_kept(n) for n in (10, 100, 3520)] == [10, 16, 176]
