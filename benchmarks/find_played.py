"""How much of what is there does the search of `find` find in a few minutes? Played on imagined GPU machines.

Every trial takes as long as it would, of steps whose times are known, so that the best there is can be looked up. The
regret is what the recommended way to train falls short of that; a search is cut when its time is up. No GPU is needed.

    python benchmarks/find_played.py [--machines 100] [--minutes 3,5,10] [--only "random 7"]
"""

import itertools
import math
import multiprocessing
import statistics
from collections.abc import Iterator
from typing import Any

import msgspec

import results
from find_played_machines import Machine, measured_machines, random_machine
from search.simulated_find import TEMPLATE, WORKLOAD, goal_of
from traindyno.analysis.find.answer import conclude_find
from traindyno.analysis.sustained import sustained
from traindyno.core.answers.find import FindAnswer
from traindyno.core.records import Settings, TrialRecord, TrialSpec
from traindyno.core.requests import Bench, FindRequest
from traindyno.core.setups import Setup
from traindyno.runner.protocol import Watcher
from traindyno.search.find.goal import Goal
from traindyno.search.find.plan import FindPlan
from traindyno.search.find.trials import Trials

COMMON = Settings(batch_size=256, device="simulated", num_workers=4)
BETWEEN_SECONDS = 0.3
WORKERS = (0, 1, 2, 4, 6, 8, 12, 15, 16, 24, 31, 32)


def play(machine: Machine, minutes: float) -> dict[str, Any]:
    answer, history = searched(machine, minutes)
    ours, best = answer.recommended, max(cells(machine), key=lambda cell: rate(machine, cell))
    found = rate(machine, Setup(data=ours.data, settings=msgspec.convert(ours.settings, Settings)))
    return {
        "machine": machine.name,
        "minutes": minutes,
        "regret": 1 - found / rate(machine, best),
        "gain": found / rate(machine, Setup(data=WORKLOAD.data, settings=COMMON)),
        "confirmed": ours.confirmed or not ours.changes,
        "seconds": spent(history),
        "trials": len(history),
        "found": in_words(ours.changes),
        "best": in_words(best.changes(Setup(data=WORKLOAD.data, settings=COMMON))),
    }


def in_words(changes: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in changes.items())


def searched(machine: Machine, minutes: float, tell: bool = False) -> tuple[FindAnswer, list[TrialRecord]]:
    """The answer as `find` would give it when its time is up, and every trial."""
    goal, template = goal_on(machine, minutes), template_on(machine)
    plan, runner, history = FindPlan(template, goal), machine.imagined(), list[TrialRecord]()
    while (proposal := plan.ask(history)) is not None:
        record = runner.run(proposal.spec, Watcher())
        if spent([*history, record]) > 60 * minutes:
            break
        history.append(record)
        if tell:
            told = Setup(data=record.spec.workload.data, settings=record.spec.settings)
            changes = told.changes(Setup(data=WORKLOAD.data, settings=COMMON))
            print(f"{spent(history):6.0f} s {record.spec.kind:8} {record.seconds:5.1f} s {changes}: {proposal.reason}")
    request = FindRequest(workload=template.workload, bench=Bench(device="simulated"), settings=COMMON)
    answer = conclude_find(request, plan.findings(history), history=history, seconds=1.0, simulated=True)
    return answer, history


def goal_on(machine: Machine, minutes: float) -> Goal:
    options = {"decoders": machine.decoders, "prepare": machine.prepare}
    return goal_of(COMMON, cpus=machine.cpus, budget_seconds=60 * minutes, **options)


def template_on(machine: Machine) -> TrialSpec:
    workload = msgspec.structs.replace(WORKLOAD, image_size=machine.image_size)
    return msgspec.structs.replace(TEMPLATE, settings=COMMON, workload=workload)


def spent(history: list[TrialRecord]) -> float:
    return sum(record.seconds + BETWEEN_SECONDS for record in history)


def cells(machine: Machine) -> Iterator[Setup]:
    """Every way to load that is there, with the fastest step."""
    precision, memory_format, mode = min(machine.steps, key=lambda step: machine.steps[step])
    step = {"precision": precision, "memory_format": memory_format, "compile": mode}
    files = [(WORKLOAD.data, decoder) for decoder in machine.decoders]
    ways = [*files, (machine.prepare, "pil")] if machine.prepare else files
    for (data, decoder), workers in itertools.product(ways, WORKERS):
        if workers <= machine.cpus:
            loading = {"decoder": decoder, "num_workers": workers, "pin_memory": True, "persistent_workers": True}
            yield Setup(data=data, settings=msgspec.structs.replace(COMMON, **step, **loading))


def rate(machine: Machine, setup: Setup) -> float:
    """Examples per second end to end, without noise."""
    record = machine.imagined(noise=0.0).run(
        Trials(template_on(machine), has_data=True).end_to_end(setup, 0), Watcher()
    )
    assert record.measurement is not None
    return setup.settings.batch_size / sustained(record.measurement).step_seconds


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    regrets = sorted(row["regret"] for row in rows)
    return {
        "machines": len(rows),
        "mean_regret": statistics.fmean(regrets),
        "median_regret": statistics.median(regrets),
        "nine_of_ten_within": regrets[math.ceil(0.9 * len(regrets)) - 1],
        "worst_regret": regrets[-1],
        "within_3_percent": sum(regret <= 0.03 for regret in regrets),
        "confirmed": sum(row["confirmed"] for row in rows),
        "mean_gain": statistics.geometric_mean(row["gain"] for row in rows),
        "longest_seconds": max(row["seconds"] for row in rows),
    }


def main() -> None:
    parser = results.arguments("What does the search of find find in a few minutes?")
    parser.add_argument("--machines", type=int, default=100, help="machines drawn by chance, beside the measured ones")
    parser.add_argument("--minutes", default="3,5,10", help="time budgets, comma-separated")
    parser.add_argument("--only", help="show every trial on the machine of this name, and write nothing")
    options = parser.parse_args()
    machines = [*measured_machines(), *map(random_machine, range(options.machines))]
    budgets = [float(minutes) for minutes in options.minutes.split(",")]
    if options.only:
        (machine,) = [each for each in machines if each.name == options.only]
        for minutes in budgets:
            searched(machine, minutes, tell=True)
            print(play(machine, minutes))
        return
    with multiprocessing.Pool() as pool:
        rows = pool.starmap(play, itertools.product(machines, budgets), chunksize=1)
    known = {machine.name for machine in measured_machines()}
    for row in rows:
        if row["machine"] in known:
            print("{machine:20} {minutes:3g} min: regret {regret:6.1%}, gain {gain:.2f}, {seconds:.0f} s".format(**row))
    drawn, told = [row for row in rows if row["machine"] not in known], {}
    for minutes in budgets if drawn else ():
        told[minutes] = summary([row for row in drawn if row["minutes"] == minutes])
        print(f"{minutes:g} min: " + ", ".join(f"{name} {value:.3g}" for name, value in told[minutes].items()))
    results.write(options.out, "find_played", {"rows": rows, "summary": told})


if __name__ == "__main__":
    main()
