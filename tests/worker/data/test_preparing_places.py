"""A set is prepared beside its source and never into it, whatever path either of them is named by."""

from pathlib import Path

import pytest

from traindyno.core.errors import UsageError
from traindyno.worker.data.preparing_places import require_apart, same_source


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set without splits, one with, one of shards, and a link to each of the first two."""
    for folder in ("flat/cat", "split/train/cat", "split/test/cat", "shards", "half/train"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "to_flat").symlink_to("flat")
    (tmp_path / "flat" / "away").symlink_to(tmp_path / "shards")
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("folder:flat", "flat"),
        ("folder:flat", "flat/prepared"),
        ("folder:flat/", "flat/cat/prepared"),
        ("folder:to_flat", "flat/prepared"),
        ("folder:flat", "to_flat/prepared"),
        ("folder:flat", "shards/../flat/prepared"),
        ("folder:flat", "flat/away/prepared"),
        ("folder:.", "prepared"),
        ("folder:half", "half/prepared"),
        ("folder:split", "split/train/prepared"),
        ("folder:split", "split/test/cat/prepared"),
        ("folder:split", "split/val"),
        ("shards:shards", "shards/prepared"),
        ("shards:shards/*.tar", "shards/prepared"),
        ("shards:{shards,flat}/*.tar", "flat/prepared"),
        ("shards:sh*/*.tar", "prepared"),
    ],
)
def test_a_target_where_examples_are_looked_for_is_refused(source: str, target: str, tmp_path: Path) -> None:
    for path in (Path(target), tmp_path / target):
        with pytest.raises(UsageError, match="where the examples of") as refused:
            require_apart(source, path)
        assert "name a folder outside of it" in (refused.value.hint or "")


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("folder:flat", "flat-256"),
        ("folder:flat", "flat/../prepared"),
        ("folder:split", "split/prepared"),
        ("shards:shards/{00..09}.tar", "shards/prepared"),
        ("shards:shards/*.tar", "prepared"),
        ("cifar10:flat", "flat/prepared"),
        ("folder:no/such", "prepared"),
    ],
)
def test_a_target_beside_the_source_is_not(source: str, target: str) -> None:
    require_apart(source, Path(target))


def test_a_source_is_the_same_by_any_path_to_it_but_of_one_kind_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("folder:./flat/", f"folder:{tmp_path}/flat", "folder:to_flat", "folder:~/flat"):
        assert same_source(name, "folder:flat")
    assert not same_source("folder:split", "folder:flat")
    assert not same_source("cifar10:flat", "folder:flat")
