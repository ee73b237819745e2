"""Rounds' files are read as a whole and never written over in silence."""

from pathlib import Path

import pytest

from core.round_examples import DEPTH
from traindyno.app.rounds.files import read_round, write_round
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.core.round_file import parse_round


def test_a_file_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    round_ = parse_round(DEPTH, "depth.toml")
    text = write_round(tmp_path / "it.toml", round_)
    assert (tmp_path / "it.toml").read_text() == text
    assert read_round(tmp_path / "it.toml") == round_


def test_a_mark_of_a_windows_editor_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "it.toml").write_bytes(b"\xef\xbb\xbf" + DEPTH.encode())
    assert read_round(tmp_path / "it.toml").name == "depth"


def test_a_file_that_is_there_is_kept_unless_told_otherwise(tmp_path: Path) -> None:
    place, round_ = tmp_path / "it.toml", parse_round(DEPTH, "depth.toml")
    place.write_text("mine")
    with pytest.raises(UsageError, match="is there already") as caught:
        write_round(place, round_)
    assert "--force" in (caught.value.hint or "")
    assert place.read_text() == "mine"
    write_round(place, round_, force=True)
    assert read_round(place) == round_


def test_a_link_to_nowhere_is_kept_too(tmp_path: Path) -> None:
    (tmp_path / "it.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(UsageError, match="is there already"):
        write_round(tmp_path / "it.toml", parse_round(DEPTH, "depth.toml"))
    assert not (tmp_path / "elsewhere.toml").exists()


def test_a_missing_file_is_answered_with_the_command_that_writes_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        read_round(tmp_path / "it.toml")
    assert "traindyno round new" in (caught.value.hint or "")


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", None])
def test_what_is_no_text_is_refused(tmp_path: Path, content: bytes | None) -> None:
    place = tmp_path / "it.toml"
    place.mkdir() if content is None else place.write_bytes(content)
    with pytest.raises(UsageError, match="cannot be read"):
        read_round(place)


def test_a_folder_is_no_place_for_a_file(tmp_path: Path) -> None:
    round_ = parse_round(DEPTH, "depth.toml")
    for place in (tmp_path, tmp_path / "nowhere" / "it.toml"):
        with pytest.raises(TraindynoError):
            write_round(place, round_)
