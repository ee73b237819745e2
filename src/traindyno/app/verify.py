"""Whether a gain that `find` promised is there: what it recommended and its baseline by turns, now and here."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.analysis.find.verify import conclude_verify
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.fed import drive_fed
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.loader_workload import SYNTHETIC, check_decoder
from traindyno.app.source_checks import check_source, stored
from traindyno.app.sources import NamedAgain, is_same_code
from traindyno.app.specs import first_spec
from traindyno.app.study import Study, open_study
from traindyno.app.verify_data import DATA_OPTION, is_given, places_for, with_data_here
from traindyno.app.workshop import SIMULATED_DEVICE, open_workshop
from traindyno.core.answers import Document, VerifyAnswer
from traindyno.core.errors import NothingMeasuredError, UsageError
from traindyno.core.records import Budget, Settings, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, VerifyRequest
from traindyno.core.setting_checks import UNKNOWN_DEVICE, check_settings
from traindyno.core.settings_file import settings_of
from traindyno.core.setups import Setup
from traindyno.machine.settings_files import read_settings_file
from traindyno.search.find.verify import VerifyPlan


def verify(request: VerifyRequest, context: Context) -> Document:
    """Let the two ways to train take turns in fresh processes."""
    check_verify(request)
    with open_workshop(request.bench, context.store) as workshop:
        request = settled_verify(request, workshop.bench)
        check_verify(request)
        title = f"whether the gain for {request.workload.model} holds on {workshop.bench.device}"
        with open_study(workshop, context, request, title) as study:
            study.workshop = replace(workshop, runner=RoomyRunner(workshop.runner, study.records))
            answer = _measured(study, request)
            return finished_document(study, request, answer, cautions(study.records), hint=None)


def verify_request(
    path: str, bench: Bench, named_again: NamedAgain, *, repeats: int, trial_seconds: float, data: Sequence[str] = ()
) -> VerifyRequest:
    """The question that a settings file asks. Code from a file runs only if the user names that file now.

    `data` says where the file's data lies here: one source, or `OLD=NEW` for each.
    """
    file = read_settings_file(Path(path))
    if file.workload is None or file.baseline is None:
        raise UsageError(
            f"{path} does not say what its settings were found for, and against which baseline",
            "verify takes a file that `traindyno find --export-toml FILE` wrote",
        )
    workload = _named(file.workload, named_again)
    # A file written by hand may name no more than what differs from its baseline.
    settings = settings_of(file, file.baseline.settings)
    baseline, recommended = with_data_here(
        file.baseline,
        Setup(data=file.data or workload.data, settings=settings),
        data,
        path,
        is_there=_must_be_there(bench),
    )
    return VerifyRequest(
        workload=msgspec.structs.replace(workload, data=baseline.data),
        bench=bench,
        baseline=baseline,
        recommended=recommended,
        promised_speedup=file.speedup,
        promised_ci95=file.speedup_ci95,
        promise_confirmed=file.confirmed,
        promise_simulated=file.simulated,
        promise_others_cpu_share=file.others_cpu_share,
        repeats=repeats,
        trial_seconds=trial_seconds,
        file=path,
        data=tuple(data),
    )


def _named(workload: WorkloadSpec, named_again: NamedAgain) -> WorkloadSpec:
    """The workload with the user's own code, wherever that lies now, if it is what it was."""
    for model, source_sha256 in named_again:
        if not workload.runs_user_code and model != workload.model:
            raise UsageError(f"these settings were found for {workload.model}, not for {model}", "leave --model away")
        if workload.runs_user_code and not is_same_code(workload, model, source_sha256):
            changed = "has changed since these settings were found"
            other = "is not the code that these settings were found for"
            raise UsageError(f"{model} {changed if model == workload.model else other}", "run `traindyno find` with it")
        return msgspec.structs.replace(workload, model=model)
    if workload.runs_user_code:
        raise UsageError(
            f"these settings were found for code from {workload.model}, which must be named again",
            f"add --model {shlex.quote(workload.model)}",
        )
    return workload


def check_verify(request: VerifyRequest) -> None:
    """Refuse what could only fail later: settings of another kind of device, and data that is not here."""
    arms = (request.baseline, request.recommended)
    for setup in arms:
        check_settings(setup.settings, request.workload.mode, UNKNOWN_DEVICE)
        _check_device(setup.settings, request)
    for data in (setup.data for setup in arms if setup.data != SYNTHETIC):
        _check_data(data, request)


def _check_data(data: str, request: VerifyRequest) -> None:
    """Whoever named a source is told that it is not there: the file, or the user when the study began."""
    is_there = _must_be_there(request.bench)
    if is_given(data, request.data):
        check_source(data, DATA_OPTION, is_there=is_there)
    else:
        here = f"say where it lies here: {places_for([stored(data)])}"
        check_source(data, str(request.file or "the file"), is_there=is_there, hint=here)


def _must_be_there(bench: Bench) -> bool:
    return not bench.runner.startswith(SIMULATED_DEVICE)


def _check_device(settings: Settings, request: VerifyRequest) -> None:
    device = request.bench.device
    try:
        check_decoder(settings.decoder, device)
        check_settings(settings, request.workload.mode, device)
    except UsageError as error:
        there = "a GPU" if device.partition(":")[0] == "cpu" else "a CPU"
        raise UsageError(
            f"the settings in {request.file} were found for {there}, and do not apply here: {error.message}",
            f"name {there} with --device, or let `traindyno find` look for settings of this device",
        ) from None


def settled_verify(request: VerifyRequest, bench: Bench) -> VerifyRequest:
    """The request on the device that it means here."""
    baseline, recommended = (
        msgspec.structs.replace(setup, settings=msgspec.structs.replace(setup.settings, device=bench.device))
        for setup in (request.baseline, request.recommended)
    )
    return msgspec.structs.replace(request, bench=bench, baseline=baseline, recommended=recommended)


def verify_plan(request: VerifyRequest, template: TrialSpec, *, has_data: bool) -> VerifyPlan:
    """The rounds of the request, from what all of its trials have in common."""
    return VerifyPlan(
        msgspec.structs.replace(template, budget=Budget(seconds=request.trial_seconds)),
        request.baseline,
        request.recommended,
        has_data=has_data,
        repeats=request.repeats,
        seed=request.bench.seed,
    )


def _measured(study: Study, request: VerifyRequest) -> VerifyAnswer:
    template = first_spec(study.workshop, request.workload)
    plan, history = drive_fed(
        study, request.workload, lambda has_data: verify_plan(request, template, has_data=has_data)
    )
    try:
        return conclude_verify(
            request,
            plan.entries(history),
            trials=len(history),
            seconds=study.seconds,
            simulated=study.workshop.runner.simulated,
        )
    except NothingMeasuredError as error:
        raise study.cut_before("round was finished") or error from None
