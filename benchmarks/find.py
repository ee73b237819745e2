"""Does `traindyno find` find the fastest way to train, and how much is that? One workload per command.

In parts, each of which fits into a command of ten minutes:

- `find`: the search as a user runs it, from JPEG files and the baseline, with its gain, its time and its predictions.
- `grid`: every cell of the grid that is declared in find_case.py, once; then its winner and ours again, by turns.
- `train`: training with what was found, and its epoch beside the one that `find` foretold.
- `peer`: loadtune on the same job, written as most scripts are; then the script, loadtune's settings and ours by turns.

The baseline is the common default (fp32, PIL, 4 workers), with `--strong` one that an expert would write. With
`--prepare` the data may be prepared. Results are written after every measurement; `--also` keeps earlier ones and goes
on from them, with the same `--folder`.

    python benchmarks/find.py --workload resnet50 --folder /tmp/find [--parts find,grid,train] [--prepare | --strong]
    python benchmarks/find.py --workload small --device cpu --folder /tmp/find
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

import find_peer
import results
import traindyno
from find_case import COMMON_WORKERS, JOBS, Case, grid
from traindyno.analysis.find.rates import faster_by
from traindyno.analysis.find.rounds import finalists
from traindyno.analysis.sustained import Rate, sustained
from traindyno.app.context import Context
from traindyno.app.soak import soak
from traindyno.core.answers import FindAnswer, SoakAnswer
from traindyno.core.errors import TraindynoError
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.requests import Bench, SoakRequest
from traindyno.core.setups import Setup
from traindyno.core.units import parse_seconds
from traindyno.machine.cpus import usable_cpus
from traindyno.machine.versions import installed_version
from traindyno.search.find.verify import VerifyPlan
from traindyno.store.ledger import Ledger

PARTS = ("find", "grid", "train", "peer")
EPOCHS = 90.0
PEER, PEER_ROUNDS = "loadtune", 2
Row = dict[str, Any]


def ours(row: Row) -> dict[str, Any]:
    """What was found at the own batch, with its data."""
    if "find" not in row:
        raise SystemExit("nothing was found yet: add find to --parts, or name the earlier result with --also")
    best = row["find"]["answer"]["at_own_batch"]
    return {**best["settings"], "data": best["data"]}


def search(case: Case, row: Row, keep: Callable[[], None]) -> None:
    """Part `find`. Its seconds have everything in them: starting, compiling, preparing, and the last rounds.

    Its ledger stays in the folder, for whoever asks why.
    """
    options, baseline = case.options, msgspec.to_builtins(case.baseline)
    began = time.monotonic()
    store = options.folder / f"find_{options.workload}_{case.variant}.db"
    store.unlink(missing_ok=True)
    shutil.rmtree(case.compiled, ignore_errors=True)
    answer = traindyno.find(
        case.job.model,
        case.files,
        image_size=case.job.image_size,
        prepare=case.prepared if options.prepare else None,
        epochs=EPOCHS,
        time_budget_seconds=options.time_budget,
        store=str(store),
        **baseline,
    )
    spent = trial_times(str(store))
    seconds = time.monotonic() - began
    row["find"] = {
        "seconds": seconds,
        "speedup": answer.at_own_batch.speedup,
        "speedup_ci95": answer.at_own_batch.speedup_ci95,
        "examples_per_second": answer.at_own_batch.examples_per_second,
        "share_of_resident": answer.headroom.share_of_resident,
        "share_of_resident_ci95": answer.headroom.share_of_resident_ci95,
        "trials": answer.trials,
        "spent": spent,
        "prediction_errors": prediction_errors(answer),
        "answer": msgspec.to_builtins(answer),
    }
    keep()
    share = answer.headroom.share_of_resident
    print(
        "find: {:.2f} times the baseline ({:.2f} to {:.2f}), ".format(answer.speedup, *answer.speedup_ci95)
        + f"{answer.recommended.examples_per_second:.0f} examples/s"
        + (f", {share:.1%} of resident" if share is not None else "")
        + f", in {seconds:.0f} s and {answer.trials} trials: {answer.recommended.changes}",
        flush=True,
    )


def trial_times(store: str) -> list[Row]:
    """Every trial in order: what it was, and what it took."""
    with Ledger.open(store, create=False) as ledger:
        (study,) = ledger.studies()
        records = ledger.trials(study.id)
    return [
        {
            "kind": record.spec.kind,
            "repeat": record.spec.repeat,
            "data": record.spec.workload.data.partition(":")[0],
            "changes": changed_settings(record.spec.settings),
            "outcome": record.outcome,
            "seconds": record.seconds,
        }
        for record in records
    ]


def changed_settings(settings: Settings) -> Row:
    """What is not torch's default."""
    plain, default = (msgspec.to_builtins(each) for each in (settings, Settings(batch_size=settings.batch_size)))
    return {name: value for name, value in plain.items() if value != default[name]}


def prediction_errors(answer: FindAnswer) -> dict[str, float]:
    """Of each finalist whose rate was foretold: foretold by measured, less one."""
    told = {each.name: (each.predicted_examples_per_second, each.examples_per_second) for each in answer.finalists}
    return {name: foretold / measured - 1 for name, (foretold, measured) in told.items() if foretold is not None}


def fill(case: Case, row: Row, keep: Callable[[], None]) -> None:
    """Part `grid`: the cells that are not there yet, then the winner and ours by turns.

    A cell whose step alone, with resident data, is slower than the fastest cell so far cannot win: it is not run, and
    says so. Every cell that runs tells that of its step.
    """
    on_gpu, prepared = case.options.device != "cpu", f"prepared:{case.prepared}" if case.options.prepare else None
    declared = grid(case.files, prepared, int(usable_cpus().value), on_gpu)
    cells = row.setdefault("grid", {"cells": []})["cells"]
    for changes in declared:
        if changes in [cell["changes"] for cell in cells]:
            continue
        if case.options.ends_at is not None and time.monotonic() > case.options.ends_at:
            print(f"stopped after {len(cells)} of {len(declared)} cells: go on with --also", flush=True)
            return
        alone, fastest = resident_rate(cells, changes), max((each["examples_per_second"] for each in cells), default=0)
        if alone is not None and alone < fastest:
            cells.append({"changes": changes, "examples_per_second": 0.0, "seconds": 0.0, "cannot_win": alone})
            continue
        record = case.fed(case.setup(changes))
        cells.append(cell := cell_of(changes, record))
        print("grid: {examples_per_second:8.0f} examples/s in {seconds:4.1f} s, {changes}".format(**cell), flush=True)
        keep()
    winner = max(cells, key=lambda cell: cell["examples_per_second"])["changes"]
    row["grid"] |= regret(case, case.setup(winner), case.setup(ours(row)))
    keep()


def resident_rate(cells: Sequence[Row], changes: Mapping[str, Any]) -> float | None:
    """The fastest that any cell with this step has seen it with resident data; null where none has run."""
    told = [each.get("resident_examples_per_second") for each in cells if step_of(each["changes"]) == step_of(changes)]
    return max((rate for rate in told if rate is not None), default=None)


def step_of(changes: Mapping[str, Any]) -> Row:
    loading = ("data", "decoder", "num_workers", "pin_memory")
    return {name: value for name, value in changes.items() if name not in loading}


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


def regret(case: Case, winner: Setup, found: Setup) -> Row:
    """How much slower than the winner we are, as a share of the winner's rate."""
    settings = msgspec.to_builtins(winner)
    if winner == found:
        print("regret: none, the grid's winner is ours")
        return {"winner": settings, "regret": 0.0, "regret_ci95": (0.0, 0.0)}
    plan = VerifyPlan(case.template, winner, found, has_data=True, repeats=case.options.rounds)
    history: list[TrialRecord] = []
    while (wanted := plan.ask(history)) is not None:
        history.append(case.run(wanted.spec))
    best, mine = finalists(plan.entries(history))
    low, high = mine.speedup_ci95
    value, interval = 1 - mine.speedup, (1 - high, 1 - low)
    print(
        f"regret: {value:.1%} ({interval[0]:.1%} to {interval[1]:.1%}; goal: at most 3 %): winner "
        f"{best.examples_per_second:.0f}, ours {mine.examples_per_second:.0f} examples/s",
        flush=True,
    )
    rates = {"winner": best.examples_per_second, "ours": mine.examples_per_second}
    return {"winner": settings, "regret": value, "regret_ci95": interval, "by_turns_examples_per_second": rates}


def train(case: Case, row: Row, keep: Callable[[], None]) -> None:
    """Part `train`: a long run with what was found, from its loader, epochs and their pauses and all."""
    found = case.setup(ours(row))
    if found.data != case.files:
        case.fed(found)  # prepares the data where it is not there yet
    request = SoakRequest(
        workload=msgspec.structs.replace(case.workload, data=found.data),
        bench=Bench(device=case.options.device, precision=found.settings.precision),
        settings=found.settings,
        run_seconds=case.options.train_seconds,
        from_loader=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        answer = soak(request, Context(store=f"{folder}/store.db")).answer
    assert isinstance(answer, SoakAnswer)
    told = row["find"]["answer"]["training_time"]
    foretold, measured = told["seconds"] / told["epochs"], told["examples"] / answer.examples_per_second
    row["train"] = {
        "run_seconds": answer.run_seconds,
        "epochs": answer.epochs,
        "epoch_seconds": measured,
        "foretold_epoch_seconds": foretold,
        "error": foretold / measured - 1,
        "verdicts": answer.verdicts,
    }
    keep()
    print(
        f"train: an epoch took {measured:.2f} s over {answer.run_seconds:.0f} s, foretold were {foretold:.2f} s: "
        f"{foretold / measured - 1:+.1%} (goal: within 3 %)",
        flush=True,
    )


def peer(case: Case, row: Row, keep: Callable[[], None]) -> None:
    """Part `peer`: its turn, then the script as it was, the script with the peer's settings, and ours."""
    version = installed_version(PEER)
    if version is None:
        raise SystemExit(f"{PEER} is not installed: pip install {PEER}==0.3.0 --target FOLDER, and PYTHONPATH=FOLDER")
    found = case.setup(ours(row))
    if "knobs" not in row.get("peer", {}):
        row["peer"] = {"version": version, **tuned_by_peer(case)}
        keep()
    told = row["peer"]
    for gains in by_turns(case, found, told["knobs"]):
        told |= gains
        keep()
    ending = "" if told["ended"] else ", after which it was stopped"
    print(
        f"peer: {PEER} {version} makes the script {told[PEER]['speedup']:.2f} times as fast in "
        f"{told['seconds']:.0f} s{ending}; we {told['ours']['speedup']:.2f} times in {row['find']['seconds']:.0f} s",
        flush=True,
    )


def tuned_by_peer(case: Case) -> Row:
    """All that it says is passed on but the last line, which is the answer."""
    options = case.options
    words = [str(word) for word in (COMMON_WORKERS, options.peer_steps, PEER_ROUNDS, options.peer_seconds)]
    last = ""
    with subprocess.Popen([sys.executable, find_peer.__file__, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(last, end="", flush=True)
            last = line
    if process.returncode:
        raise SystemExit(f"{PEER} failed with {process.returncode}")
    told: Row = json.loads(last)
    return told


def by_turns(case: Case, found: Setup, knobs: Mapping[str, Any]) -> Iterator[Row]:
    """Each in a fresh process, told after every round; gains are over the script as it was."""
    script, own = f"{find_peer.__file__}:workload", case.setup({"num_workers": COMMON_WORKERS})
    ways: dict[str, tuple[Setup, str | None]] = {
        "script": (own, script),
        PEER: (case.setup(settings_of(knobs, case.options.device)), script),
        "ours": (found, None),
    }
    rates: dict[str, dict[int, Rate]] = {name: {} for name in ways}
    for number in range(case.options.rounds):
        for name in list(ways)[:: 1 if number % 2 == 0 else -1]:
            record = case.fed(*ways[name], repeat=number)
            assert record.measurement is not None, record.failure
            rates[name][number] = sustained(record.measurement)
        yield {name: gain_of(rates[name], rates["script"]) for name in ways}


def gain_of(own: Mapping[int, Rate], base: Mapping[int, Rate]) -> Row:
    gain = faster_by(own, base)
    assert gain is not None, "rounds that both took part in"
    rates = [rate.examples_per_second for rate in own.values()]
    return {"examples_per_second": rates, "speedup": gain[0], "speedup_ci95": gain[1]}


def settings_of(knobs: Mapping[str, Any], device: str) -> dict[str, Any]:
    """loadtune's knobs as our settings. Batches that are pinned are always moved without blocking here."""
    same = ("num_workers", "persistent_workers", "pin_memory", "prefetch_factor")
    found = {name: knobs[name] for name in same if knobs.get(name) is not None}
    found |= {"precision": "bf16" if device == "cpu" else "fp16"} if knobs.get("amp") else {}
    found |= {"compile": "default"} if knobs.get("compile") else {}
    return found | ({"threads": knobs["num_threads"]} if device == "cpu" and knobs.get("num_threads") else {})


def parse() -> argparse.Namespace:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--workload", choices=JOBS, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the data is made, or lies already")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["find", "grid", "train"])
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--prepare", action="store_true", help="the data may be prepared")
    kinds.add_argument("--strong", action="store_true", help="baseline: bf16, channels_last, all CPUs but one, pinned")
    parser.add_argument("--images", type=int, help="of the generated set")
    parser.add_argument("--time-budget", type=parse_seconds, help="of find: 5m30s by default")
    parser.add_argument("--trial-seconds", type=float, default=2.0, help="of the grid and of what takes turns")
    parser.add_argument("--rounds", type=int, default=4, help="of what takes turns")
    parser.add_argument("--train-seconds", type=float, default=60.0)
    parser.add_argument("--peer-steps", type=int, default=100, help="of each of the peer's trials; 100 is its default")
    parser.add_argument("--peer-seconds", type=float, default=400.0, help="after which the peer begins no trial")
    parser.add_argument("--stop-after", type=float, help="seconds; the grid's cells begin no later")
    results.continues(parser)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"there is no part {min(unknown)}: choose from {','.join(PARTS)}")
    if options.strong and "peer" in options.parts:
        parser.error("the peer starts from the common default: leave --strong away")
    # The closest peer's 5 min 55 s are to be beaten.
    options.time_budget = options.time_budget or 330.0
    options.ends_at = None if options.stop_after is None else time.monotonic() + options.stop_after
    return options


def main() -> None:
    options = parse()
    case = Case(options)
    results.make_files(options.folder, options.images or case.job.images)
    rows: list[Row] = results.earlier_rows(options.also)
    name = {"workload": options.workload, "variant": case.variant}
    row = next((each for each in rows if name.items() <= each.items()), None)
    if row is None:
        shape = {"batch_size": case.job.batch_size, "images": options.images or case.job.images}
        rows.append(row := {**name, **shape, "baseline": msgspec.to_builtins(case.baseline)})
    kind = "cpu" if options.device == "cpu" else "gpu"

    def keep(part: str) -> None:
        row.setdefault("measured", {})[part] = results.stamp()
        results.write(options.out, f"find_{kind}", {"rows": rows})

    works = {"find": search, "grid": fill, "train": train, "peer": peer}
    try:
        for part in (part for part in PARTS if part in options.parts):
            works[part](case, row, partial(keep, part))
    except TraindynoError as error:
        raise SystemExit(f"{error} ({error.hint})") from None
    finally:
        case.close()


if __name__ == "__main__":
    main()
