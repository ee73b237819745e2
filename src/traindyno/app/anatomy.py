"""What a step is made of."""

import shlex
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import msgspec

from traindyno.analysis.anatomy import conclude_anatomy
from traindyno.analysis.anatomy_commands import next_command
from traindyno.analysis.anatomy_verdicts import anatomy_cautions
from traindyno.analysis.cautions import cautions
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import SYNTHETIC, check_data, check_decoder, data_of
from traindyno.app.specs import first_spec, settled
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import SIMULATED_DEVICE, open_workshop
from traindyno.core.answers import AnatomyAnswer, Document
from traindyno.core.errors import NothingMeasuredError, TraindynoError, UsageError
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.core.requests import AnatomyRequest, Bench
from traindyno.core.setting_checks import check_settings
from traindyno.core.sweeps import Sweep
from traindyno.report.exports import check_file
from traindyno.search.anatomy import AnatomyPlan
from traindyno.search.throughput import doubling


def anatomy(request: AnatomyRequest, context: Context) -> Document:
    """Take the step apart at every size, and conclude with what there is."""
    check_anatomy(request)
    with open_workshop(request.bench, context.store) as workshop:
        request = msgspec.structs.replace(request, bench=workshop.bench)
        check_anatomy(request)
        title = f"what a step of {request.workload.model} is made of, {feed_words(request)}"
        with open_study(workshop, context, request, f"{title}, on {workshop.bench.device}") as study:
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _taken_apart(study, request)
            typed = msgspec.structs.replace(request, bench=workshop.asked)
            hint = f"{shlex.join(next_command(typed, answer))}{study.store_option}"
            unused = unused_workers(request.settings, request.from_loader)
            warnings = (*unused, *anatomy_cautions(answer), *cautions(study.records))
            return finished_document(study, request, answer, warnings, hint)


def anatomy_sizes(sweep: Sweep) -> tuple[int, tuple[int, ...]]:
    """The batch size that the answer is about, the largest, and those to lay beside it."""
    if sweep.sizes is None and sweep.largest is None:
        raise UsageError("a step is taken apart at sizes that are named", "give one, or a list: 1,8,64 or 16..256")
    sizes = sweep.sizes or doubling(sweep.smallest, sweep.largest)
    return sizes[-1], sizes[:-1]


def loads_by_default(workload: WorkloadSpec) -> bool:
    """Stored data that is named is loaded. Whether a file of the user's has data is not known from outside."""
    return workload.data != SYNTHETIC


def check_anatomy(request: AnatomyRequest) -> None:
    """Refuse what could only fail later."""
    if request.from_loader:
        check_data(request.workload)
    check_decoder(request.settings.decoder, request.bench.device)
    for size in (request.settings.batch_size, *request.sizes):
        settings = msgspec.structs.replace(request.settings, batch_size=size)
        check_settings(settings, request.workload.mode, request.bench.device)
    if request.trace is not None:
        _check_trace(request.trace, request.bench)


def _check_trace(trace: str, bench: Bench) -> None:
    if bench.runner.startswith(SIMULATED_DEVICE):
        raise UsageError("simulated steps leave no trace", "leave --trace away, or run real trials")
    check_file(Path(trace), "trace.json")
    if not trace.endswith((".json", ".json.gz")):
        raise UsageError(f"{trace} is no name of a trace", "let it end with .json, or .json.gz")


def unused_workers(settings: Settings, loads: bool) -> tuple[str, ...]:
    """A warning of workers that were asked for where no loader feeds the steps."""
    if loads or not settings.num_workers:
        return ()
    count = "1 worker changes" if settings.num_workers == 1 else f"{settings.num_workers} workers change"
    return (f"--workers: {count} nothing here, for no loader feeds the steps.",)


def anatomy_plan(request: AnatomyRequest, template: TrialSpec) -> AnatomyPlan:
    """The trials of the request, from what all of its trials have in common."""
    template = msgspec.structs.replace(
        template,
        kind="anatomy",
        settings=settled(request.settings, template),
        budget=Budget(seconds=request.trial_seconds),
        feed=Feed(supply="loader" if request.from_loader else "cached"),
        trace_path=None if request.trace is None else str(Path(request.trace).resolve()),
    )
    return AnatomyPlan(template, sizes=request.sizes, repeats=request.repeats, seed=request.bench.seed)


def feed_words(request: AnatomyRequest) -> str:
    return f"fed by a loader of {data_of(request.workload)}" if request.from_loader else "fed from host memory"


def _taken_apart(study: Study, request: AnatomyRequest) -> AnatomyAnswer:
    history = study.drive(anatomy_plan(request, first_spec(study.workshop, request.workload)))
    try:
        return conclude_anatomy(
            request,
            history,
            trace=request.trace if _trace_written(study) else None,
            seconds=study.seconds,
            simulated=study.workshop.runner.simulated,
        )
    except NothingMeasuredError as error:
        raise _nothing(study, error) from None


def _trace_written(study: Study) -> bool:
    """Whether a trial that was to write a trace ended well, and its file is not from before the study."""
    begun = datetime.fromisoformat(study.row.created).timestamp()
    paths = [Path(record.spec.trace_path) for record in study.records if record.ok and record.spec.trace_path]
    return any(path.is_file() and path.stat().st_mtime >= begun for path in paths)


def _nothing(study: Study, error: NothingMeasuredError) -> TraindynoError:
    """Why there is no anatomy: the study was cut, or every trial failed."""
    if (cut := study.cut_before("step was taken apart")) is not None:
        return cut
    failures = [record.failure for record in study.records if record.failure is not None]
    return NothingMeasuredError(f"{error.message}: {failures[-1].message}", failures[-1].remedy) if failures else error
