"""Sources of data are checked before anything is measured."""

from pathlib import Path

import pytest

from traindyno.app.source_checks import SCHEMES, check_source
from traindyno.core.errors import UsageError
from traindyno.worker.data.sources import SOURCES


def test_every_source_that_can_be_opened_is_known() -> None:
    assert set(SCHEMES) == set(SOURCES)


@pytest.mark.parametrize(
    "source", ["folder:{}", "memory:folder:{}", "shards:{}/no-such-*.tar", "prepared:{}", "digits:"]
)
def test_what_is_there_passes(tmp_path: Path, source: str) -> None:
    check_source(source.format(tmp_path), "--data", is_there=True)


@pytest.mark.parametrize(
    ("source", "hint"),
    [
        ("prepard:/q", "did you mean prepared:/q?"),
        ("memory:foldr:/q", "did you mean memory:folder:/q?"),
        ("/data/train", "did you mean folder:/data/train?"),
        ("memory", "did you mean memory:?"),
        ("s3://bucket", "sources are named folder:"),
        ("folder:", "write folder:PATH"),
        ("digit:", "did you mean digits:?"),
        ("digits:/data", "write digits: alone"),
        ("memory:synthetic:", "sources are named folder:"),
    ],
)
def test_a_mistake_is_answered_with_what_there_is(source: str, hint: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_source(source, "--also", is_there=False)
    assert hint in (caught.value.hint or "")
    assert "--also" in caught.value.message


def test_a_path_that_is_not_there_is_refused_only_where_it_matters(tmp_path: Path) -> None:
    missing = f"memory:cifar10:{tmp_path}/no"
    check_source(missing, "--data", is_there=False)
    with pytest.raises(UsageError, match="there is no"):
        check_source(missing, "--data", is_there=True)
