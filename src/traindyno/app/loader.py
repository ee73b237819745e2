"""How many loader workers, with which settings, feed the training."""

import shlex
from dataclasses import replace

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.commands import device_words, workload_words
from traindyno.analysis.loader_answer import conclude_loader
from traindyno.analysis.loader_budget import LoaderRoom, refuse_loader
from traindyno.analysis.loader_expected import expected_rates
from traindyno.analysis.worker_choice import grid_counts
from traindyno.app.context import Context
from traindyno.app.decoders import FIRST_DECODER, host_decoders, is_encoded
from traindyno.app.documents import finished_document
from traindyno.app.loader_room import RoomyRunner, batch_bytes, loader_room
from traindyno.app.loader_workload import check_decoder, check_loader, data_of, usable_cpus
from traindyno.app.specs import first_spec
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, LoaderAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError
from traindyno.core.loading import Decoder
from traindyno.core.records import Budget, TrialSpec
from traindyno.core.requests import LoaderRequest
from traindyno.search.loader import LoaderSearch
from traindyno.search.loader_grid import LoaderGrid
from traindyno.search.strategy import Strategy


def loader(request: LoaderRequest, context: Context) -> Document:
    """Search for the settings, or measure the whole grid, and conclude with what there is."""
    check_loader(request)
    with open_workshop(request.bench, context.store) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        check_decoder(request.decoder, request.bench.device)
        with open_study(workshop, context, request, loader_title(request)) as study:
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _search(study, request)
            return finished_document(study, request, answer, cautions(study.records), _hint(request, answer, study))


def loader_title(request: LoaderRequest) -> str:
    fed = f" for {request.workload.model}" if request.with_model else ""
    return f"loader of {data_of(request.workload)}{fed} on {request.bench.device}"


def loader_strategy(request: LoaderRequest, template: TrialSpec, cpus: float, room: LoaderRoom) -> Strategy:
    """The grid that was asked for, or the search."""
    if request.grid:
        workers = request.workers or grid_counts(cpus)
        sizes = request.sizes or (request.batch_size,)
        seed = request.bench.seed
        return LoaderGrid(template, workers, sizes, with_model=request.with_model, room=room, seed=seed)
    return LoaderSearch(
        template,
        cpus,
        with_model=request.with_model,
        workers=request.workers,
        decoders=_decoders(request),
        cpus=request.cpus,
        room=room,
    )


def loader_template(request: LoaderRequest, template: TrialSpec) -> TrialSpec:
    """What all trials of the study have in common."""
    settings = msgspec.structs.replace(
        template.settings, batch_size=request.batch_size, decoder=request.decoder or FIRST_DECODER
    )
    budget = Budget(seconds=request.trial_seconds)
    return msgspec.structs.replace(template, kind="load", settings=settings, budget=budget)


def _search(study: Study, request: LoaderRequest) -> LoaderAnswer:
    simulated = study.workshop.runner.simulated
    cpus = usable_cpus(request.bench, request.local_ranks)
    room = LoaderRoom() if simulated else loader_room()
    template = loader_template(request, first_spec(study.workshop, request.workload))
    history = study.drive(loader_strategy(request, template, cpus, room))
    goal = "feed" if request.with_model else "load"
    if not any(record.ok and record.spec.kind == goal for record in history):
        raise _nothing_measured(study, request, template, room)
    answer = conclude_loader(request, history, usable_cpus=cpus, room=room, seconds=study.seconds, simulated=simulated)
    expected = expected_rates(request, history, cpus)
    return msgspec.structs.replace(answer, data=data_of(request.workload), expected=expected)


def _decoders(request: LoaderRequest) -> tuple[Decoder, ...]:
    """The one asked for, or those that run on the host here; the first alone where nothing is decoded by us."""
    if request.decoder is not None:
        return (request.decoder,)
    return host_decoders(request.bench) if is_encoded(request.workload.data) else (FIRST_DECODER,)


def _nothing_measured(study: Study, request: LoaderRequest, template: TrialSpec, room: LoaderRoom) -> TraindynoError:
    """Why not one setting ran: the study was cut, a trial failed, or nothing had room."""
    if (cut := study.cut_before("worker count was measured")) is not None:
        return cut
    failures = [record.failure for record in study.records if record.failure is not None]
    if failures:
        return NothingMeasuredError(f"the loader could not be measured: {failures[-1].message}", failures[-1].remedy)
    fewest = msgspec.structs.replace(template.settings, num_workers=min(request.workers or (0,)))
    refusal = refuse_loader(fewest, batch_bytes(template, study.records), room)
    return refusal or NothingMeasuredError("no worker count could be measured", "see the trials with --verbose")


def _hint(request: LoaderRequest, answer: LoaderAnswer, study: Study) -> str:
    """What training then waits for; or, where the loader was alone, the same with a model."""
    words = [*workload_words(request.workload, study.workshop.asked), *device_words(study.workshop.asked)]
    size = ["--batch-size", str(answer.batch_size)]
    size += ["--local-ranks", str(request.local_ranks)] if request.local_ranks > 1 else []
    if not request.with_model:
        named = "" if request.workload.runs_user_code else " --model MODEL"
        return f"{shlex.join(['traindyno', 'loader', *words, *size])}{named}{study.store_option}"
    chosen = answer.recommended
    knobs = ["--workers", str(chosen.num_workers)]
    if chosen.prefetch_factor not in (None, 2):
        knobs += ["--prefetch-factor", str(chosen.prefetch_factor)]
    knobs += ["--pin-memory"] if chosen.pin_memory else []
    decoder = chosen.decoder or request.decoder
    knobs += ["--decoder", decoder] if decoder not in (None, FIRST_DECODER) else []
    return f"{shlex.join(['traindyno', 'stalls', *words, *size, *knobs])}{study.store_option}"
