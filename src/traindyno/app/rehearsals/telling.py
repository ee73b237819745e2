"""What every dry run tells: its lines, its device, and the longest it may take."""

import math

from traindyno.app.specs import STEPS
from traindyno.app.trial_costs import at_most_seconds
from traindyno.app.workshop import settle
from traindyno.core.answers import Rehearsal
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench
from traindyno.core.units import count_of, format_bytes, format_seconds
from traindyno.machine.gpu import open_reader


def settled(bench: Bench) -> Bench:
    reader = open_reader()
    try:
        return settle(bench, reader)
    finally:
        reader.close()


def template(bench: Bench, workload: WorkloadSpec, kind: str) -> TrialSpec:
    settings = Settings(batch_size=1, precision=bench.precision, device=bench.device)
    return TrialSpec(kind=kind, workload=workload, settings=settings, budget=Budget(steps=STEPS))  # type: ignore[arg-type]


def limit_words(bench: Bench, without: str = "as long as they take") -> str:
    budget = bench.time_budget_seconds
    return without if budget is None else f"at most {format_seconds(budget)}"


def limit_seconds(bench: Bench) -> float:
    return math.inf if bench.time_budget_seconds is None else bench.time_budget_seconds


def rehearsal(
    command: str, bench: Bench, expected: int, trial_seconds: float, lines: list[str], precision: str | None = None
) -> Rehearsal:
    at_most = at_most_seconds(expected, trial_seconds, bench.time_budget_seconds)
    cost = f"about {count_of(expected, 'trial')}, at most about {format_seconds(at_most)}"
    return told(command, bench, precision or bench.precision, expected, at_most, [*lines, cost])


def told(
    command: str, bench: Bench, precision: str, expected: int, at_most_seconds: float, lines: list[str]
) -> Rehearsal:
    limit = "" if bench.memory_limit_bytes is None else f", memory limit {format_bytes(bench.memory_limit_bytes)}"
    lines = [f"{command} on {bench.device}, {precision}{limit}", *lines, "nothing was measured (--dry-run)"]
    return Rehearsal(
        command=command,
        device=bench.device,
        expected_trials=expected,
        at_most_seconds=at_most_seconds,
        lines=tuple(lines),
    )
