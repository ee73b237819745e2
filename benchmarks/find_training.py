"""Parts `train` and `verify` of find.py: a long run with what was found, beside what shorter ones said of it."""

import tempfile
import time
from collections.abc import Callable

import msgspec

import results
import traindyno
from find_case import Case, Row, ours
from traindyno.app.context import Context
from traindyno.app.soak import soak
from traindyno.core.answers import SoakAnswer
from traindyno.core.requests import Bench, SoakRequest
from traindyno.core.settings_file import format_settings_file
from traindyno.core.setups import SettingsFile, Setup


def train(case: Case, row: Row, keep: Callable[[], None]) -> None:
    """Part `train`: an epoch of it beside the one that `find` foretold."""
    answer = trained(case, case.setup(ours(row)))
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


def trained(case: Case, found: Setup) -> SoakAnswer:
    """A long run from its loader, epochs and their pauses and all."""
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
    return answer


def again(case: Case, row: Row, keep: Callable[[], None]) -> None:
    """Part `verify`: the rounds as a user has them checked, on this machine, then training. Every time is kept."""
    options, found = case.options, case.setup(ours(row))
    best, began = row["find"]["answer"]["at_own_batch"], time.monotonic()
    file = SettingsFile(
        settings=best["settings"],
        data=best["data"],
        workload=case.workload,
        baseline=Setup(data=case.files, settings=case.baseline),
        speedup=best["speedup"],
        speedup_ci95=best["speedup_ci95"],
        confirmed=best["confirmed"],
    )
    path = options.folder / f"find_{options.workload}_{case.variant}.toml"
    path.write_text(format_settings_file(file))
    store = options.folder / f"verify_{options.workload}_{case.variant}.db"
    store.unlink(missing_ok=True)
    answer = traindyno.verify(
        path,
        repeats=options.rounds,
        trial_seconds=options.trial_seconds,
        device=options.device,
        time_budget_seconds=options.time_budget,
        store=str(store),
    )
    told = {**results.stamp(), "seconds": time.monotonic() - began, "answer": msgspec.to_builtins(answer)}
    row.setdefault("verify", []).append(told)
    keep()
    print("verify: " + " ".join(answer.verdicts), flush=True)
    long, rate = trained(case, found), answer.recommended.examples_per_second
    told["train"] = {
        "run_seconds": long.run_seconds,
        "epochs": long.epochs,
        "examples_per_second": long.examples_per_second,
        "error": rate / long.examples_per_second - 1,
        "verdicts": long.verdicts,
    }
    keep()
    print(
        f"verify: {long.examples_per_second:.0f} examples/s over {long.run_seconds:.0f} s of training, {rate:.0f} by "
        f"its rounds: {told['train']['error']:+.1%}",
        flush=True,
    )
