"""What the options of the bench mean for a trial's deadlines."""

from traindyno.app.workshop import deadlines
from traindyno.core.requests import Bench
from traindyno.runner.protocol import Deadlines


def test_a_short_limit_on_steps_leaves_starting_its_time() -> None:
    given = deadlines(Bench(step_timeout_seconds=1.0))
    assert (given.step, given.first_step) == (1.0, 1.0)
    assert given.start_up == Deadlines().start_up


def test_a_long_limit_on_steps_lengthens_starting_too() -> None:
    assert deadlines(Bench(step_timeout_seconds=5000.0)).start_up == 5000.0
