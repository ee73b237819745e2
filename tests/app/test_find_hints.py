"""What a search proposes to type next."""

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from report.find_documents import find_answer, find_document, free_batch, nothing_gained
from traindyno.app.context import Context
from traindyno.app.find_hints import find_hint
from traindyno.core.answers import Finalist, FindAnswer
from traindyno.core.requests import FindRequest


def hint_of(answer: FindAnswer) -> str | None:
    request = msgspec.convert(find_document().request, FindRequest)
    study: Any = SimpleNamespace(cut=None, workshop=SimpleNamespace(asked=request.bench), store_option="")
    return find_hint(study, request, answer, Context(store="sqlite://", name=None), None)


def ended_with(*finalists: Finalist, free: Finalist | None = None) -> FindAnswer:
    """A search that found nothing faster, after rounds with these."""
    answer: FindAnswer = nothing_gained().answer
    everyone = (answer.baseline, *finalists)
    return msgspec.structs.replace(answer, finalists=everyone, with_free_batch=free, attempts=())


def with_gain(found: Finalist, low: float) -> Finalist:
    return msgspec.structs.replace(found, speedup=1.3, speedup_ci95=(low, 2.0))


def test_what_looks_faster_and_was_not_shown_asks_for_more_rounds_and_time() -> None:
    hint = hint_of(ended_with(with_gain(find_answer().recommended, 0.9)))
    assert hint is not None
    words = shlex.split(hint)
    request = msgspec.convert(find_document().request, FindRequest)
    assert words[words.index("--repeats") + 1] == str(2 * request.repeats)


def test_a_batch_that_was_shown_to_be_faster_asks_to_be_allowed() -> None:
    free = with_gain(free_batch(), 1.1)
    hint = hint_of(ended_with(free, free=free))
    assert hint is not None
    assert "--batch-range" in hint


def test_a_batch_that_was_not_shown_to_be_faster_is_not_proposed() -> None:
    free = with_gain(free_batch(), 0.9)
    hint = hint_of(ended_with(free, free=free))
    assert hint is not None
    assert "--batch-range" not in hint


def test_where_nothing_looks_faster_nothing_is_proposed() -> None:
    assert hint_of(ended_with()) is None


@pytest.mark.parametrize(
    ("path", "more"), [(None, ""), (Path("my settings.toml"), " --export-toml 'my settings.toml'")]
)
@pytest.mark.parametrize("cut", ["budget", "interrupted"])
def test_a_search_that_was_cut_goes_on_with_the_file_that_was_asked_for(cut: str, path: Path | None, more: str) -> None:
    commands = {"longer_command": "longer", "resume_command": "resume"}
    study: Any = SimpleNamespace(cut=cut, **commands)
    request = msgspec.convert(find_document().request, FindRequest)
    hint = find_hint(study, request, find_answer(), Context(store="sqlite://", name=None), path)
    assert hint == ("longer" if cut == "budget" else "resume") + more
