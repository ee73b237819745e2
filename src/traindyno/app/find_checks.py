"""What `find` is asked for must make sense before anything is measured."""

import math
from pathlib import Path

import msgspec

from traindyno.app.find_objective import check_objective
from traindyno.app.loader_workload import (
    HOW_TO_NAME_DATA,
    MEMORY,
    SYNTHETIC,
    check_decoder,
    check_ranks,
    has_data,
    other_sources,
)
from traindyno.app.preparing import PREPARED, check_folder
from traindyno.app.source_checks import check_source
from traindyno.core.errors import UsageError
from traindyno.core.keeping import AUGMENTATION, DATA
from traindyno.core.requests import FindRequest
from traindyno.core.setting_checks import check_settings
from traindyno.core.toml_text import toml_lines, toml_value


def check_find(request: FindRequest, *, data_is_there: bool = True) -> FindRequest:
    """The request with its other sources written out; what contradicts itself, or could only fail later, is refused.

    Data that is made when the study begins need not be there before.
    """
    check_decoder(request.settings.decoder, request.bench.device)
    check_settings(request.settings, request.workload.mode, request.bench.device)
    check_ranks(request.local_ranks)
    _check_batch(request)
    _check_training(request)
    _check_data(request, data_is_there)
    check_objective(request, data_is_there=data_is_there and not _simulated(request))
    _check_sources(request)
    _check_preparing(request)
    return msgspec.structs.replace(request, also=other_sources(request.also, request.workload))


def check_written(request: FindRequest) -> None:
    """Refuse names that a settings file cannot hold while nothing has been measured yet."""
    toml_lines(msgspec.to_builtins(request.workload))
    toml_value([*request.also, *([] if request.prepare is None else [request.prepare])])


def _check_batch(request: FindRequest) -> None:
    if request.batch_range is None:
        return
    low, high = request.batch_range
    if "batch_size" in request.keep:
        raise UsageError("the batch cannot both be kept and change", "leave --keep batch_size or --batch-range away")
    if not 1 <= low <= high:
        raise UsageError(f"{low}..{high} is no range of batch sizes", "write --batch-range 64..512")
    if not low <= request.settings.batch_size <= high:
        raise UsageError(
            f"the baseline's batch of {request.settings.batch_size} lies outside of {low}..{high}",
            "change --batch-size or --batch-range: the recommended batch is compared with the baseline's",
        )


def _check_training(request: FindRequest) -> None:
    for name, value in (("epochs", request.epochs), ("learning_rate", request.learning_rate)):
        if value is not None and not 0 < value < math.inf:
            raise UsageError(f"{name.replace('_', ' ')} of {value:g} cannot be meant", "write a number above 0")
    if request.epochs is not None and request.epoch_examples is None and not has_data(request.workload):
        raise UsageError(
            "without stored data nobody knows how many examples an epoch has, and so how long --epochs take",
            "give --epoch-examples N, or leave --epochs away",
        )
    if request.repeats < 1:
        raise UsageError("at least one round is needed", "--repeats starts at 1")


def _check_data(request: FindRequest, is_there: bool) -> None:
    if request.workload.data != SYNTHETIC:
        check_source(request.workload.data, "--data", is_there=is_there and not _simulated(request))


def _check_sources(request: FindRequest) -> None:
    if request.also and DATA in request.keep:
        raise UsageError("the data cannot both be kept and come from elsewhere", "leave --keep data or --also away")
    if request.also and request.workload.data == SYNTHETIC and not request.workload.runs_user_code:
        raise UsageError("no stored data was named that --also could have another source for", HOW_TO_NAME_DATA)
    for source in request.also:
        if source != MEMORY:
            check_source(source, "--also", is_there=not _simulated(request))
            if source.startswith(PREPARED) and not _simulated(request):
                _check_prepared(source)


def _check_prepared(source: str) -> None:
    from traindyno.worker.data.prepared_format import read_header

    folder = source.removeprefix(PREPARED)
    if read_header(Path(folder).expanduser()) is None:
        raise UsageError(
            f"--also names {source}, and {folder} holds no prepared data",
            f"prepare it with `traindyno data prepare SOURCE {folder}`, or let find do so with --prepare FOLDER",
        )


def _check_preparing(request: FindRequest) -> None:
    if request.prepare is None:
        return
    for name in (AUGMENTATION, DATA):
        if name in request.keep:
            raise UsageError(
                f"to prepare the data changes the {name}, which is to be kept",
                f"leave --prepare or --keep {name} away",
            )
    kind = request.workload.data.partition(":")[0]
    if kind in ("synthetic", "memory", PREPARED.rstrip(":")):
        why = {"synthetic": "there is no stored data", "memory": "memory: is read from what is stored elsewhere"}
        raise UsageError(
            f"{why.get(kind, 'the data is prepared already')}: nothing can be prepared",
            "leave --prepare away, or name data such as folder:PATH",
        )
    if not _simulated(request):
        check_folder(request.workload.data, Path(request.prepare).expanduser())


def _simulated(request: FindRequest) -> bool:
    return request.bench.runner.startswith("simulated")
