"""Part `grid` of find.py: every cell of a grid that is declared here, and then its winner and ours by turns."""

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

import results
from find_case import Case, Row, ours
from traindyno.analysis.find.rounds import Entry, finalists
from traindyno.analysis.sustained import sustained
from traindyno.core.records import TrialRecord
from traindyno.core.setups import Setup
from traindyno.machine.cpus import usable_cpus
from traindyno.machine.versions import installed_version
from traindyno.search.find.verify import VerifyPlan

UNSURE = 0.05
"""Share by which two runs of a step may differ: only a step that is slower by more than that cannot win."""
LOADING = ("data", "decoder", "num_workers", "pin_memory")


def grid(files: str, prepared: str | None, cpus: int, on_gpu: bool) -> list[dict[str, Any]]:
    """Workers × where pixels come from × the step, declared before anything is measured.

    Pixels come in two ways: on a GPU from its own decoder and the fastest of the host, on a CPU from that and PIL. Data
    that may be prepared takes the place of the slower. The steps that are usually fastest come first, so that the
    others need not all be run.
    """
    host = "simplejpeg" if installed_version("simplejpeg") else "torchvision"
    slower, faster = (host, "nvjpeg") if on_gpu else ("pil", host)
    instead = {"data": prepared, "decoder": "pil"} if prepared else {"data": files, "decoder": slower}
    ways = [instead, {"data": files, "decoder": faster}]
    if on_gpu:
        workers = sorted({4, cpus // 2, cpus - 1})
        mixed = {"precision": "bf16", "memory_format": "channels_last"}
        steps = [{**mixed, "compile": "default"}, mixed, {}]
    else:
        workers = [0, 1, 2]
        steps = [{}, {"memory_format": "channels_last"}]
    cells = itertools.product(steps, ways, workers)
    return [{**way, "num_workers": count, "pin_memory": on_gpu and count > 0, **step} for step, way, count in cells]


def fill(case: Case, row: Row, keep: Callable[[], None]) -> None:
    """Part `grid`: the cells that are not there yet, then the winner and ours by turns.

    A cell whose step alone, with resident data, is clearly slower than the fastest cell so far cannot win: it is not
    run, and says so. Every cell that runs tells that of its step.
    """
    on_gpu, prepared = case.options.device != "cpu", f"prepared:{case.prepared}" if case.options.prepare else None
    declared = grid(case.files, prepared, int(usable_cpus().value), on_gpu)
    cells = row.setdefault("grid", {"cells": []})["cells"]
    for changes in declared:
        if changes in [cell["changes"] for cell in cells]:
            continue
        if is_late(case):
            print(f"stopped after {len(cells)} of {len(declared)} cells: go on with --also", flush=True)
            return
        alone, fastest = resident_rate(cells, changes), max((each["examples_per_second"] for each in cells), default=0)
        if alone is not None and alone < (1 - UNSURE) * fastest:
            cells.append({"changes": changes, "examples_per_second": 0.0, "seconds": 0.0, "cannot_win": alone})
            continue
        record = case.fed(case.setup(changes))
        cells.append(cell := cell_of(changes, record) | {"measured": results.stamp()})
        print("grid: {examples_per_second:8.0f} examples/s in {seconds:4.1f} s, {changes}".format(**cell), flush=True)
        keep()
    winner = max(cells, key=lambda cell: cell["examples_per_second"])["changes"]
    compare(case, row, case.setup(winner), case.setup(ours(row)), keep)


def is_late(case: Case) -> bool:
    return case.options.ends_at is not None and time.monotonic() > case.options.ends_at


def resident_rate(cells: Sequence[Row], changes: Mapping[str, Any]) -> float | None:
    """The fastest that any cell with this step has seen it with resident data; null where none has run."""
    told = [each.get("resident_examples_per_second") for each in cells if step_of(each["changes"]) == step_of(changes)]
    return max((rate for rate in told if rate is not None), default=None)


def step_of(changes: Mapping[str, Any]) -> Row:
    return {name: value for name, value in changes.items() if name not in LOADING}


def cell_of(changes: Mapping[str, Any], record: TrialRecord) -> Row:
    """A cell that does not run has no speed."""
    told, resident = record.measurement, None
    if told is not None and told.loading is not None and told.loading.resident_step_seconds:
        resident = told.batch_size / told.loading.resident_step_seconds
    return {
        "changes": changes,
        "examples_per_second": 0.0 if told is None else sustained(told).examples_per_second,
        "resident_examples_per_second": resident,
        "seconds": record.seconds,
        "failure": None if record.failure is None else record.failure.message,
    }


def compare(case: Case, row: Row, winner: Setup, found: Setup, keep: Callable[[], None]) -> None:
    """The winner and ours by turns. Whole rounds are kept until all are over, for whoever is stopped before."""
    plan = VerifyPlan(case.template, winner, found, has_data=True, repeats=case.options.rounds)
    kept = plan.entries(msgspec.convert(row["grid"].get("rounds", []), list[TrialRecord]))
    history = [record for entry in kept for record in entry.records.values()]
    while winner != found and (wanted := plan.ask(history)) is not None:
        if len(history) % len(kept) == 0:
            row["grid"]["rounds"] = msgspec.to_builtins(history)
            keep()
            if is_late(case):
                print(f"stopped after {len(history) // len(kept)} rounds: go on with --also", flush=True)
                return
        history.append(case.run(wanted.spec))
    told = {"winner": msgspec.to_builtins(winner), **regret(plan.entries(history))}
    row["grid"] = {"cells": row["grid"]["cells"], **told}
    keep()


def regret(entries: Sequence[Entry]) -> Row:
    """How much slower than the winner we are, as a share of the winner's rate."""
    best, mine = entries
    if best.setup == mine.setup:
        print("regret: none, the grid's winner is ours", flush=True)
        return {"regret": 0.0, "regret_ci95": (0.0, 0.0)}
    if (failed := best.failure or mine.failure) is not None and failed.failure is not None:
        print(f"regret: not known, for one of the two failed: {failed.failure.message}", flush=True)
        return {"regret": None, "regret_ci95": None, "failure": failed.failure.message}
    of_winner, of_ours = finalists(entries)
    low, high = of_ours.speedup_ci95
    value, interval = 1 - of_ours.speedup, (1 - high, 1 - low)
    print(
        f"regret: {value:.1%} ({interval[0]:.1%} to {interval[1]:.1%}; goal: at most 3 %): winner "
        f"{of_winner.examples_per_second:.0f}, ours {of_ours.examples_per_second:.0f} examples/s",
        flush=True,
    )
    rates = {"winner": of_winner.examples_per_second, "ours": of_ours.examples_per_second}
    return {"regret": value, "regret_ci95": interval, "by_turns_examples_per_second": rates}
