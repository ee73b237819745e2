"""Errors tell the way out wherever they are seen."""

import pickle
import traceback

import pytest

from traindyno.core.errors import TraindynoError, UsageError


@pytest.mark.parametrize("kind", [TraindynoError, UsageError])
def test_a_traceback_ends_with_the_hint(kind: type[TraindynoError]) -> None:
    shown = traceback.format_exception(kind("no such model", "did you mean resnet50?"))
    assert "".join(shown).endswith("no such model\nhint: did you mean resnet50?\n")
    assert str(kind("no such model", "did you mean resnet50?")) == "no such model"
    assert traceback.format_exception(kind("no hint"))[-1].endswith("no hint\n")


def test_an_error_from_a_worker_has_its_hint_once() -> None:
    error = pickle.loads(pickle.dumps(TraindynoError("no such model", "did you mean resnet50?")))
    assert (error.message, error.hint) == ("no such model", "did you mean resnet50?")
    assert error.__notes__ == ["hint: did you mean resnet50?"]
