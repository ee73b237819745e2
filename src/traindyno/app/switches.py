"""Which switches make training faster, alone and together."""

import shlex
from collections.abc import Iterable

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.commands import settings_words, workload_words
from traindyno.analysis.probes import examples_in_data
from traindyno.analysis.switches import conclude_switches
from traindyno.app.anatomy import unused_workers
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.loader_workload import SYNTHETIC
from traindyno.app.situations import situation_of
from traindyno.app.specs import first_spec
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, SwitchesAnswer
from traindyno.core.errors import NothingMeasuredError, TraindynoError, UsageError
from traindyno.core.records import Budget, Settings, TrialSpec
from traindyno.core.requests import Bench, SwitchesRequest
from traindyno.core.setting_checks import check_settings
from traindyno.search.switches import SWITCHES, find_candidates
from traindyno.search.switches.strategy import SwitchesPlan
from traindyno.search.switches.switch import Situation


def switches(request: SwitchesRequest, context: Context) -> Document:
    """Try each switch against the baseline, then combine what helps."""
    find_candidates(_situation(request), request.only, request.skip)
    check_settings(request.settings, request.workload.mode, request.bench.device)
    with open_workshop(request.bench, context.store) as workshop:
        request = settled_switches(request, workshop.bench)
        check_switches(request)
        title = f"switches of {request.workload.model} at batch {request.settings.batch_size}"
        with open_study(workshop, context, request, f"{title}, on {workshop.bench.device}") as study:
            answer = _tried(study, request)
            measured = [record for record in study.records if record.measurement is not None]
            warnings = (*unused_workers(request.settings, request.workload.data != SYNTHETIC), *cautions(measured))
            return finished_document(study, request, answer, warnings, _hint(study, request, answer))


def switch_names(texts: str | Iterable[str]) -> tuple[str, ...]:
    """`precision,compile`, alone or several times; dashes may stand for underscores."""
    parts = [part for text in ([texts] if isinstance(texts, str) else texts) for part in str(text).split(",")]
    names = tuple(part.strip().replace("-", "_") for part in parts if part.strip())
    if parts and not names:
        raise UsageError("no switch is named", "name some, such as precision,compile, or leave the option away")
    if "max_autotune" in names:
        raise UsageError("max_autotune is a way to compile, and no switch of its own", "give --max-autotune instead")
    return names


def settled_switches(request: SwitchesRequest, bench: Bench) -> SwitchesRequest:
    """The request with the device that it means here, in the bench and in the baseline's settings."""
    settings = msgspec.structs.replace(request.settings, device=bench.device, precision=bench.precision)
    return msgspec.structs.replace(request, bench=bench, settings=settings)


def check_switches(request: SwitchesRequest) -> None:
    """Refuse a baseline that makes no sense, and switches asked for by name that mean nothing here."""
    check_settings(request.settings, request.workload.mode, request.bench.device)
    situation = _situation(request)
    useless = {name: why for name in request.only if (why := _reason_not(situation, name)) is not None}
    if useless:
        told = ", and ".join(f"{name} does not apply here: {why}" for name, why in useless.items())
        apply = [name for name in SWITCHES if _reason_not(situation, name) is None]
        raise UsageError(told, f"these apply: {', '.join(apply)}")


def _reason_not(situation: Situation, name: str) -> str | None:
    """Why no value of a switch can be tried; null if one can."""
    reasons = [candidate.skipped_because for candidate in SWITCHES[name].candidates(situation)]
    told = "; ".join(dict.fromkeys(filter(None, reasons)))
    return None if None in reasons else told or "there is nothing else to try"


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
    return situation_of(request.workload, request.settings, request.bench, max_autotune=request.max_autotune)


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
    device = ["--device", bench.device] if bench.device != "auto" else []
    command = ["traindyno", "anatomy", *workload_words(request.workload, bench), *device, *words]
    return f"{shlex.join(command)}{study.store_option}"
