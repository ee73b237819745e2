import json

import pytest

from traindyno.core.events import TrialProgress
from traindyno.core.rounds import UNTOLD
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.runner.watch import Watch

DEADLINES = Deadlines(start_up=30, first_step=60, step=10, trial=500, patience=10)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


class Listener(Watcher):
    def __init__(self) -> None:
        self.heard: list[TrialProgress] = []

    def progress(self, progress: TrialProgress) -> None:
        self.heard.append(progress)


def line(kind: str, **fields: object) -> bytes:
    return (json.dumps({"type": kind, **fields}) + "\n").encode()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watch(clock: Clock) -> Watch:
    return Watch(DEADLINES, Watcher(), clock)


@pytest.mark.parametrize(
    ("phase", "allowed"),
    [
        ("model", 30),
        ("first step", 60),
        ("warm-up", 10),
        ("candidate: model", 30),
        ("baseline: first step", 60),
        ("baseline: warm-up", 10),
    ],
)
def test_each_phase_has_its_own_patience(watch: Watch, clock: Clock, phase: str, allowed: float) -> None:
    watch.feed(line("phase", name=phase))
    clock.now = allowed - 1
    assert watch.overdue() is None
    clock.now = allowed + 1
    overdue = watch.overdue()
    assert overdue is not None
    assert overdue[0] == "hang"
    assert phase in overdue[1]


def test_slow_steps_earn_more_patience(watch: Watch, clock: Clock) -> None:
    watch.feed(line("phase", name="warm-up"))
    clock.now = 8
    watch.feed(line("step", steps=1, step_seconds=8.0))
    clock.now = 8 + 79
    assert watch.overdue() is None
    clock.now = 8 + 81
    assert watch.overdue() is not None


def test_a_job_that_never_promised_to_report_may_be_silent_until_the_trial_is_over(watch: Watch, clock: Clock) -> None:
    watch.feed(line("phase", name=UNTOLD))
    clock.now = 499
    assert watch.overdue() is None
    clock.now = 501
    assert (watch.overdue() or ("",))[0] == "timeout"


def test_a_job_that_reports_after_all_is_watched_from_then_on(watch: Watch, clock: Clock) -> None:
    watch.feed(line("phase", name=UNTOLD))
    clock.now = 400
    watch.feed(line("phase", name="training") + line("step", steps=1, step_seconds=None))
    clock.now = 411
    assert (watch.overdue() or ("",))[0] == "hang"


def test_progress_for_ever_is_a_timeout_not_a_hang(watch: Watch, clock: Clock) -> None:
    watch.feed(line("phase", name="training"))
    for second in range(0, 510, 5):
        clock.now = second
        watch.feed(line("step", steps=second, step_seconds=1.0))
    overdue = watch.overdue()
    assert overdue is not None
    assert overdue[0] == "timeout"


def test_messages_may_arrive_in_pieces(clock: Clock) -> None:
    listener = Listener()
    watch = Watch(DEADLINES, listener, clock)
    for byte in line("hello", pid=1) + line("phase", name="model") + line("step", steps=3, step_seconds=0.5):
        watch.feed(bytes([byte]))
    assert watch.said_hello
    assert [(heard.phase, heard.steps) for heard in listener.heard] == [("model", 0), ("model", 3)]


def test_a_slow_first_step_earns_patience_for_the_second(watch: Watch, clock: Clock) -> None:
    watch.feed(line("phase", name="first step"))
    clock.now = 40
    watch.feed(line("phase", name="steps"))
    clock.now = 40 + 41
    assert watch.overdue() is None


def test_a_slow_set_up_earns_no_patience_for_steps(watch: Watch, clock: Clock) -> None:
    watch.feed(line("phase", name="data"))
    clock.now = 25
    watch.feed(line("phase", name="warm-up"))
    clock.now = 25 + 11
    assert watch.overdue() is not None


def test_a_process_that_does_not_exit_after_its_last_word_is_overdue(watch: Watch, clock: Clock) -> None:
    watch.feed(line("phase", name="warm-up"))
    clock.now = 9
    watch.feed(line("bye"))
    clock.now = 18
    assert watch.overdue() is None
    clock.now = 20
    assert watch.overdue() is not None
