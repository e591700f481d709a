"""Two segments under one softmax are plain attention; the fixation is a mask; the seam leaves no trace."""

import pytest
import torch
import torch.nn.functional as F

from decoding.conftest import make_prompt
from fastocr_cli.decoding.attention import NAME, SlotKeyValues, SlotSeam, seamed
from fastocr_cli.decoding.cache import SlotCache
from fastocr_cli.models.base import VisionModel
from fastocr_cli.pruning.base import Fixation, Gaze, Layout

HEADS, KV_HEADS, WIDTH = 4, 2, 8
SIZES = ((12, 5), (30, 2), (7, 9))  # visual and text tokens of three pages


def filled_cache() -> tuple[SlotCache, list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]]:
    """A cache of one layer, and each page's (keys, values, is_visual) as they went in."""
    cache, pages = SlotCache(1, len(SIZES), torch.device("cpu")), []
    for seed, (num_visual, num_text) in enumerate(SIZES):
        generator = torch.Generator().manual_seed(seed)
        keys, values = torch.randn(2, 1, KV_HEADS, num_visual + num_text, WIDTH, generator=generator)
        is_visual = torch.arange(num_visual + num_text) < num_visual
        with cache.fill(is_visual):
            cache.update(keys, values, 0)
        pages.append((keys, values, is_visual))
    return cache, pages


Pages = list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]


def step(cache: SlotCache, pages: Pages, num_new: int = 1) -> torch.Tensor:
    """New tokens of every row in the cache and in `pages`; their queries (rows, heads, new, width)."""
    keys, values = torch.randn(2, len(pages), KV_HEADS, num_new, WIDTH)
    with cache.step([num_new] * len(pages)):
        cache.update(keys, values, 0)
    cache.keep([num_new] * len(pages))
    for row, (old_keys, old_values, is_visual) in enumerate(pages):
        pages[row] = (
            torch.cat([old_keys, keys[row : row + 1]], 2),
            torch.cat([old_values, values[row : row + 1]], 2),
            torch.cat([is_visual, torch.zeros(num_new, dtype=torch.bool)]),
        )
    return torch.randn(len(pages), HEADS, num_new, WIDTH)


def reference(query: torch.Tensor, page: tuple[torch.Tensor, ...], visible: torch.Tensor) -> torch.Tensor:
    """Masked SDPA over one page; `visible` is bool (length,), and of the new tokens each sees those before it."""
    keys, values, _ = page
    num_new, length = query.shape[2], keys.shape[2]
    causal = torch.ones(num_new, length, dtype=torch.bool).tril(length - num_new)
    return F.scaled_dot_product_attention(query, keys, values, attn_mask=visible & causal, enable_gqa=True)


def assert_all_is_attended(cache: SlotCache, pages: Pages) -> None:
    """After one more step, every row attends to all that its page holds."""
    query = step(cache, pages)
    output, _ = SlotKeyValues(cache, 0).attend_all(query, WIDTH**-0.5, None)
    for row, page in enumerate(pages):
        expected = reference(query[row : row + 1], page, torch.ones(page[0].shape[2], dtype=torch.bool))
        torch.testing.assert_close(output[row : row + 1], expected, atol=1e-6, rtol=1e-5)


def test_attending_to_all_is_plain_attention_with_unequal_rows() -> None:
    cache, pages = filled_cache()
    for num_new in (1, 3, 2):
        query = step(cache, pages, num_new)
        output, on_visual = SlotKeyValues(cache, 0).attend_all(query, WIDTH**-0.5, None)
        for row, page in enumerate(pages):
            expected = reference(query[row : row + 1], page, torch.ones(page[0].shape[2], dtype=torch.bool))
            torch.testing.assert_close(output[row : row + 1], expected, atol=1e-6, rtol=1e-5)
            alone, _ = SlotKeyValues(cache, 0).attend_all(query[row : row + 1], WIDTH**-0.5, row)
            torch.testing.assert_close(alone, expected, atol=1e-6, rtol=1e-5)
            assert on_visual[row, :, SIZES[row][0] :].sum() == 0
            assert on_visual.shape[:2] == (len(pages), HEADS * num_new)


@pytest.mark.parametrize("uneven", [False, True])
def test_attending_to_the_fixation_is_masked_attention(uneven: bool) -> None:
    cache, pages = filled_cache()
    for seed in range(4):
        query = step(cache, pages, 1 + seed % 3)
        torch.manual_seed(seed)
        index = torch.stack([torch.randperm(num_visual)[:4] for num_visual, _ in SIZES])
        bias = torch.zeros(3, 4)
        if uneven:
            bias[1, 2:] = float("-inf")
        fixation = Fixation(index, bias if uneven else None)
        output = SlotKeyValues(cache, 0).attend_fixation(query, WIDTH**-0.5, fixation)
        for row, page in enumerate(pages):
            visible = ~page[2]
            visible[page[2].nonzero()[:, 0][index[row][bias[row] == 0]]] = True
            expected = reference(query[row : row + 1], page, visible)
            torch.testing.assert_close(output[row : row + 1], expected, atol=1e-6, rtol=1e-5)


def test_what_is_not_kept_was_never_there() -> None:
    cache, pages = filled_cache()
    for kept in ([1, 3, 2], [0, 1, 0]):
        wrong = torch.randn(2, len(pages), KV_HEADS, 3, WIDTH)
        with cache.step([3, 3, 3]):
            cache.update(wrong[0], wrong[1], 0)
        cache.keep(kept)
        for row, count in enumerate(kept):
            new = wrong[:, row : row + 1, :, :count]
            keys, values, is_visual = pages[row]
            held = torch.cat([is_visual, torch.zeros(count, dtype=torch.bool)])
            pages[row] = torch.cat([keys, new[0]], 2), torch.cat([values, new[1]], 2), held
    assert_all_is_attended(cache, pages)


def test_padding_of_a_row_looks_at_nothing() -> None:
    cache, pages = filled_cache()
    keys, values = torch.randn(2, len(pages), KV_HEADS, 3, WIDTH)
    query = torch.randn(len(pages), HEADS, 3, WIDTH)
    with cache.step([1, 3, 2]):
        cache.update(keys, values, 0)
    _, on_visual = SlotKeyValues(cache, 0).attend_all(query, WIDTH**-0.5, None)
    mass = on_visual.unflatten(1, (HEADS, 3)).sum((1, 3))
    assert (on_visual.sum((1, 2)) < HEADS).all()  # a mean of its tokens
    assert ((mass > 0) == torch.tensor([[True, False, False], [True, True, True], [True, True, False]])).all()


def test_a_dropped_row_is_taken_by_the_last() -> None:
    cache, pages = filled_cache()
    step(cache, pages)
    cache.drop(0)
    pages = [pages[2], pages[1]]
    assert_all_is_attended(cache, pages)


def test_text_grows_past_its_buffer_and_nothing_is_lost() -> None:
    cache, pages = filled_cache()
    for _ in range(600):
        query = step(cache, pages)
    output, _ = SlotKeyValues(cache, 0).attend_all(query, WIDTH**-0.5, None)
    expected = reference(query[:1], pages[0], torch.ones(pages[0][0].shape[2], dtype=torch.bool))
    torch.testing.assert_close(output[:1], expected, atol=1e-6, rtol=1e-5)


def test_the_seam_is_gone_after_an_error(tiny_pocket: VisionModel) -> None:
    before = tiny_pocket.text_config._attn_implementation
    gaze = Gaze(Layout(4, "tiny", torch.device("cpu")))
    seam = SlotSeam(SlotCache(4, 1, torch.device("cpu")), gaze)
    with pytest.raises(KeyError), seamed(tiny_pocket.text_model, seam):  # noqa: PT012
        assert tiny_pocket.text_config._attn_implementation == NAME
        raise KeyError
    assert tiny_pocket.text_config._attn_implementation == before
    assert not any(hasattr(module, "fastocr_seam") for module in tiny_pocket.text_model.modules())
    make_prompt(tiny_pocket, 4, 0)  # the model is as usable as before


def test_a_seam_within_a_seam(tiny_pocket: VisionModel) -> None:
    decoder = tiny_pocket.text_model
    gaze = Gaze(Layout(4, "tiny", torch.device("cpu")))
    outer, inner = (SlotSeam(SlotCache(4, 1, torch.device("cpu")), gaze) for _ in range(2))

    def seams() -> set[object]:
        return {vars(module)["fastocr_seam"] for module in decoder.modules() if "fastocr_seam" in vars(module)}

    with seamed(decoder, outer):
        with seamed(decoder, inner):
            assert seams() == {inner}
        assert seams() == {outer}
        assert decoder.config._attn_implementation == NAME
    assert seams() == set()
