"""A step lowers the loss, and a run that was stopped goes on as if it had not been."""

import os
import random
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import pytest
import torch

from fastocr_cli.models.pocket.cells import ASCII, NUM_CLASSES
from fastocr_cli.models.pocket.config import PocketConfig
from fastocr_cli.models.pocket.network import PocketNetwork
from fastocr_cli.models.pocket.spelling import NOTHING
from fastocr_cli.models.pocket.vision import certain, inked, known

pytest.importorskip("typst")

from training.batches import Mixture, Pages
from training.export import export
from training.losses import UNSPELLED, blank_loss, text_loss
from training.mistakes import known_characters, misplaced, mistaken
from training.model import Batch, keep
from training.optimizers import has_bfloat16
from training.train import Config, Trainer


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


def test_blanks_are_learnt_alone(config: Config, batch: Batch) -> None:
    trainer = Trainer(replace(config, part="blanks", picture=0.0, rate=1e-2))
    before = {name: p.clone() for name, p in trainer.model.named_parameters()}
    first = trainer.train_step(batch)["blanks"]
    for _ in range(10):
        last = trainer.train_step(batch)["blanks"]
    assert last < 0.7 * first
    for name, parameter in trainer.model.named_parameters():
        assert torch.equal(parameter, before[name]) == (not name.startswith("network.spaces."))


def test_letters_that_begin_a_line_teach_nothing_of_blanks(config: Config, batch: Batch) -> None:
    model = Trainer(replace(config, part="blanks")).model
    outputs = model(batch, batch.cells, batch.inputs, batch.places, None, False)
    assert outputs.letters is not None
    batch.blanks.zero_()
    assert blank_loss(outputs, batch) == (0, 1)
    begins = outputs.letters.begins_line()[0] & (outputs.letters.row[0] >= 0)
    batch.blanks[0, outputs.letters.cell_row[0][begins], outputs.letters.half[0][begins]] = 1
    assert blank_loss(outputs, batch) == (0, 1)


def test_bf16_is_used_where_the_processor_multiplies_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cpu = torch.device("cpu")
    for capabilities, has in ({"avx2": True, "amx_bf16": False}, False), ({"avx2": True, "avx512_bf16": True}, True):
        monkeypatch.setattr(torch.cpu, "get_capabilities", lambda found=capabilities: found)
        assert has_bfloat16(cpu) == has


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


def test_tags_and_marks_weigh_more_than_what_is_copied() -> None:
    spelling = torch.tensor([[NOTHING], [5]])  # a tag, a letter
    logits, labels = torch.tensor([[[0.0, 2.0], [0.0, 1.0], [9.0, 9.0]]]), torch.tensor([[0, 1, -100]])
    tag, letter = (float(-logits[0, i].log_softmax(-1)[i]) for i in (0, 1))
    weighed, plain = text_loss(logits, labels, spelling)
    assert float(weighed) == pytest.approx((UNSPELLED * tag + letter) / (UNSPELLED + 1))
    assert plain == pytest.approx((tag + letter) / 2)


def test_labels_follow_inputs_and_lie_on_the_page(batch: Batch) -> None:
    known = batch.labels[:, :-1] >= 0
    text = batch.inputs[:, 1:]
    same = (text == batch.labels[:, :-1]) | (batch.labels[:, :-1] == 2)
    assert same[known].all()
    assert batch.places.max() < batch.num_places
    assert batch.visual_places.max() < batch.num_visual
    assert (batch.places[batch.printed] >= 0).all()


def test_mistakes_spare_the_first_input_and_stay_in_their_share(batch: Batch) -> None:
    random.seed(3)
    changed = mistaken(batch.inputs, 0.2, 2126) != batch.inputs
    assert not changed[:, 0].any()
    assert changed.float().mean() < 0.3


def test_places_are_those_of_the_inputs_and_mistakes_stay_on_the_page(batch: Batch) -> None:
    true = misplaced(batch.places, batch.num_cells, batch.num_places, 0.0)
    assert (true[:, 0] == -1).all()
    assert torch.equal(true[:, 1:], batch.places[:, :-1])
    random.seed(3)
    moved = misplaced(batch.places, batch.num_cells, batch.num_places, 0.9)
    assert not torch.equal(moved, true)
    assert torch.equal(moved < 0, true < 0)
    assert moved.max() < batch.num_places


def test_characters_alone_are_worn_a_little_and_beside_a_picture_may_be_missing(batch: Batch) -> None:
    random.seed(4)
    assert known_characters(batch.cells, True, 0.0) is None
    for look in (True, False):
        for _ in range(8):
            worn = known_characters(batch.cells, look, 1.0)
            assert worn is not None
            assert worn.shape == batch.cells.shape
            if not look:
                assert (worn > 0).sum() > 0.8 * (batch.cells > 0).sum()


def test_exported_weights_load_into_the_package(config: Config, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    trainer = Trainer(config)
    trainer.save()
    export(config.out / "last.pt", tmp_path / "weights")
    weights = load_file(tmp_path / "weights" / "model.safetensors")
    assert set(weights) == set(trainer.model.network.state_dict())
    assert weights["lm.embed_tokens.weight"].dtype == torch.float16
    trainer.model.network.copy.bias.data += 1
    trainer.mean["copy.bias"] += 1
    trainer.save()
    export(config.out / "last.pt", tmp_path / "mixed", tmp_path / "weights" / "model.safetensors", share=0.25)
    mixed = load_file(tmp_path / "mixed" / "model.safetensors")
    assert mixed["copy.bias"].item() == pytest.approx(weights["copy.bias"].item() + 0.25, abs=1e-2)
    assert torch.equal(mixed["next_place.bias"], weights["next_place.bias"])


def test_characters_alone_are_read_as_beside_a_picture_that_agrees(batch: Batch) -> None:
    vision = PocketNetwork(PocketConfig()).vis.eval()
    kept = keep(inked((255 - batch.image.float()) / 255, batch.cells, PocketConfig()))
    pixels = (255 - batch.image.float()) / 255
    alone = vision(pixels, batch.cells, kept, look=False)
    assert alone.scores is None
    assert torch.equal(alone.classes.argmax(-1).permute(0, 3, 1, 2), batch.cells)
    assert torch.allclose(alone.tokens, vision.words(vision.letters(alone.classes.float()), kept), atol=1e-5)


def test_reading_a_letter_aside_stays_on_the_page(
    config: Config, batch: Batch, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Trainer(config).model.train()
    places = torch.nn.functional.pad(batch.places[:, :-1], (1, 0), value=-1)
    outputs = model(batch, batch.cells, batch.inputs, places, None, False)
    assert outputs.letters is not None
    width, last = 2 * batch.num_cells, (outputs.letters.row >= 0).sum(1, keepdim=True) - 1
    row, half = outputs.letters.cell_row.gather(1, last), outputs.letters.half.gather(1, last)
    batch = replace(batch, halves=(row * width + half).expand_as(batch.halves))
    monkeypatch.setattr(torch, "rand", lambda shape, **_: torch.zeros(shape))  # all of them aside ...
    monkeypatch.setattr(torch, "randint_like", lambda like, _: torch.ones_like(like))  # ... to the right
    assert model.copying_logits(outputs, batch).isfinite().all()


def test_own_characters_win_and_the_picture_fills_their_gaps() -> None:
    cells = torch.zeros(1, 2, 6, 9, dtype=torch.long)
    cells[0, 1, 2, 2] = 5
    seen = torch.rand(1, 6, 9, 2, NUM_CLASSES).softmax(-1)
    seen[0, 2, 3, 0] = torch.nn.functional.one_hot(torch.tensor(5), NUM_CLASSES)  # the trunk sees it half a cell aside
    both = known(cells, seen.clone())
    assert both[0, 2, 2].argmax(-1).tolist() == [0, 5]
    assert both[0, 1:4, 1:4, :, 0].sum() == 17  # what the picture makes of the neighbours is not read twice
    assert torch.equal(both[0, :, 4:], seen[0, :, 4:])


def test_characters_that_are_not_on_the_page_are_not_believed() -> None:
    cells = torch.randint(1, 108, (2, 2, 6, 9))
    seen = torch.nn.functional.one_hot(cells.roll(1, 0), NUM_CLASSES).permute(0, 2, 3, 1, 4).float()
    assert torch.equal(known(cells, seen.clone()), seen)


def test_characters_that_the_trunk_hardly_saw_are_taken_at_the_pages_word() -> None:
    cells = torch.randint(len(ASCII) + 1, NUM_CLASSES, (2, 2, 6, 9))
    assert torch.equal(known(cells, certain(cells.roll(1, 0))), certain(cells))


def test_white_paper_is_dropped_and_ink_is_kept() -> None:
    config = PocketConfig()
    pixels = torch.zeros(1, 1, 48, 72) + 0.1 + 0.03 * torch.rand(1, 1, 48, 72)
    pixels[0, 0, 20:23, 30:33] = 0.9  # a full stop
    assert inked(pixels, None, config)[0].nonzero()[:, 0].tolist() == [1 * 3 + 1]
    cells = torch.zeros(1, 2, 6, 9, dtype=torch.long)
    cells[0, 0, 5, 8] = 7  # printed too faintly to be seen
    assert inked(pixels, cells, config)[0].nonzero()[:, 0].tolist() == [1 * 3 + 1, 2 * 3 + 2]


def test_pages_of_a_batch_keep_equally_many_tokens_and_all_their_ink() -> None:
    ink = torch.tensor([[0, 1, 0, 1, 1], [0, 0, 0, 0, 1]]).bool()
    kept = keep(ink)
    assert kept[0].tolist() == [1, 3, 4]
    assert kept[1].tolist() == sorted(kept[1].tolist())
    assert 4 in kept[1].tolist()


def test_processes_share_their_gradients(tmp_path: Path) -> None:
    """Two processes with gradients 1 and 3 step by 2, and one that is asked to stop stops both."""
    script = tmp_path / "share.py"
    script.write_text(
        "import torch\n"
        "from training.train import Together\n"
        "together = Together()\n"
        "p, q = (torch.nn.Parameter(torch.zeros(2)) for _ in range(2))\n"
        "p.grad = torch.full((2,), 1.0 + 2 * together.rank)\n"
        "stop = together.average([p, q], stop=together.rank == 1)\n"
        "assert p.grad.tolist() == [2, 2] and q.grad.tolist() == [0, 0] and stop\n"
        "together.leave()\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    path = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    subprocess.run(command, check=True, timeout=120, env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"})
