"""How long a trial takes that a loader feeds."""

import pytest

from traindyno.analysis.flow_pace import block_steps, flow_seconds, pace_of
from traindyno.core.records import Settings


@pytest.mark.parametrize(
    ("workers", "step_seconds", "expected"),
    [
        (0, 0.01, 2 * 0.01 + 3.0),  # blocks of a quarter of a second fit into the time
        (4, 0.237, (3 + 16) * 0.237 + 8 * 4 * 0.237),  # eight blocks of a whole turn do not
        (16, 0.118, (3 + 64) * 0.118 + 9.0),  # and no more than two times the time is given on top
    ],
)
def test_many_workers_and_slow_steps_take_longer_than_was_asked_for(
    workers: int, step_seconds: float, expected: float
) -> None:
    settings = Settings(batch_size=256, num_workers=workers)
    assert flow_seconds(settings, step_seconds, 3.0) == pytest.approx(expected)


@pytest.mark.parametrize("workers", [0, 1, 3, 16])
@pytest.mark.parametrize("step_seconds", [1e-5, 0.01, 0.3, 5.0])
def test_a_block_is_of_whole_turns(workers: int, step_seconds: float) -> None:
    pace = pace_of(Settings(batch_size=8, num_workers=workers))
    assert block_steps(pace, step_seconds) % pace.turn == 0
    assert block_steps(pace, step_seconds) >= pace.turn
