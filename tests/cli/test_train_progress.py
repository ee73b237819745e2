"""What is told while a run learns: steps of all, accuracy, and the time left."""

import io

import pytest
from rich.console import Console

from traindyno.cli.live import LiveView
from traindyno.cli.progress import PlainProgress
from traindyno.cli.sentences import describe_progress, describe_spec
from traindyno.core.events import TrialProgress, TrialStarted
from traindyno.core.learning import LEARNING, Recipe
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec

SPEC = TrialSpec(
    kind="learn",
    workload=WorkloadSpec(model="mlp:64", data="digits:"),
    settings=Settings(batch_size=32),
    seed=3,
    recipe=Recipe(learning_rate=0.05),
)


def progress(steps: int, accuracy: float | None = None, seconds: float = 1.0) -> TrialProgress:
    return TrialProgress(
        phase=LEARNING, steps=steps, seconds=seconds, step_seconds=0.1, planned_steps=4000, accuracy=accuracy
    )


def test_steps_are_told_of_all_and_the_accuracy_once_it_is_known() -> None:
    assert describe_progress(progress(1234)) == "training, 1,234 of 4,000 steps, 100 ms/step"
    assert describe_progress(progress(1234, 0.975)).endswith("100 ms/step, accuracy 97.5%")


def test_a_run_is_known_by_its_batch_rate_and_seed() -> None:
    assert describe_spec(SPEC) == "batch 32, lr 0.05, seed 3"


def test_without_a_terminal_a_run_tells_a_line_a_minute() -> None:
    stream = io.StringIO()
    tell = PlainProgress(stream, verbose=False)
    for second in range(5, 200):
        tell(progress(second, seconds=float(second)))
    told = [line.split(",")[1] for line in stream.getvalue().splitlines()]
    assert told == [" 65 of 4", " 125 of 4", " 185 of 4"]


@pytest.mark.parametrize(("expected_trials", "left"), [(1, "6 min 00 s"), (3, "19 min 20 s")])
def test_the_live_view_reckons_the_time_left_from_the_steps_so_far(
    monkeypatch: pytest.MonkeyPatch, expected_trials: int, left: str
) -> None:
    now = [1000.0]
    monkeypatch.setattr("traindyno.cli.live.time.monotonic", lambda: now[0])
    stream = io.StringIO()
    console = Console(file=stream, width=100)
    view = LiveView(console)
    view(TrialStarted(ordinal=1, expected_trials=expected_trials, spec=SPEC, reason="training"))
    view(progress(0))
    now[0] += 40.0
    view(progress(400))
    console.print(view)
    assert f"about {left} left" in stream.getvalue()
