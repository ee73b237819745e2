"""A long run that was asked to end early keeps its measurement, and is still called interrupted."""

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Measurement, Memory
from traindyno.runner.endings import Ending, classify

MEASURED = Measurement(
    batch_size=4,
    steps=1,
    step_seconds=0.1,
    ci95=(0.1, 0.1),
    steady=True,
    blocks=(),
    memory=Memory(peak_bytes=1),
    start_up_seconds=0.0,
    first_step_seconds=0.1,
    warm_up_seconds=0.0,
    warm_up_steps=0,
)


def test_a_measurement_that_was_cut_short_is_no_whole_one() -> None:
    failure = classify(Ending(status=0, phase="soaking", measurement=MEASURED, ended_early=True))
    assert failure is not None
    assert failure.outcome is Outcome.INTERRUPTED
    assert classify(Ending(status=0, phase="soaking", measurement=MEASURED)) is None


def test_a_run_that_did_not_heed_the_request_was_stopped_like_any_other() -> None:
    ending = Ending(
        status=9, phase="soaking", ended_early=True, killed_for="interrupted", kill_detail="stopped on request"
    )
    failure = classify(ending)
    assert failure is not None
    assert (failure.outcome, failure.message) == (Outcome.INTERRUPTED, "stopped on request")
