"""What training waits for."""

from dataclasses import replace

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.stalls import conclude_stalls
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import (
    check_data,
    check_decoder,
    check_ranks,
    data_of,
    other_sources,
    usable_cpus,
)
from traindyno.app.specs import first_spec, settled
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, StallsAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError
from traindyno.core.records import Budget, TrialSpec, WorkloadSpec
from traindyno.core.requests import StallsRequest
from traindyno.core.setting_checks import check_settings
from traindyno.search.stalls import StallsPlan


def stalls(request: StallsRequest, context: Context) -> Document:
    """Run what differs in one thing each, and conclude from the differences."""
    request = with_sources(request)
    with open_workshop(request.bench, context.store) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        check_decoder(request.settings.decoder, request.bench.device)
        title = f"what training {request.workload.model} on {data_of(request.workload)} waits for"
        with open_study(workshop, context, request, f"{title}, on {workshop.bench.device}") as study:
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _differences(study, request)
            return finished_document(study, request, answer, cautions(study.records), _hint(study, answer))


def with_sources(request: StallsRequest) -> StallsRequest:
    """The request with its other sources written out: `memory:` alone means the data itself, held in RAM."""
    check_data(request.workload)
    check_decoder(request.settings.decoder, request.bench.device)
    check_settings(request.settings, request.workload.mode, request.bench.device)
    check_ranks(request.local_ranks)
    return msgspec.structs.replace(request, also=other_sources(request.also, request.workload))


def stalls_plan(request: StallsRequest, template: TrialSpec) -> StallsPlan:
    """The runs of the request, from what all of its trials have in common."""
    template = msgspec.structs.replace(
        template,
        kind="feed",
        settings=settled(request.settings, template),
        budget=Budget(seconds=request.trial_seconds),
    )
    return StallsPlan(template, also=request.also, cold=request.cold, repeats=request.repeats, seed=request.bench.seed)


def _differences(study: Study, request: StallsRequest) -> StallsAnswer:
    history = study.drive(stalls_plan(request, first_spec(study.workshop, request.workload)))
    try:
        answer = conclude_stalls(
            _typed(request, study),
            history,
            usable_cpus=usable_cpus(request.bench, request.local_ranks),
            seconds=study.seconds,
            simulated=study.workshop.runner.simulated,
        )
    except NothingMeasuredError as error:
        raise _too_little(study, error) from None
    return _named(answer, request.workload)


def _named(answer: StallsAnswer, workload: WorkloadSpec) -> StallsAnswer:
    """The data by the name that the user knows: their own code is recorded as if it read nothing."""
    name = data_of(workload)
    runs = {
        run: msgspec.structs.replace(each, source=name) if each.source == workload.data else each
        for run, each in answer.runs.items()
    }
    return msgspec.structs.replace(answer, data=name, runs=runs)


def _typed(request: StallsRequest, study: Study) -> StallsRequest:
    """The request in words that a remedy's command can repeat: as it was asked, not as it was settled here."""
    return msgspec.structs.replace(request, bench=study.workshop.asked)


def _hint(study: Study, answer: StallsAnswer) -> str | None:
    """The first remedy that can be typed."""
    commands = (f"{remedy.command}{study.store_option}" for remedy in answer.remedies if remedy.command is not None)
    return next(commands, None)


def _too_little(study: Study, error: NothingMeasuredError) -> TraindynoError:
    """Why the runs that must be there are not: the study was cut, or a trial failed."""
    if (cut := study.cut_before("difference was measured")) is not None:
        return cut
    failures = [record.failure for record in study.records if record.failure is not None]
    return NothingMeasuredError(f"{error.message}: {failures[-1].message}", failures[-1].remedy) if failures else error
