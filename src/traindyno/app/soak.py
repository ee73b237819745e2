"""How training goes on for minutes."""

import math
import shlex
from dataclasses import replace

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.commands import device_words, settings_words, workload_words
from traindyno.analysis.soak import conclude_soak
from traindyno.app.anatomy import unused_workers
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import check_data, check_decoder
from traindyno.app.specs import first_spec, settled
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop, with_settled
from traindyno.core.answers import Document, SoakAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError, UsageError
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, TrialSpec
from traindyno.core.requests import Bench, SoakRequest
from traindyno.core.setting_checks import check_settings
from traindyno.core.units import format_seconds
from traindyno.report.reproduce import request_command
from traindyno.runner.protocol import Deadlines
from traindyno.search.once import Once

# Building, compiling and starting a loader come on top of the run.
SPARE_SECONDS = 1800.0


def soak(request: SoakRequest, context: Context) -> Document:
    """One long trial, and what it shows; one that is stopped early still shows what it had."""
    check_soak(request)
    asked = request
    with open_workshop(with_time(request), context.store) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        check_soak(request)
        title = f"training {request.workload.model} for {format_seconds(request.run_seconds)}"
        with open_study(workshop, context, request, f"{title}, on {workshop.bench.device}") as study:
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _long_run(study, request)
            warnings = (*unused_workers(request.settings, request.from_loader), *cautions(study.records))
            document = finished_document(study, request, answer, warnings, _hint(study, request, answer))
            return msgspec.structs.replace(document, hint=_whole_run(study, asked) or document.hint)


def check_soak(request: SoakRequest) -> None:
    """Refuse what cannot be run before anything is."""
    if not 0 < request.run_seconds < math.inf:
        raise UsageError("a run needs some time, and an end", "give --minutes above 0")
    check_settings(request.settings, request.workload.mode, request.bench.device)
    timeout = request.bench.trial_timeout_seconds
    if timeout is not None and timeout < request.run_seconds:
        raise UsageError(
            f"the run of {format_seconds(request.run_seconds)} is longer than --trial-timeout allows",
            "leave --trial-timeout away, or make it longer",
        )
    if request.from_loader:
        check_data(request.workload)
        check_decoder(request.settings.decoder, request.bench.device)


def with_time(request: SoakRequest) -> Bench:
    """The bench, with a limit for the trial that is no shorter than the run."""
    needed = request.run_seconds + SPARE_SECONDS
    if request.bench.trial_timeout_seconds is not None or needed <= Deadlines().trial:
        return request.bench
    return with_settled(request.bench, trial_timeout_seconds=needed)


def soak_plan(request: SoakRequest, template: TrialSpec) -> Once:
    """The one trial of the request, from what all trials have in common."""
    spec = msgspec.structs.replace(
        template,
        kind="soak",
        settings=settled(request.settings, template),
        budget=Budget(seconds=request.run_seconds),
        feed=Feed(supply="loader" if request.from_loader else "resident"),
    )
    return Once(spec, f"training for {format_seconds(request.run_seconds)}")


def _long_run(study: Study, request: SoakRequest) -> SoakAnswer:
    history = study.drive(soak_plan(request, first_spec(study.workshop, request.workload)))
    measured = [record for record in history if record.measurement is not None]
    if not measured:
        raise _nothing(study)
    return conclude_soak(request, measured[-1], seconds=study.seconds, simulated=study.workshop.runner.simulated)


def _nothing(study: Study) -> TraindynoError:
    """Why there is no answer: the study was cut before the run began, or the run failed."""
    if (cut := study.cut_before("step was measured")) is not None:
        return cut
    failure = study.records[-1].failure
    assert failure is not None
    return NothingMeasuredError(f"the run failed: {failure.message}", failure.remedy)


def _hint(study: Study, request: SoakRequest, answer: SoakAnswer) -> str | None:
    """Waiting for data is looked into next; else there is nothing to type."""
    if not (request.from_loader and any("waiting for batches" in verdict for verdict in answer.verdicts)):
        return None
    words = ["--batch-size", str(request.settings.batch_size), *settings_words(request.settings, always_workers=True)]
    asked = study.workshop.asked
    options = [*workload_words(request.workload, asked), *device_words(asked), *words]
    return f"{shlex.join(['traindyno', 'stalls', *options])}{study.store_option}"


def _whole_run(study: Study, asked: SoakRequest) -> str | None:
    """The command whose time budget is long enough, for a run that was cut: resumed, it would be cut again."""
    budget = asked.bench.time_budget_seconds
    if study.cut is None or budget is None or (study.cut == "interrupted" and budget > asked.run_seconds):
        return None
    bench = msgspec.structs.replace(asked.bench, time_budget_seconds=asked.run_seconds + SPARE_SECONDS)
    return f"{request_command(msgspec.structs.replace(asked, bench=bench))}{study.store_option}"
