"""What the options of the bench mean here, and for a trial's deadlines."""

from dataclasses import replace
from pathlib import Path

from traindyno.app.context import Context
from traindyno.app.study import open_study
from traindyno.app.workshop import deadlines, open_workshop
from traindyno.core.events import Event, Notice, StudyStarted
from traindyno.core.records import WorkloadSpec
from traindyno.core.requests import Bench, ThroughputRequest
from traindyno.runner.protocol import Deadlines


def test_a_short_limit_on_steps_leaves_starting_its_time() -> None:
    given = deadlines(Bench(step_timeout_seconds=1.0))
    assert (given.step, given.first_step) == (1.0, 1.0)
    assert given.start_up == Deadlines().start_up


def test_a_long_limit_on_steps_lengthens_starting_too() -> None:
    assert deadlines(Bench(step_timeout_seconds=5000.0)).start_up == 5000.0


def test_settling_a_bench_forgets_nothing_of_what_was_asked(tmp_path: Path) -> None:
    asked = Bench(device="cpu")
    with open_workshop(asked, str(tmp_path / "store.db")) as workshop:
        assert workshop.bench.memory_limit_bytes is not None
        assert workshop.asked == asked
        stored = workshop.bench
    with open_workshop(stored, str(tmp_path / "store.db")) as resumed:
        assert resumed.bench == stored
        assert resumed.asked == asked


def test_what_a_user_named_is_still_named_when_a_study_is_resumed(tmp_path: Path) -> None:
    asked = Bench(device="cpu", memory_limit_bytes=2**33, trial_timeout_seconds=60.0)
    with open_workshop(asked, str(tmp_path / "store.db")) as workshop:
        assert workshop.bench.asked == asked


def test_who_else_measures_on_this_cpu_is_told_before_the_first_trial(tmp_path: Path) -> None:
    heard: list[Event] = []
    store = str(tmp_path / "store.db")
    with open_workshop(Bench(runner="simulated"), store) as workshop:
        request = ThroughputRequest(workload=WorkloadSpec(model="mlp:4"), bench=workshop.bench)
        beside = replace(workshop, neighbour="this CPU is being measured by another traindyno, process 7")
        with open_study(beside, Context(store=store, emit=heard.append), request, "it"):
            started, notice = heard
    assert isinstance(started, StudyStarted)
    assert isinstance(notice, Notice)
    assert notice.text.startswith("Not alone: this CPU is being measured by another traindyno, process 7.")
