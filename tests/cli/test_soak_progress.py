"""What is told while a long run goes on: rate, readings and the time left."""

import io

from rich.console import Console

from traindyno.cli.live import LiveView
from traindyno.cli.progress import PlainProgress
from traindyno.cli.sentences import describe_progress
from traindyno.core.events import TrialProgress, TrialStarted
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.core.soaking import SOAKING, Reading

SPEC = TrialSpec(
    kind="soak", workload=WorkloadSpec(model="m"), settings=Settings(batch_size=8), budget=Budget(seconds=600.0)
)
HOT = Reading(at=1.0, temperature_celsius=61, sm_clock_mhz=1980, power_watts=654.6)


def progress(seconds: float, steps: int = 10, reading: Reading | None = None) -> TrialProgress:
    return TrialProgress(phase=SOAKING, steps=steps, seconds=seconds, step_seconds=0.1, reading=reading)


def test_the_readings_stand_beside_the_rate_as_far_as_they_are_known() -> None:
    assert describe_progress(progress(3.0, reading=HOT)).endswith("100 ms/step, 61 °C 1980 MHz 655 W")
    assert describe_progress(progress(3.0, reading=Reading(at=1.0))).endswith("100 ms/step")


def test_without_a_terminal_a_long_run_tells_a_line_a_minute() -> None:
    stream = io.StringIO()
    tell = PlainProgress(stream, verbose=False)
    for second in range(5, 200):
        tell(progress(float(second), steps=second))
    assert [line.split(",")[1] for line in stream.getvalue().splitlines()] == [" 65 steps", " 125 steps", " 185 steps"]


def test_the_live_view_knows_the_time_left_from_the_first_step_on() -> None:
    stream = io.StringIO()
    console = Console(file=stream, width=100)
    view = LiveView(console)
    view(TrialStarted(ordinal=1, expected_trials=1, spec=SPEC, reason="training"))
    view(progress(8.0, steps=0))
    view(progress(9.0, reading=HOT))
    console.print(view)
    assert "61 °C" in stream.getvalue()
    assert "left" in stream.getvalue()
