"""The fastest settings on this machine, proved against the baseline."""

from dataclasses import replace
from pathlib import Path

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.find.answer import conclude_find
from traindyno.analysis.find.steadiness import disagreements
from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.switch_candidates import Candidate
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.fed import drive_fed
from traindyno.app.find_checks import check_find, check_written
from traindyno.app.find_hints import export_option, find_hint
from traindyno.app.find_objective import recipe_of
from traindyno.app.find_words import plan_lines
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import data_of
from traindyno.app.own_loader import telling_own_loader
from traindyno.app.preparing import PREPARED, PreparingRunner
from traindyno.app.specs import first_spec
from traindyno.app.stopping import is_broken
from traindyno.app.study import Study, open_study, stops_study
from traindyno.app.surroundings import situation_within, surroundings_of
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, FindAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError
from traindyno.core.events import Notice
from traindyno.core.records import Budget, TrialRecord, TrialSpec
from traindyno.core.requests import Bench, FindRequest, NewBudget, Surroundings
from traindyno.core.setups import Setup
from traindyno.search.find.goal import Goal
from traindyno.search.find.plan import FindPlan
from traindyno.search.switches import SWITCHES, find_candidates


def find(request: FindRequest, context: Context, settings_path: Path | None = None) -> Document:
    """Search within the budget, and answer with the best found by then. `settings_path` is where it is exported to."""
    request = check_find(request)
    if settings_path is not None:
        check_written(request)
    with open_workshop(request.bench, context.store) as workshop:
        request = check_find(settled_find(request, workshop.bench))
        around = request.surroundings or surroundings_of(request)
        request = msgspec.structs.replace(request, surroundings=around)
        context = replace(context, emit=telling_own_loader(context.emit, request.settings))
        with open_study(workshop, context, request, find_title(request)) as study:
            study.workshop = replace(workshop, runner=_runner(study, request, context))
            answer = _searched(study, request, context, export_option(settings_path))
            hint = find_hint(study, request, answer, context, settings_path)
            warnings = (*cautions(study.records), *disagreements(study.records), *_untold(request, answer))
            document = finished_document(study, request, answer, warnings, hint)
            return msgspec.structs.replace(document, hint=hint)


def _untold(request: FindRequest, answer: FindAnswer) -> tuple[str, ...]:
    if request.epochs is None or answer.training_time is not None:
        return ()
    return ("How long --epochs take is not told: the data does not say its length. Give --epoch-examples.",)


def find_title(request: FindRequest) -> str:
    return (
        f"the fastest way to train {request.workload.model} on {data_of(request.workload)}, on {request.bench.device}"
    )


def settled_find(request: FindRequest, bench: Bench) -> FindRequest:
    """The request with the device that it means here, in the bench and in the baseline's settings."""
    settings = msgspec.structs.replace(request.settings, device=bench.device, precision=bench.precision)
    return msgspec.structs.replace(request, bench=bench, settings=settings)


def find_plan(request: FindRequest, template: TrialSpec, *, has_data: bool) -> FindPlan:
    """The search of the request, from what all of its trials have in common."""
    template = msgspec.structs.replace(
        template, settings=request.settings, budget=Budget(seconds=request.trial_seconds)
    )
    return FindPlan(template, find_goal(request, has_data=has_data))


def find_goal(request: FindRequest, *, has_data: bool) -> Goal:
    """What the search may change here, and what it has for it."""
    bench, data = request.bench, request.workload.data
    around = request.surroundings or surroundings_of(request)
    return Goal(
        baseline=Setup(data=data, settings=request.settings),
        has_data=has_data,
        usable_cpus=around.usable_cpus,
        candidates=_candidates(request, around),
        decoders=(request.settings.decoder,) if "decoder" in request.keep else around.decoders,
        also=request.also,
        pixels=around.pixels,
        prepare=None if request.prepare is None else f"{PREPARED}{request.prepare}",
        is_prepared=around.is_prepared,
        keep=request.keep,
        batch_range=request.batch_range,
        room=LoaderRoom(
            shared_free_bytes=around.shared_free_bytes,
            available_bytes=around.available_bytes,
            open_files=around.open_files,
        ),
        margin=request.margin,
        repeats=request.repeats,
        budget_seconds=bench.time_budget_seconds,
        budgets=request.budgets,
        seed=bench.seed,
        objective=request.objective,
        noise_scale=request.noise_scale,
        recipe=recipe_of(request),
    )


def _candidates(request: FindRequest, around: Surroundings) -> tuple[Candidate, ...]:
    """The switches that are not kept."""
    skip = [name for name in request.keep if name in SWITCHES]
    if len(skip) == len(SWITCHES):
        return ()
    return find_candidates(situation_within(around, request), skip=skip)


def _runner(study: Study, request: FindRequest, context: Context) -> RoomyRunner | PreparingRunner:
    roomy = RoomyRunner(study.workshop.runner, study.records)
    if request.prepare is None:
        return roomy
    return PreparingRunner(
        roomy, request.workload, request.prepare, context.emit, lambda: study.seconds_left, study.records
    )


def _searched(study: Study, request: FindRequest, context: Context, export: str) -> FindAnswer:
    template = first_spec(study.workshop, request.workload)
    searching = _with_time_of_rest(study, request, context)

    def plan_of(has_data: bool) -> FindPlan:
        plan = find_plan(searching, template, has_data=has_data)
        for line in plan_lines(request, plan, has_data=has_data):
            context.emit(Notice(level="info", text=line))
        return plan

    def stops(record: TrialRecord) -> bool:
        """Code and data that have run once are not to blame for settings that they cannot take, unless they broke."""
        return stops_study(record) and (not any(each.ok for each in study.records) or is_broken(study.records))

    plan, history = drive_fed(study, request.workload, plan_of, stops)
    findings = plan.findings(history)
    failure = None if findings.baseline_failure is None else findings.baseline_failure.failure
    if failure is not None:
        raise NothingMeasuredError(f"the baseline itself does not run: {failure.message}", failure.remedy)
    simulated = study.workshop.runner.simulated
    try:
        return conclude_find(request, findings, history=history, seconds=study.seconds, simulated=simulated)
    except NothingMeasuredError as error:
        raise _too_little(study, error, export) from None


def _with_time_of_rest(study: Study, request: FindRequest, context: Context) -> FindRequest:
    """With what the rest may take now, if that was said anew; the study remembers it for when it is gone on with."""
    asked = study.row.request
    assert isinstance(asked, FindRequest)
    if context.time_budget_seconds is None:
        return request
    budgets = (*asked.budgets, NewBudget(trials=len(study.records), seconds=context.time_budget_seconds))
    study.workshop.ledger.amend_request(study.row.name, msgspec.structs.replace(asked, budgets=budgets))
    bench = msgspec.structs.replace(request.bench, time_budget_seconds=asked.bench.time_budget_seconds)
    return msgspec.structs.replace(request, bench=bench, budgets=budgets)


def _too_little(study: Study, error: NothingMeasuredError, export: str) -> TraindynoError:
    """Why not even the baseline was measured: the study was cut, or all trials failed."""
    if (cut := study.cut_before("baseline was measured", export)) is not None:
        return cut
    failures = [record.failure for record in study.records if record.failure is not None]
    return NothingMeasuredError(f"{error.message}: {failures[-1].message}", failures[-1].remedy) if failures else error
