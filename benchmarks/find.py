"""Does `traindyno find` find the fastest way to train, and how much is that? One workload per command.

In parts, each of which fits into a command of ten minutes:

- `find`: the search as a user runs it, from JPEG files and the baseline, with its gain, its time and its predictions.
- `train`: training with what was found, and its epoch beside the one that `find` foretold.
- `grid`: every cell of the grid that is declared in find_grid.py, once; then its winner and ours again, by turns.
- `verify`, where it is asked for: what was found and its baseline again by `traindyno verify`, later or on another
  machine, and training with it beside the rate that these short runs tell.
- `peer`: loadtune on the same job, written as most scripts are; then the script, loadtune's settings and ours by turns.

The baseline is the common default (fp32, PIL, 4 workers), with `--strong` one that an expert would write. With
`--prepare` the data may be prepared. Results are written after every measurement; `--also` keeps earlier ones and goes
on from them, with the same `--folder`.

    python benchmarks/find.py --workload resnet50 --folder /tmp/find [--parts find,train,grid] [--prepare | --strong]
    python benchmarks/find.py --workload small --device cpu --folder /tmp/find
"""

import argparse
import shutil
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec

import results
import traindyno
from find_beside import peer
from find_case import JOBS, Case, Row
from find_grid import fill
from find_training import again, train
from traindyno.core.answers import FindAnswer
from traindyno.core.errors import TraindynoError
from traindyno.core.records import Settings
from traindyno.core.units import parse_seconds
from traindyno.store.ledger import Ledger

PARTS = ("find", "train", "grid", "verify", "peer")
"""In the order in which they run: the grid can be stopped and gone on with, so that it takes what time is left."""

EPOCHS = 90.0


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


def parse() -> argparse.Namespace:
    parser = results.arguments(__doc__.splitlines()[0])
    parser.add_argument("--workload", choices=JOBS, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the data is made, or lies already")
    parser.add_argument("--parts", type=lambda text: text.split(","), default=["find", "train", "grid"])
    kinds = parser.add_mutually_exclusive_group()
    kinds.add_argument("--prepare", action="store_true", help="the data may be prepared")
    kinds.add_argument("--strong", action="store_true", help="baseline: bf16, channels_last, all CPUs but one, pinned")
    parser.add_argument("--images", type=int, help="of the generated set")
    parser.add_argument("--time-budget", type=parse_seconds, help="of find, and of verify: 5m30s by default")
    parser.add_argument("--trial-seconds", type=float, default=2.0, help="of the grid and of what takes turns")
    parser.add_argument("--rounds", type=int, default=4, help="of what takes turns")
    parser.add_argument("--train-seconds", type=float, default=60.0)
    parser.add_argument("--peer-steps", type=int, default=100, help="of each of the peer's trials; 100 is its default")
    parser.add_argument("--peer-seconds", type=float, default=400.0, help="after which the peer begins no trial")
    parser.add_argument("--stop-after", type=float, help="seconds; cells and rounds of the grid begin no later")
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

    works = {"find": search, "train": train, "grid": fill, "verify": again, "peer": peer}
    try:
        for part in (part for part in PARTS if part in options.parts):
            works[part](case, row, partial(keep, part))
    except TraindynoError as error:
        raise SystemExit(f"{error} ({error.hint})") from None
    finally:
        case.close()


if __name__ == "__main__":
    main()
