"""settings: which of flag, environment, file and default wins, and what a mistake says."""

from pathlib import Path

import pytest

from fastocr_cli import settings
from fastocr_cli.errors import ConfigError

VALID: dict[str, settings.Kind] = {
    "model": "value",
    "keep": "value",
    "batch_size": "value",
    "page_marks": "switch",
    "option": "list",
}


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project folder to stand in and a user's configuration folder, both empty."""
    project, user = tmp_path / "project", tmp_path / "user"
    project.mkdir()
    user.mkdir()
    monkeypatch.chdir(project)
    monkeypatch.setattr(settings, "user_config_path", lambda name: user)
    return tmp_path


def write(folder: Path, text: str) -> None:
    (folder / "fastocr.toml").write_text(text, encoding="utf-8")


def test_no_files_no_settings() -> None:
    assert settings.read_files(VALID) == {}


def test_the_project_wins_over_the_user_key_by_key(folders: Path) -> None:
    write(folders / "user", 'model = "olmocr"\nkeep = 0.1\n')
    write(folders / "project", "keep = 0.2\n")
    assert settings.read_files(VALID) == {"model": "olmocr", "keep": "0.2"}


def test_dashes_booleans_and_method_options(folders: Path) -> None:
    write(folders / "project", "batch-size = 4\npage-marks = false\n[option]\nwarmup = 8\nreuse = false\n")
    assert settings.read_files(VALID) == {
        "batch_size": "4",
        "page_marks": False,
        "option": ["warmup=8", "reuse=False"],
    }


def test_an_unknown_key_names_the_file_and_the_valid_ones(folders: Path) -> None:
    write(folders / "project", "kep = 0.2\n")
    with pytest.raises(ConfigError, match=r"fastocr.toml has an unknown key 'kep'.*batch-size, keep, model"):
        settings.read_files(VALID)


@pytest.mark.parametrize("text", ["keep = ", "keep: 0.2", "[option"])
def test_no_toml_names_the_file(folders: Path, text: str) -> None:
    write(folders / "project", text)
    with pytest.raises(ConfigError, match=r"fastocr\.toml is not valid TOML"):
        settings.read_files(VALID)


def test_bytes_that_are_no_text(folders: Path) -> None:
    (folders / "project" / "fastocr.toml").write_bytes(b"model = '\xff\xfe'")
    with pytest.raises(ConfigError, match="cannot be read"):
        settings.read_files(VALID)


def test_a_file_that_cannot_be_seen_is_none(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    unreachable = folders / ("x" * 300)  # as a home that may not be entered: asking is an error
    monkeypatch.setattr(settings, "user_config_path", lambda name: unreachable)
    write(folders / "project", "keep = 0.2\n")
    assert settings.read_files(VALID) == {"keep": "0.2"}


def test_a_folder_in_place_of_the_file(folders: Path) -> None:
    (folders / "project" / "fastocr.toml").mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        settings.read_files(VALID)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('model = ["a"]', "one number or one word"),
        ("keep = true", "one number or one word"),
        ("[keep]\na = 1", "one number or one word"),
        ('page-marks = "no"', "true or false"),
        ("[option]\nkeep = [1, 2]", "key = value"),
    ],
)
def test_a_value_of_the_wrong_kind_names_the_file(folders: Path, text: str, expected: str) -> None:
    write(folders / "project", text)
    with pytest.raises(ConfigError, match=rf"fastocr\.toml gives .*{expected}"):
        settings.read_files(VALID)


@pytest.mark.parametrize("text", ['option = "warmup=8"', 'option = ["warmup=8"]', "[option]\nwarmup = 8"])
def test_method_options_in_three_ways(folders: Path, text: str) -> None:
    write(folders / "project", text)
    assert settings.read_files(VALID) == {"option": ["warmup=8"]}


def test_numbers_or_auto() -> None:
    assert settings.parse_number_or_auto("dpi", "auto") is None
    assert settings.parse_number_or_auto("dpi", "150.5") == 150.5
    assert settings.parse_count_or_auto("batch-size", "auto") is None
    assert settings.parse_count_or_auto("batch-size", "4") == 4


@pytest.mark.parametrize("text", ["much", "", "1.5", "nan", "inf"])
def test_no_count(text: str) -> None:
    with pytest.raises(ConfigError, match="--batch-size is"):
        settings.parse_count_or_auto("batch-size", text)


def test_shards() -> None:
    assert settings.parse_shard(None) is None
    assert settings.parse_shard("2/8") == (2, 8)


@pytest.mark.parametrize("text", ["2", "a/b", "1/2/3", "", "/"])
def test_no_shard(text: str) -> None:
    with pytest.raises(ConfigError, match="I/N"):
        settings.parse_shard(text)


def test_options_keep_what_follows_the_first_equals_sign() -> None:
    assert settings.parse_options(["focal=2,4", "num-focal=3", "note=a=b", "focal=1"]) == {
        "focal": "1",
        "num_focal": "3",
        "note": "a=b",
    }


@pytest.mark.parametrize("item", ["focal", "=3", ""])
def test_no_option(item: str) -> None:
    with pytest.raises(ConfigError, match="key=value"):
        settings.parse_options([item])


def test_prompts(tmp_path: Path) -> None:
    (tmp_path / "prompt.txt").write_text("Read it. ✓", encoding="utf-8")
    assert settings.read_prompt(None) is None
    assert settings.read_prompt("Read it.") == "Read it."
    assert settings.read_prompt(f"@{tmp_path / 'prompt.txt'}") == "Read it. ✓"
    with pytest.raises(ConfigError, match="cannot be read"):
        settings.read_prompt("@nowhere.txt")
