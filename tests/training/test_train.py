"""A step lowers the loss, and a run that was stopped goes on as if it had not been."""

import random
from itertools import islice
from pathlib import Path

import pytest
import torch

from fastocr_cli.models.pocket.network import PocketConfig, PocketNetwork

pytest.importorskip("typst")

from training.batches import Mixture, Pages
from training.export import export
from training.model import Batch, encode, inked
from training.train import Config, Trainer, known_characters, mistaken


@pytest.fixture
def config(data: Path, tmp_path: Path) -> Config:
    return Config(data=data, out=tmp_path / "run", num_workers=0, warm_up=1, pruned=0.5, rate=1e-3, device="cpu")


@pytest.fixture
def batch(config: Config) -> Batch:
    mixture = Mixture(small=1.0, num_positions=200)
    return next(islice(Pages(config.data, config.tokenizer, mixture, seed=5), 1))


def test_steps_lower_the_loss(config: Config, batch: Batch) -> None:
    trainer = Trainer(config)
    first = trainer.train_step(batch)["visual"]
    for _ in range(6):
        last = trainer.train_step(batch)["visual"]
    assert last < first


def test_a_resumed_run_is_the_same_run(config: Config, batch: Batch) -> None:
    random.seed(1)
    trainer = Trainer(config)
    trainer.train_step(batch)
    trainer.save()
    trainer.train_step(batch)
    resumed = Trainer(config)
    assert (resumed.step, resumed.pages_seen > 0) == (1, True)
    resumed.train_step(batch)
    for one, other in zip(trainer.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(one, other)
    assert all(torch.equal(trainer.mean[name], resumed.mean[name]) for name in trainer.mean)


def test_the_rate_warms_up_holds_and_falls_to_zero() -> None:
    config = Config(steps=100, decay=20, warm_up=10, rate=1.0)
    assert [config.rate_at(step, 0) for step in (0, 9, 50, 80, 90)] == [0.1, 1.0, 1.0, 1.0, 0.5]


def test_labels_follow_inputs_and_lie_on_the_page(batch: Batch) -> None:
    known = batch.labels[:, :-1] >= 0
    text = batch.inputs[:, 1:]
    same = (text == batch.labels[:, :-1]) | (batch.labels[:, :-1] == 2)
    assert same[known].all()
    assert batch.places.max() < batch.num_visual
    assert (batch.places[batch.printed] >= 0).all()


def test_mistakes_spare_the_first_input_and_stay_in_their_share(batch: Batch) -> None:
    random.seed(3)
    changed = mistaken(batch.inputs, Config(noise=0.2), 2126) != batch.inputs
    assert not changed[:, 0].any()
    assert changed.float().mean() < 0.3


def test_own_text_is_none_or_of_the_same_shape(batch: Batch) -> None:
    assert known_characters(batch.cells, Config(own_text=0.0)) is None
    worn = known_characters(batch.cells, Config(own_text=1.0, wrong_text=1.0))
    assert worn is not None
    assert worn.shape == batch.cells.shape


def test_exported_weights_load_into_the_package(config: Config, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    trainer = Trainer(config)
    trainer.save()
    export(config.out / "last.pt", tmp_path / "weights")
    weights = load_file(tmp_path / "weights" / "model.safetensors")
    assert set(weights) == set(trainer.model.network.state_dict())
    assert weights["lm.embed_tokens.weight"].dtype == torch.float16


def test_training_encodes_as_reading_does(batch: Batch) -> None:
    vision = PocketNetwork(PocketConfig()).vis.eval()
    pixels = (255 - batch.image.float()) / 255
    for cells in (None, batch.cells):
        for one, other in zip(encode(vision, pixels, cells), vision(pixels, cells), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_white_paper_is_dropped_and_ink_is_kept() -> None:
    pixels = torch.zeros(1, 1, 48, 64) + 0.1 + 0.03 * torch.rand(1, 1, 48, 64)
    pixels[0, 0, 30:33, 20:23] = 0.9  # a full stop
    assert inked(pixels)[0].nonzero()[:, 0].tolist() == [1 * 4 + 1]
