"""Profiles on disk."""

import json
from pathlib import Path

import pytest

from fastocr_cli.errors import FastOCRError, ModelError, OutputError
from fastocr_cli.models import CHECKPOINTS
from fastocr_cli.pruning import focal
from fastocr_cli.pruning.focal import FocalProfile


def test_a_profile_comes_back_as_it_was_saved(own_cache: Path) -> None:
    profile = FocalProfile("allenai/olmOCR@abc", (3, 9), (0.25, 0.5), {"keep": 0.05})
    path = profile.save()
    assert path.parent.parent == own_cache
    assert focal.load("allenai/olmOCR@abc") == profile
    assert focal.load("allenai/olmOCR@other") is None
    assert not list(own_cache.rglob("*.tmp"))


def test_the_users_own_profile_goes_before_the_shipped_one() -> None:
    key = CHECKPOINTS["pocket"].key
    shipped = focal.load(key)
    assert shipped is not None
    assert shipped.checkpoint == key
    FocalProfile(key, (1,), (0.5,)).save()
    assert focal.load(key).focal == (1,)  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"checkpoint": "a@b", "focal": [], "image_share": []}'])
def test_a_broken_profile_says_what_to_do(text: str) -> None:
    path = FocalProfile("a@b", (1,), (0.5,)).save()
    path.write_text(text)
    focal.load.cache_clear()
    with pytest.raises(ModelError, match="fastocr profile"):
        focal.load("a@b")


def test_a_profile_of_another_version_is_not_believed() -> None:
    path = FocalProfile("a@b", (1,), (0.5,)).save()
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 0}))
    focal.load.cache_clear()
    with pytest.raises(ModelError, match="version"):
        focal.load("a@b")


def test_an_unwritable_cache_is_a_clear_error(own_cache: Path) -> None:
    (own_cache / "profiles").write_text("a file where a folder should be")
    with pytest.raises(OutputError, match="FASTOCR_CACHE") as error:
        FocalProfile("a@b", (1,), (0.5,)).save()
    assert isinstance(error.value, FastOCRError)
