"""A tiny random pocket, prompts of unequal sizes, and drafts that are right or wrong at will."""

from collections.abc import Sequence

import pytest
import torch

from fastocr_cli.decoding.loop import Decoder
from fastocr_cli.decoding.rows import Job, Written
from fastocr_cli.models.base import Draft, Place, Prompt, VisionModel
from fastocr_cli.models.pocket.cells import NUM_CLASSES
from fastocr_cli.models.pocket.letters import Letters
from fastocr_cli.models.pocket.places import place_at
from fastocr_cli.models.pocket.pointer import Pointer
from fastocr_cli.models.weights import load_model
from fastocr_cli.pruning import make_method
from tiny import TINY


@pytest.fixture(autouse=True)
def one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny_pocket(tmp_path_factory: pytest.TempPathFactory) -> VisionModel:
    folder = tmp_path_factory.mktemp("pocket") / "checkpoint"
    TINY["pocket"].build(folder)
    model = load_model(str(folder), device="cpu", dtype="float32")
    model.stop_token_ids = frozenset()  # random weights stop anywhere
    return model


def make_prompt(model: VisionModel, num_visual: int, seed: int, *, context_limit: int | None = None) -> Prompt:
    """Random visual tokens between two text tokens, on a line of places, and random letters."""
    length = num_visual + 2
    embeds = torch.randn(length, model.text_config.hidden_size, generator=torch.Generator().manual_seed(seed))
    is_visual = torch.ones(length, dtype=torch.bool)
    is_visual[[0, -1]] = False
    some = torch.arange(num_visual)[None]
    scores = torch.randn(1, num_visual, NUM_CLASSES, generator=torch.Generator().manual_seed(seed)).log_softmax(-1)
    row, half = some // 20, some % 20
    drawn = torch.zeros(1, 2, 2 * num_visual, 40, dtype=torch.bool)
    memory = Letters(row, 2 * row, 2 * row, half, scores), torch.zeros(1, num_visual), drawn
    return Prompt(embeds, torch.arange(length).expand(3, -1), is_visual, length, context_limit, memory=memory)


@pytest.fixture
def prompts(tiny_pocket: VisionModel) -> list[Prompt]:
    return [make_prompt(tiny_pocket, size, seed) for seed, size in enumerate((40, 7, 93, 40, 61))]


def write(
    model: VisionModel,
    prompts: Sequence[Prompt],
    method: str,
    *,
    num_rows: int = 1,
    num_new: int | Sequence[int] = 20,
    **options: str,
) -> list[Written[int]]:
    """All pages through one decoder; results in the order of the prompts."""
    lengths = [num_new] * len(prompts) if isinstance(num_new, int) else list(num_new)
    decoder: Decoder[int] = Decoder(model, make_method(method, options), num_rows)
    jobs = iter([Job(index, prompt, lengths[index]) for index, prompt in enumerate(prompts)])
    written = {done.job.key: done for done in decoder.write(jobs)}
    assert decoder.cache.num_rows == len(decoder.gaze.rows) == 0
    return [written[index] for index in range(len(prompts))]


class Oracle:
    """Drafts what was written when it was asked first; a third of it made wrong on request."""

    def __init__(self) -> None:
        self.written: dict[int, list[tuple[int, Place]]] = {}  # of the page with so many letters
        self.first: dict[int, int] = {}
        self.spoils = ""
        self.num_asked = 0

    def note(self, reading: Pointer, token: int, count: int) -> Draft:
        self.first.setdefault(len(reading.read), count)
        self.written.setdefault(len(reading.read), []).append((token, place_at(count - 1, *reading.place)))
        return Draft([], [])

    def draft(self, reading: Pointer, token: int, count: int) -> Draft:
        self.num_asked += 1
        written, number = self.written[len(reading.read)], count - self.first[len(reading.read)]
        assert written[number] == (token, place_at(count - 1, *reading.place))
        tokens, places = [], []
        for i, (later, (when, row, cell)) in enumerate(written[number + 1 : number + 2 + number % 5], start=number):
            spoilt = i % 3 == 0
            tokens.append(int(not later) if spoilt and self.spoils == "tokens" else later)
            places.append((when, row + 10 * (spoilt and self.spoils == "places"), cell))
        return Draft(tokens, places)
