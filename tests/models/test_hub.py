"""Where weights lie, what a name means, and what a user is told when they are not there. No network."""

import json
import re
from pathlib import Path

import pytest

from fastocr_cli.errors import ExitCode, ModelError
from fastocr_cli.models import CHECKPOINTS, hub
from fastocr_cli.models.weights import load_model

REVISION = "0123456789abcdef0123456789abcdef01234567"
FILES = {"config.json": '{"model_type": "qwen2_5_vl"}', "tokenizer.json": "{}", "model.safetensors": ""}


@pytest.fixture(autouse=True)
def own_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a hub that must not be asked."""
    folder = tmp_path / "hub"
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(folder))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    return folder


def put(own_hub: Path, repo: str, files: dict[str, str], revision: str = REVISION) -> Path:
    """A snapshot as the hub's library lays it down."""
    folder = own_hub / f"models--{repo.replace('/', '--')}"
    (folder / "refs").mkdir(parents=True, exist_ok=True)
    (folder / "refs" / "main").write_text(revision)
    snapshot = folder / "snapshots" / revision
    snapshot.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (snapshot / name).write_text(text)
    return snapshot


def folder_with(path: Path, files: dict[str, str]) -> Path:
    path.mkdir(parents=True)
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def test_every_row_is_well_formed() -> None:
    for name, row in CHECKPOINTS.items():
        assert row.name == name
        assert row.licence
        assert row.summary
        assert 0 < row.size_gb < 200
        assert row.repo == "" or row.repo.count("/") == 1
        if row.repo:  # shipped weights count their training steps (test_pocket)
            assert row.revision == "main" or len(row.revision) == 40
        if name != "pocket":
            assert row.instruction


def test_the_document_lists_every_row() -> None:
    text = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
    rows = re.findall(r"^\| `(.*?)` \| (.*?) \| (.*?) \| (.*?) \|$", text.partition("## How each")[0], re.MULTILINE)
    assert rows == [
        (row.name, row.repo or "ships with the package", f"{row.size_gb:.3g}", row.licence)
        for row in CHECKPOINTS.values()
    ]


def test_a_short_name_is_a_row() -> None:
    assert hub.find_checkpoint("olmocr") is CHECKPOINTS["olmocr"]
    assert hub.find_checkpoint("pocket") is CHECKPOINTS["pocket"]


@pytest.mark.parametrize("name", ["nix", "../nix", "a/b/c", "~/nix", "/nix", ""])
def test_what_is_no_model(name: str) -> None:
    with pytest.raises(ModelError, match="There is no model") as caught:
        hub.find_checkpoint(name)
    assert "olmocr" in str(caught.value)


def test_a_hub_id_of_a_row_takes_its_facts() -> None:
    found = hub.find_checkpoint("allenai/olmOCR-2-7B-1025")
    assert (found.reply, found.longest_side, found.key) == ("olmocr", 1288, CHECKPOINTS["olmocr"].key)
    tuned = hub.find_checkpoint("someone/Qwen2.5-VL-7B-Instruct-tables")
    assert (tuned.reply, tuned.repo, tuned.revision) == ("plain", "someone/Qwen2.5-VL-7B-Instruct-tables", "main")
    assert hub.find_checkpoint("someone/dots.mocr.4bit").instruction == CHECKPOINTS["dots.mocr"].instruction
    copy = hub.find_checkpoint("someone/olmOCR-2-7B-1025@v2")
    assert (copy.reply, copy.repo, copy.revision) == ("olmocr", "someone/olmOCR-2-7B-1025", "v2")


def test_an_unknown_hub_id_learns_its_family_from_its_config(own_hub: Path) -> None:
    found = hub.find_checkpoint("someone/reader")
    assert (found.family, found.repo, found.revision) == ("", "someone/reader", "main")
    folder = put(own_hub, "someone/reader", FILES)
    completed = hub.completed(found, folder)
    assert hub.find_folder(found) == folder
    assert (completed.reply, completed.image_first) == ("plain", True)  # as the base model, not as its first child
    assert (completed.family, completed.repo, completed.key) == ("qwen2_5_vl", "someone/reader", "someone/reader@main")


def test_a_folder_tells_its_family(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "mine", FILES)
    found = hub.find_checkpoint(str(folder))
    assert (found.family, found.folder, found.repo) == ("qwen2_5_vl", folder, "")
    assert found.key == f"{folder}@local"
    assert hub.require_folder(found) == folder


def test_a_folder_named_as_a_rows_repo_takes_its_facts(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "olmOCR-2-7B-1025", FILES)
    assert hub.find_checkpoint(str(folder)).reply == "olmocr"


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({}, "config.json cannot be read"),
        ({"config.json": "{"}, "config.json cannot be read"),
        ({"config.json": "[]"}, "no object"),
        ({"config.json": '{"model_type": "bert"}'}, "'bert'"),
    ],
)
def test_a_folder_that_holds_no_model(tmp_path: Path, files: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        hub.find_checkpoint(str(folder_with(tmp_path / "mine", files)))


def test_weights_that_are_not_here(own_hub: Path) -> None:
    with pytest.raises(ModelError, match="not on this machine") as caught:
        load_model("olmocr")
    assert caught.value.hint == "Run: fastocr models download olmocr (16.6 GB)"
    assert caught.value.exit_code == ExitCode.MODEL_MISSING
    assert hub.state(CHECKPOINTS["olmocr"]) == "no"


def test_half_a_download_says_what_is_missing(own_hub: Path) -> None:
    row = CHECKPOINTS["olmocr"]
    index = json.dumps(
        {"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}
    )
    files = {**FILES, hub.INDEX: index, "model-00001-of-00002.safetensors": ""}
    del files["model.safetensors"]
    folder = put(own_hub, row.repo, files)
    assert hub.find_folder(row) is None
    assert hub.state(row) == "part"
    with pytest.raises(ModelError, match=r"lacks model-00002-of-00002\.safetensors\.") as caught:
        hub.require_folder(row)
    assert "fastocr models download olmocr" in caught.value.hint
    (folder / "model-00002-of-00002.safetensors").touch()
    assert hub.require_folder(row) == folder
    assert hub.state(row) == "yes"


def test_a_folder_without_weights(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "mine", {"config.json": FILES["config.json"]})
    with pytest.raises(ModelError, match=r"lacks tokenizer\.json, model\.safetensors\.") as caught:
        hub.require_folder(hub.find_checkpoint(str(folder)))
    assert caught.value.hint == ""  # it is the user's folder: there is nothing to download


def test_a_download_offline_is_refused_at_once(monkeypatch: pytest.MonkeyPatch, own_hub: Path) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="HF_HUB_OFFLINE is set"):
        hub.download(CHECKPOINTS["olmocr"])
    folder = put(own_hub, CHECKPOINTS["olmocr"].repo, FILES)
    assert hub.download(CHECKPOINTS["olmocr"]) == folder


def test_a_download_takes_no_code(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: dict[str, object] = {}

    def fetch(repo: str, **kwargs: object) -> str:
        asked.update(kwargs, repo=repo)
        return str(tmp_path)

    monkeypatch.setattr("huggingface_hub.model_info", fetch)
    monkeypatch.setattr("huggingface_hub.snapshot_download", fetch)
    row = CHECKPOINTS["qwen2.5-vl"]
    assert hub.download(row) == tmp_path
    assert (asked["repo"], asked["revision"]) == (row.repo, row.revision)
    assert not any(pattern.endswith((".py", ".bin", ".pt", "*")) for pattern in asked["allow_patterns"])  # type: ignore[attr-defined]


def test_a_download_that_fails_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> str:
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr("huggingface_hub.model_info", fail)  # without a network the download is not even tried
    with pytest.raises(ModelError, match=r"cannot be fetched: no route\. Check") as caught:
        hub.download(CHECKPOINTS["olmocr"])
    assert "what was fetched is kept" in caught.value.hint


def test_profiles_of_models_that_others_loaded(tmp_path: Path) -> None:
    row = CHECKPOINTS["qwen2.5-vl"]
    assert hub.profile_key(row.repo) == row.key
    assert hub.profile_key("someone/reader") == "someone/reader@main"
    assert hub.profile_key("") == "@main"


def test_pocket_is_here() -> None:
    assert hub.state(CHECKPOINTS["pocket"]) == "yes"
    assert hub.download(CHECKPOINTS["pocket"]) == hub.find_folder(CHECKPOINTS["pocket"])


def test_the_config_wins_over_the_name(own_hub: Path, tmp_path: Path) -> None:
    found = hub.find_checkpoint("someone/dots.ocr-on-qwen")
    assert found.family == "dots_ocr"
    completed = hub.completed(found, put(own_hub, found.repo, FILES))
    assert (completed.family, completed.reply, completed.name) == ("qwen2_5_vl", "plain", found.name)
    folder = folder_with(tmp_path / "dots.ocr-on-qwen", FILES)
    assert hub.find_checkpoint(str(folder)).family == "qwen2_5_vl"
