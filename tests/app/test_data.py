"""Making, preparing and checking as use cases: what they answer, and what they tell on the way."""

from pathlib import Path

import pytest

from traindyno.app import data
from traindyno.core.errors import TraindynoError, UsageError
from traindyno.worker.data import set_files
from worker.data.tiny_sets import write_folder


class Notebook:
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.notices: list[str] = []
        self.warnings: list[str] = []
        self.counts: list[tuple[int, int]] = []

    def notice(self, text: str) -> None:
        self.notices.append(text)

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def count(self, done: int, total: int) -> None:
        self.counts.append((done, total))


def never() -> bool:
    return False


@pytest.fixture
def source(tmp_path: Path) -> str:
    names = [f"{split}/{name}/{number}.jpg" for split in ("train", "val") for name in "abc" for number in range(4)]
    return f"folder:{write_folder(tmp_path / 'source', names)}"


def prepared(source: str, target: Path, encoding: str = "u8", side: int = 16) -> tuple[data.PrepareAnswer, Notebook]:
    notebook = Notebook()
    quality = 90 if encoding == "jpeg" else None
    request = data.prepare_request(source, encoding, side, quality)  # type: ignore[arg-type]
    return data.prepare(request, target, 1, False, notebook, never), notebook


def test_a_made_set_is_named_as_commands_take_it(tmp_path: Path) -> None:
    notebook = Notebook()
    request = data.make_request("places365", 40, 2, 0.25, 7)
    answer = data.make(tmp_path / "made", request, 1, notebook, never)
    assert answer.data == f"folder:{tmp_path / 'made'}"
    assert (answer.images, answer.train_images, answer.val_images, answer.classes, answer.seed) == (40, 30, 10, 2, 7)
    assert answer.bytes == sum(path.stat().st_size for path in (tmp_path / "made").rglob("*.jpg"))
    assert notebook.counts[-1] == (40, 40)
    assert answer.data in answer.hint


def test_preparing_tells_the_cost_first_and_answers_what_it_took(source: str, tmp_path: Path) -> None:
    answer, notebook = prepared(source, tmp_path / "set")
    assert "24 examples as u8 with a shorter side of 16 px will take about 18.0 KiB of" in notebook.notices[0]
    assert notebook.counts[-1] == (24, 24)
    assert (answer.examples, answer.classes, answer.bytes) == (24, 3, 24 * 16 * 16 * 3)
    assert [(split.name, split.examples) for split in answer.splits] == [("train", 12), ("val", 12)]
    assert answer.hint == f"traindyno loader --data prepared:{tmp_path / 'set'}"


def test_what_it_changes_in_augmentation_is_said(source: str, tmp_path: Path) -> None:
    pixels, _ = prepared(source, tmp_path / "u8")
    jpegs, _ = prepared(source, tmp_path / "jpeg", "jpeg", side=12)
    assert any("scale and proportions of RandomResizedCrop are gone" in change for change in pixels.changes)
    assert any("shorter side is 16 px" in change for change in pixels.changes)
    assert any("smallest crops have fewer pixels" in change for change in jpegs.changes)


def test_to_prepare_again_what_is_prepared_answers_at_once(source: str, tmp_path: Path) -> None:
    first, _ = prepared(source, tmp_path / "set")
    again, notebook = prepared(source, tmp_path / "set")
    assert notebook.notices == [f"{tmp_path / 'set'} is prepared already"]
    assert notebook.counts == []
    assert (again.bytes, again.splits) == (first.bytes, first.splits)


def test_what_was_prepared_is_known_again_by_another_path_to_the_source(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    prepared("folder:source", tmp_path / "set")
    answer, notebook = prepared(source, tmp_path / "set")
    assert notebook.notices == [f"{tmp_path / 'set'} is prepared already"]
    assert answer.examples == 24


def test_a_target_in_the_source_is_refused_and_the_source_can_still_be_read(tmp_path: Path) -> None:
    flat = write_folder(tmp_path / "flat", ["cat/1.jpg", "dog/1.jpg"])
    request = data.prepare_request(f"folder:{flat}", "u8", 16, None)
    with pytest.raises(UsageError, match=r"flat/prepared lies in .*flat, where"):
        data.prepare_cost(request, tmp_path / "flat" / "prepared", 1)
    with pytest.raises(UsageError, match=r"flat/prepared lies in .*flat, where"):
        prepared(f"folder:{flat}", tmp_path / "flat" / "prepared")
    assert prepared(f"folder:{flat}", tmp_path / "beside")[0].examples == 2


def test_images_that_must_be_enlarged_are_warned_of(source: str, tmp_path: Path) -> None:
    _, notebook = prepared(source, tmp_path / "set", side=64)
    (warning,) = notebook.warnings
    assert "100% of the images are smaller than 64 px" in warning


def test_preparing_what_is_pixels_already_is_warned_of(tmp_path: Path) -> None:
    data.make(tmp_path / "cifar", data.make_request("cifar10", 60, None, None, 0), 1, Notebook(), never)
    _, notebook = prepared(f"cifar10:{tmp_path / 'cifar'}", tmp_path / "set", side=32)
    assert any("holds pixels already" in warning for warning in notebook.warnings)


def test_the_cost_alone_writes_nothing(source: str, tmp_path: Path) -> None:
    cost = data.prepare_cost(data.prepare_request(source, "u8", 16, None), tmp_path / "set", 3)
    assert cost.expected_bytes == 24 * 16 * 16 * 3
    assert cost.free_bytes > 0
    assert not (tmp_path / "set").exists()
    assert "with 3 processes" in data.describe_cost(cost)


def test_a_disk_that_is_too_small_is_noticed_before_anything_is_written(
    source: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(set_files, "free_bytes", lambda folder: 1000)
    with pytest.raises(TraindynoError, match=r"18\.0 KiB are needed in .*set, and 1000 B are free"):
        prepared(source, tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_a_check_names_the_damaged_files_and_the_remedy(source: str, tmp_path: Path) -> None:
    prepared(source, tmp_path / "set")
    assert data.check(tmp_path / "set", 1, Notebook(), never).intact
    chunk = tmp_path / "set" / "val" / "00000.u8"
    chunk.write_bytes(bytes(chunk.stat().st_size))
    answer = data.check(tmp_path / "set", 1, Notebook(), never)
    assert (answer.intact, answer.damaged, answer.files) == (False, (str(chunk),), 4)
    assert f"traindyno data prepare {source} {tmp_path / 'set'}" in (answer.hint or "")


def test_as_many_processes_as_asked_for_or_as_there_are_cpus_to_use(monkeypatch: pytest.MonkeyPatch) -> None:
    from traindyno.core.machine import UsableCpus

    monkeypatch.setattr(data, "usable_cpus", lambda: UsableCpus(value=3.5, binding="the test"))
    assert data.usable_processes(None) == 3
    assert data.usable_processes(7) == 7
    monkeypatch.setattr(data, "usable_cpus", lambda: UsableCpus(value=0.5, binding="the test"))
    assert data.usable_processes(None) == 1
