"""What trials that learn have in common before they run: data to learn from, a recipe that holds, no deadline."""

import math
import os
from pathlib import Path

from traindyno.app.loader_workload import MEMORY, SYNTHETIC, check_decoder
from traindyno.app.source_checks import check_source, stored
from traindyno.app.weights import check_weights
from traindyno.app.workshop import with_settled
from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.recipe_checks import check_recipe
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench
from traindyno.core.setting_checks import check_settings

HOW_TO_NAME_DATA = "name it with --data: digits:, cifar10:PATH, folder:PATH or another source"


def check_learning(
    workload: WorkloadSpec, settings: Settings, recipe: Recipe, bench: Bench, *, takes_devices: bool = False
) -> None:
    """Refuse what cannot be learnt before anything is run. Not every command has runs on several devices."""
    if workload.mode == "infer":
        raise UsageError("a forward pass learns nothing", "leave --mode infer away")
    check_learnable(workload, is_there=not bench.runner.startswith("simulated"))
    check_settings(settings, workload.mode, bench.device, takes_devices=takes_devices)
    check_decoder(settings.decoder, bench.device)
    check_recipe(recipe, settings)
    check_weights(recipe)


def check_learnable(workload: WorkloadSpec, *, is_there: bool) -> None:
    """Random pictures have nothing to teach. A user's own file may have data of its own."""
    if stored(workload.data) not in (SYNTHETIC, MEMORY):
        check_source(workload.data, "--data", is_there=is_there)
    elif not (workload.runs_user_code and workload.data == SYNTHETIC):
        raise UsageError(f"there is nothing to learn from {workload.data}", HOW_TO_NAME_DATA)


def without_deadline(bench: Bench) -> Bench:
    """The bench for trials that may take days: only a `--trial-timeout` of the user's own ends one."""
    given = bench.trial_timeout_seconds is not None
    return bench if given else with_settled(bench, trial_timeout_seconds=math.inf)


def check_folder(path: str, option: str) -> Path:
    """A folder that can be written into; it is made if it is not there."""
    folder = Path(path).expanduser().absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise UsageError(f"{option} names {folder}, which is no folder", "name another") from None
    except OSError as error:
        raise UsageError(f"the folder {folder} cannot be made: {error.strerror}", f"name another {option}") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"nothing can be written into {folder}", f"name another {option}, or change its permissions")
    return folder
