"""A loader of the user's own that trains otherwise than the baseline is told as soon as a trial knows it."""

import msgspec

from traindyno.app.own_loader import telling_own_loader
from traindyno.core.events import Event, Notice, StudyStarted, TrialFinished
from traindyno.core.loading import Loading
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner

BASELINE = Settings(batch_size=64, num_workers=0)


def ended(size: int | None, workers: int | None) -> TrialFinished:
    spec = TrialSpec(kind="speed", workload=WorkloadSpec(model="job.py:workload"), settings=BASELINE)
    record = SimulatedRunner(Profile()).run(spec, Watcher(), None)
    assert record.measurement is not None
    loading = Loading(own_batch_size=size, own_workers=workers)
    measured = msgspec.structs.replace(record.measurement, loading=loading)
    record = msgspec.structs.replace(record, measurement=measured)
    return TrialFinished(ordinal=1, expected_trials=9, record=record, remaining_seconds=None)


def notices(*events: Event) -> list[str]:
    """What is said beside the events themselves, which are all passed on."""
    heard: list[Event] = []
    tell = telling_own_loader(heard.append, BASELINE)
    for event in events:
        tell(event)
    assert [event for event in heard if not isinstance(event, Notice)] == list(events)
    return [event.text for event in heard if isinstance(event, Notice)]


def test_it_is_told_once_with_what_to_add() -> None:
    (text,) = notices(StudyStarted(study="a", command="find", title="it"), ended(16, 1), ended(16, 1))
    assert "batch_size=16 and num_workers=1" in text
    assert text.endswith("add --batch-size 16 --workers 1.")


def test_a_loader_like_the_baseline_and_no_loader_say_nothing() -> None:
    assert notices(ended(64, 0), ended(None, None)) == []


def test_a_trial_that_failed_says_nothing() -> None:
    failed = TrialRecord(spec=ended(16, 1).record.spec, outcome=Outcome.CRASH, seconds=1.0)
    assert notices(TrialFinished(ordinal=1, expected_trials=9, record=failed, remaining_seconds=None)) == []
