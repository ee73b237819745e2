"""One run of a recipe, with checkpoints that it goes on from."""

from dataclasses import replace
from pathlib import Path

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.training import conclude_train
from traindyno.app.checkpoints import check_unused, study_checkpoints
from traindyno.app.context import Context
from traindyno.app.device_counts import check_gpus, check_group_of, crowding_words, further_locks
from traindyno.app.documents import finished_document
from traindyno.app.learning_checks import check_folder, check_learning, without_deadline
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import data_of
from traindyno.app.specs import first_spec, settled
from traindyno.app.study import Study, open_study
from traindyno.app.train_hints import next_command
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, TrainAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError
from traindyno.core.learning import Recipe
from traindyno.core.records import TrialSpec
from traindyno.core.requests import TrainRequest
from traindyno.core.units import count_of
from traindyno.search.once import Once


def train(request: TrainRequest, context: Context) -> Document:
    """One long trial, and what it learnt; one that is stopped goes on from its checkpoint when it is resumed."""
    check_train(request)
    devices = request.settings.devices
    request = _with_folders(request, context)
    with open_workshop(without_deadline(request.bench), context.store, shared=True) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        check_train(request)
        check_gpus(workshop.bench.device, devices, len(workshop.reader.gpus()), "--devices 1")
        title = f"training {request.workload.model} on {data_of(request.workload)}, {length_words(request.recipe)}"
        with (
            further_locks(workshop.bench.device, devices, workshop.reader),
            open_study(workshop, context, request, f"{title}, on {where_words(request)}") as study,
        ):
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _run(study, request)
            crowded = crowding_words(workshop.bench, devices)
            warnings = (*_unusual(request.recipe), *crowded, *cautions(study.records))
            return finished_document(study, request, answer, warnings, _hint(study, request))


def check_train(request: TrainRequest) -> None:
    """Refuse what cannot be run before anything is."""
    check_learning(request.workload, request.settings, request.recipe, request.bench, takes_devices=True)
    check_group_of(request.bench, request.settings.devices)


def where_words(request: TrainRequest) -> str:
    """`cuda:0`, `2 GPUs`, `2 processes`."""
    devices, device = request.settings.devices, request.bench.device
    kind = {"cpu": "process", "simulated": "simulated device"}.get(device, "GPU")
    return device if devices == 1 else f"{devices} {kind}{'es' if kind == 'process' else 's'}"


def train_plan(request: TrainRequest, template: TrialSpec, checkpoints: Path | None) -> Once:
    """The one trial of the request, from what all trials have in common."""
    spec = msgspec.structs.replace(
        template,
        kind="learn",
        settings=settled(request.settings, template),
        recipe=request.recipe,
        checkpoints=None if checkpoints is None else str(checkpoints),
        tensorboard=request.tensorboard,
    )
    return Once(spec, f"training for {length_words(request.recipe)}")


def length_words(recipe: Recipe) -> str:
    return count_of(recipe.epochs, "epoch") if recipe.steps is None else count_of(recipe.steps, "step")


def _with_folders(request: TrainRequest, context: Context) -> TrainRequest:
    """The request with its folders made and written out; a new study must not find a run in them."""
    named = (("checkpoints", request.checkpoints), ("tensorboard", request.tensorboard))
    folders = {name: check_folder(path, f"--{name}") for name, path in named if path is not None}
    if "checkpoints" in folders and context.resume is None:
        check_unused(folders["checkpoints"])
    return msgspec.structs.replace(request, **{name: str(folder) for name, folder in folders.items()})


def _run(study: Study, request: TrainRequest) -> TrainAnswer:
    workshop = study.workshop
    own = study_checkpoints(workshop, study.row.name)
    folder = Path(request.checkpoints) if request.checkpoints is not None else own
    template = first_spec(workshop, request.workload)
    history = study.drive(train_plan(request, template, None if workshop.runner.simulated else folder))
    measured = [record for record in history if record.measurement is not None]
    if not measured:
        raise _nothing(study)
    return conclude_train(
        request,
        measured[-1],
        data=data_of(request.workload),
        seconds=study.seconds,
        simulated=workshop.runner.simulated,
    )


def _nothing(study: Study) -> TraindynoError:
    """Why there is no answer: the study was cut before the run had any, or the run failed."""
    if (cut := study.cut_before("evaluation")) is not None:
        return cut
    failure = study.records[-1].failure
    assert failure is not None
    return NothingMeasuredError(f"the run failed: {failure.message}", failure.remedy)


def _unusual(recipe: Recipe) -> tuple[str, ...]:
    if recipe.fine_tuning == "head" and recipe.weights is None:
        return ("The last layer was trained alone, on top of random weights: --weights names better ones.",)
    return ()


def _hint(study: Study, request: TrainRequest) -> str | None:
    measured = [record.measurement for record in study.records if record.measurement is not None]
    learning = measured[-1].learning
    assert learning is not None
    command = next_command(request, study.workshop.asked, learning)
    return None if command is None else f"{command}{study.store_option}"
