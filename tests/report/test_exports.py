import os
from pathlib import Path

import pytest

from report.documents import throughput_document, unanswered_document
from report.find_documents import find_document
from store.without_rights import run_without_rights
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.report.exports import Exporter, form_of, write_whole
from traindyno.report.renderers import RENDERERS, rendered


def test_every_format_is_written_whole(tmp_path: Path) -> None:
    paths = {form: tmp_path / f"out{renderer.endings[0]}" for form, renderer in RENDERERS.items()}
    written = Exporter.prepare(paths).write(find_document())
    assert written == tuple(paths.values())
    assert paths["json"].read_bytes() == rendered(find_document(), "json")
    assert sorted(tmp_path.iterdir()) == sorted(paths.values())


def test_only_find_has_a_settings_file_to_write(tmp_path: Path) -> None:
    with pytest.raises(TraindynoError, match="the answer of throughput is no settings file"):
        Exporter.prepare({"toml": tmp_path / "out.toml"}).write(throughput_document())
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("form", "name", "message"),
    [
        ("json", "missing/a.json", "does not exist"),
        ("json", ".", "is a directory"),
        ("json", "a.html", "ends in .html but would hold json"),
        ("png", "a.svg", "ends in .svg but would hold png"),
        ("png", "a.JPG", "ends in .jpg but would hold png"),
        ("html", "a.txt", "ends in .txt but would hold html"),
        ("markdown", "a.png", "ends in .png but would hold markdown"),
        ("csv", "a.csv.gz", "ends in .gz but would hold csv"),
        ("toml", "a.yaml", "ends in .yaml but would hold toml"),
        ("json", "traindyno.db", "ends in .db but would hold json"),
        ("docx", "a.docx", "no format 'docx'"),
    ],
)
def test_a_bad_target_is_refused_before_the_work_starts(tmp_path: Path, form: str, name: str, message: str) -> None:
    with pytest.raises(UsageError, match=message) as refused:
        Exporter.prepare({form: tmp_path / name})
    assert refused.value.hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("form", "name", "hint"),
    [
        ("png", "a.jpg", "end the name in .png"),
        ("html", "a.json", "use --export-json, or end the name in .html"),
        ("png", "a.svg", "end the name in .png"),
        ("json", "a.txt", "end the name in .json"),
        ("json", "a.toml", "end the name in .json"),
    ],
)
def test_the_hint_names_only_options_that_there_are(tmp_path: Path, form: str, name: str, hint: str) -> None:
    with pytest.raises(UsageError) as refused:
        Exporter.prepare({"json": None, "html": None, "png": None, form: tmp_path / name})
    assert refused.value.hint == hint


@pytest.mark.parametrize("name", ["results.dat", "results", "found.v2", "lr-0.1", "report.final"])
def test_an_ending_that_promises_nothing_is_the_users_own_affair(tmp_path: Path, name: str) -> None:
    written = Exporter.prepare({"json": tmp_path / name}).write(throughput_document())
    assert written == (tmp_path / name,)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_dash_makes_no_file_and_the_standard_output_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as refused:
        Exporter.prepare({"json": "-"})
    assert "/dev/stdout" in str(refused.value.hint)


def test_one_file_for_two_formats_is_refused(tmp_path: Path) -> None:
    (tmp_path / "link.dat").symlink_to("a.dat")
    with pytest.raises(UsageError, match="two formats"):
        Exporter.prepare({"json": tmp_path / "a.dat", "csv": tmp_path / "link.dat"})


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a /proc, in which nobody may write")
def test_a_folder_in_which_nothing_can_be_written_is_refused() -> None:
    with pytest.raises(UsageError, match="nothing can be written"):
        Exporter.prepare({"json": "/proc/a.json"})


PREPARE = """
import sys
from traindyno.core.errors import UsageError
from traindyno.report.exports import Exporter
try:
    Exporter.prepare({"json": sys.argv[1]})
except UsageError as error:
    print(error.message)
"""


def test_a_protected_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.touch(mode=0o400)
    assert run_without_rights("-c", PREPARE, str(path)).stdout == f"{path} is write-protected\n"


def test_a_stream_is_written_to_whatever_its_name(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jpg")
    reader = os.open(tmp_path / "pipe.jpg", os.O_RDONLY | os.O_NONBLOCK)
    Exporter.prepare({"toml": tmp_path / "pipe.jpg", "png": "/dev/null"}).write(find_document())
    assert os.read(reader, 1 << 16) == rendered(find_document(), "toml")
    os.close(reader)


def test_devices_are_written_to_and_not_replaced() -> None:
    Exporter.prepare({"json": "/dev/null"}).write(throughput_document())
    assert Path("/dev/null").is_char_device()


def test_a_link_keeps_pointing_to_the_file_that_was_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target.csv", tmp_path / "link.csv"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_whole(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_failed_write_leaves_the_old_file_and_no_rubbish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    exporter = Exporter.prepare({"json": path, "csv": tmp_path / "a.csv"})

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TraindynoError, match=r"a\.json could not be written: No space left.*a\.csv"):
        exporter.write(throughput_document())
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_drawn_does_not_keep_the_rest_from_being_written(tmp_path: Path) -> None:
    exporter = Exporter.prepare({"png": tmp_path / "a.png", "json": tmp_path / "a.json"})
    with pytest.raises(TraindynoError, match="nothing to draw"):
        exporter.write(unanswered_document())
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_the_ending_tells_the_format() -> None:
    assert [form_of(f"x{ending}") for ending in (".html", ".MD", ".png", ".svg")] == [
        "html",
        "markdown",
        "png",
        "svg",
    ]
    with pytest.raises(UsageError, match="cannot tell"):
        form_of("report")
