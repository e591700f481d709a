"""Profiling a tiny random model: shares are shares, and the layers chosen are those that were tried."""

from pathlib import Path

import pytest
import torch

from fastocr_cli import profiling
from fastocr_cli.config import RunConfig
from fastocr_cli.errors import InputError
from fastocr_cli.profiling import measure
from tiny import TINY


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pocket") / "checkpoint"
    TINY["pocket"].build(folder)
    return folder


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_num_threads(1)
    monkeypatch.setattr(profiling, "NUM_STEPS", 24)
    monkeypatch.setattr(profiling, "NUM_PAGES", 1)


def test_a_profile_of_the_sample(folder: Path) -> None:
    lines: list[str] = []
    profile = measure([], RunConfig(model=str(folder)), lines.append)
    assert len(profile.image_share) == 4
    assert all(0 <= share <= 1 for share in profile.image_share)
    tried = profile.settings["agreement"]
    assert ",".join(map(str, profile.focal)) in tried
    assert all(0 <= agreed <= 1 for agreed in tried.values())
    assert len(lines) == 1 + len(tried)


def test_the_fewest_layers_that_suffice_are_chosen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(profiling, "MIN_AGREEMENT", 0.0)
    profile = measure([], RunConfig(model=str(folder)))
    assert len(profile.focal) == 1


def test_pages_with_nothing_on_them_are_no_ground_for_a_profile(folder: Path, make_pdf: object) -> None:
    blank = make_pdf("blank.pdf", ["", ""])  # type: ignore[operator]
    with pytest.raises(InputError, match="pages-from"):
        measure([str(blank)], RunConfig(model=str(folder)))
