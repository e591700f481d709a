"""Along its own text a method agrees with itself, however many tokens a step reads; along another it does not."""

import pytest

from decoding.conftest import Oracle, write
from fastocr_cli.decoding.follow import follow
from fastocr_cli.models.base import Prompt, VisionModel
from fastocr_cli.pruning import make_method

LENGTHS = [40, 30, 50, 20]


@pytest.fixture
def oracle(tiny_pocket: VisionModel, monkeypatch: pytest.MonkeyPatch) -> Oracle:
    oracle = Oracle()
    monkeypatch.setattr(tiny_pocket, "draft", oracle.note)
    return oracle


@pytest.fixture
def texts(tiny_pocket: VisionModel, prompts: list[Prompt], oracle: Oracle) -> list[list[int]]:
    del prompts[3]  # as large as the first: the oracle would not know one from the other
    return [page.ids for page in write(tiny_pocket, prompts, "dense", num_rows=4, num_new=LENGTHS)]


@pytest.mark.parametrize("spoils", ["", "tokens", "places"])
def test_the_dense_text_is_followed_to_its_end(
    tiny_pocket: VisionModel,
    prompts: list[Prompt],
    texts: list[list[int]],
    oracle: Oracle,
    monkeypatch: pytest.MonkeyPatch,
    spoils: str,
) -> None:
    oracle.spoils = spoils
    monkeypatch.setattr(tiny_pocket, "draft", oracle.draft)
    followed = follow(tiny_pocket, make_method("dense", {}), prompts, texts)
    assert followed.num_tokens == sum(LENGTHS) - len(LENGTHS)
    assert followed.agreement == 1
    assert followed.visual_kv_read == 1
    assert oracle.num_asked < (0.9 if spoils else 0.6) * followed.num_tokens


def test_tokens_that_would_not_be_written_are_counted(
    tiny_pocket: VisionModel, prompts: list[Prompt], texts: list[list[int]]
) -> None:
    ends = [[*text[:-1], text[-1] + 1] for text in texts]
    followed = follow(tiny_pocket, make_method("dense", {}), prompts, ends)
    assert followed.num_tokens - followed.num_agreed == len(texts)
