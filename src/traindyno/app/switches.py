"""Which switches make training faster, alone and together."""

import shlex

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.commands import settings_words, workload_words
from traindyno.analysis.probes import examples_in_data
from traindyno.analysis.switches import conclude_switches
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.loader_workload import usable_cpus
from traindyno.app.max_batch import first_spec
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, SwitchesAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError
from traindyno.core.records import Budget, Settings, TrialSpec
from traindyno.core.requests import Bench, SwitchesRequest
from traindyno.search.switches import find_candidates
from traindyno.search.switches.strategy import SwitchesPlan
from traindyno.search.switches.switch import Situation

CPP_COMPILERS = ("c++", "g++", "clang++")


def switches(request: SwitchesRequest, context: Context) -> Document:
    """Try each switch against the baseline, then combine what helps."""
    find_candidates(_situation(request), request.only, request.skip)
    with open_workshop(request.bench, context.store) as workshop:
        request = settled(request, workshop.bench)
        title = f"switches of {request.workload.model} at batch {request.settings.batch_size}"
        with open_study(workshop, context, request, f"{title}, on {workshop.bench.device}") as study:
            answer = _tried(study, request)
            measured = [record for record in study.records if record.measurement is not None]
            return finished_document(study, request, answer, cautions(measured), _hint(study, request, answer))


def settled(request: SwitchesRequest, bench: Bench) -> SwitchesRequest:
    """The request with the device that it means here, in the bench and in the baseline's settings."""
    settings = msgspec.structs.replace(request.settings, device=bench.device, precision=bench.precision)
    return msgspec.structs.replace(request, bench=bench, settings=settings)


def switches_plan(request: SwitchesRequest, template: TrialSpec) -> SwitchesPlan:
    """The trials of the request, from what all of them have in common."""
    template = msgspec.structs.replace(
        template, settings=request.settings, budget=Budget(seconds=request.trial_seconds)
    )
    return SwitchesPlan(
        template,
        find_candidates(_situation(request), request.only, request.skip),
        combine=request.combine,
        check_losses=request.check_losses,
        repeats=request.repeats,
        seed=request.bench.seed,
    )


def _situation(request: SwitchesRequest) -> Situation:
    return Situation(
        workload=request.workload,
        baseline=request.settings,
        usable_cpus=max(1, int(usable_cpus(request.bench, local_ranks=1))),
        physical_cores=_physical_cores(),
        has_cpp_compiler=_has_cpp_compiler(),
        max_autotune=request.max_autotune,
    )


def _physical_cores() -> int | None:
    import psutil

    cores: int | None = psutil.cpu_count(logical=False)
    return cores


def _has_cpp_compiler() -> bool:
    import os
    import shutil

    named = os.environ.get("CXX")
    return any(shutil.which(name) for name in ((named,) if named else CPP_COMPILERS))


def _tried(study: Study, request: SwitchesRequest) -> SwitchesAnswer:
    plan = switches_plan(request, first_spec(study.workshop, request.workload))
    history = study.drive(plan)
    findings = plan.findings(history)
    if findings.baseline_failure is not None:
        failure = findings.baseline_failure
        raise NothingMeasuredError(f"the baseline itself does not run: {failure.message}", failure.remedy)
    try:
        return conclude_switches(
            request,
            findings,
            epoch_examples=examples_in_data(history),
            seconds=study.seconds,
            simulated=study.workshop.runner.simulated,
        )
    except NothingMeasuredError as error:
        raise _too_little(study, error) from None


def _too_little(study: Study, error: NothingMeasuredError) -> TraindynoError:
    """Why no pair is there: the study was cut, or all of them failed."""
    if (cut := study.cut_before("switch was measured")) is not None:
        return cut
    failures = [record.failure for record in study.records if record.failure is not None]
    return NothingMeasuredError(f"{error.message}: {failures[-1].message}", failures[-1].remedy) if failures else error


def _hint(study: Study, request: SwitchesRequest, answer: SwitchesAnswer) -> str:
    """How the batch size does with what is recommended: memory and launching are not what they were."""
    settings: Settings = msgspec.structs.replace(request.settings, **answer.recommended)
    bench: Bench = msgspec.structs.replace(study.workshop.asked, precision=settings.precision)
    words = ["--batch-size", str(settings.batch_size), *settings_words(settings)]
    command = ["traindyno", "anatomy", *workload_words(request.workload, bench), *words]
    return f"{shlex.join(command)}{study.store_option}"
