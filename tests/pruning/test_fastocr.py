"""The method alone, without a model: masses in, fixations out."""

import pytest
import torch

from fastocr_cli.errors import ConfigError
from fastocr_cli.pruning.base import Layout
from fastocr_cli.pruning.fastocr import FastOCRGaze, Method
from fastocr_cli.pruning.focal import FocalProfile

LAYOUT = Layout(num_layers=5, checkpoint_key="a/b@main", device=torch.device("cpu"))


def begin(num_visual: list[int], **options: object) -> FastOCRGaze:
    gaze = Method(**{"floor": 2, "warmup": 1, "keep": 0.2, **options}).begin(LAYOUT)  # type: ignore[arg-type]
    for number in num_visual:
        gaze.admit(number)
    return gaze


def mass_on(num_visual: int, *places: int) -> torch.Tensor:
    """One row's attention, the first place the most looked at."""
    mass = torch.full((1, num_visual), 0.001)
    for rank, place in enumerate(places):
        mass[0, place] = 1.0 - 0.1 * rank
    return mass


def pass_step(gaze: FastOCRGaze, mass: torch.Tensor) -> None:
    for layer in range(LAYOUT.num_layers):
        rows = gaze.rows_reading_all(layer)
        if rows and gaze.watches(layer):
            gaze.see(layer, rows, mass[rows])
    gaze.advance()


def test_after_the_warmup_only_focal_layers_read_everything() -> None:
    gaze = begin([20], focal="1,3")
    assert [gaze.rows_reading_all(layer) for layer in range(5)] == [[0]] * 5
    pass_step(gaze, mass_on(20, 4))
    assert [gaze.rows_reading_all(layer) for layer in range(5)] == [[], [0], [], [0], []]


def test_without_reuse_layers_before_the_first_focal_one_read_everything() -> None:
    gaze = begin([20], focal="2", reuse=False)
    pass_step(gaze, mass_on(20, 4))
    assert [gaze.rows_reading_all(layer) for layer in range(5)] == [[0], [0], [0], [], []]


def test_the_choice_of_a_focal_layer_goes_on_to_later_layers_and_to_the_next_step() -> None:
    gaze = begin([20], focal="1,3")
    pass_step(gaze, mass_on(20, 4))
    gaze.see(1, [0], mass_on(20, 7, 8, 9, 10))
    assert set(gaze.fixation.places[0].tolist()) == {7, 8, 9, 10}
    gaze.see(3, [0], mass_on(20, 1, 2, 3, 4))
    gaze.advance()
    assert set(gaze.fixation.places[0].tolist()) == {1, 2, 3, 4}  # what layer 0 of the next step starts from


def test_budgets_are_the_kept_ratio_with_a_floor_and_rows_may_differ() -> None:
    gaze = begin([100, 5, 31], focal="1")
    pass_step(gaze, torch.rand(3, 100))
    assert [row.budget for row in gaze.rows] == [20, 2, 7]
    assert (gaze.fixation.bias == 0).sum(1).tolist() == [20, 2, 7]


def test_the_best_places_of_a_short_row_come_first() -> None:
    gaze = begin([100, 10], focal="1")
    mass = torch.cat([mass_on(100, *range(20)), torch.nn.functional.pad(mass_on(10, 6, 3, 5), (0, 90))])
    pass_step(gaze, mass)
    assert gaze.fixation.places[1, :2].tolist() == [6, 3]


def test_online_keeps_the_layers_that_look_most_at_the_image() -> None:
    gaze = begin([20], focal="online", num_focal=2, warmup=3)
    for _ in range(3):
        for layer, attention in enumerate((0.1, 0.7, 0.2, 0.9, 0.3)):
            gaze.see(layer, [0], attention * mass_on(20, layer))
        gaze.advance()
    assert gaze.rows[0].focal == {1, 3}
    assert 3 in gaze.fixation.places[0]  # the deepest focal layer's choice


def test_rows_come_and_go_without_mixing() -> None:
    gaze = begin([20, 20, 20], focal="1")
    pass_step(gaze, torch.cat([mass_on(20, p, p + 1, p + 2, p + 3) for p in (0, 5, 10)]))
    gaze.drop(0)
    assert [set(row.tolist()) for row in gaze.fixation.places] == [{10, 11, 12, 13}, {5, 6, 7, 8}]
    gaze.admit(20)
    assert gaze.rows_reading_all(0) == [2]  # the new page is in its warm-up, alone


def test_coverage_is_the_share_of_image_attention_inside_the_fixation() -> None:
    gaze = begin([10], focal="1", keep=0.2)
    mass = torch.tensor([[4.0, 3.0, 2.0, 1.0, 0, 0, 0, 0, 0, 0]])
    pass_step(gaze, mass)
    assert gaze.coverage(0) == pytest.approx(0.7)


def test_a_saved_profile_names_the_focal_layers_and_none_means_online() -> None:
    assert Method().focal_layers(LAYOUT) is None
    FocalProfile(LAYOUT.checkpoint_key, (2, 4), (0.1,) * 5).save()
    assert Method().focal_layers(LAYOUT) == {2, 4}


@pytest.mark.parametrize("focal", ["5", "-1", "two", ""])
def test_layers_that_are_not_there_are_refused(focal: str) -> None:
    with pytest.raises(ConfigError):
        Method(focal=focal).begin(LAYOUT)
