"""What more devices gain."""

from contextlib import ExitStack
from dataclasses import replace

import msgspec

from traindyno.analysis.cautions import cautions
from traindyno.app.anatomy import unused_workers
from traindyno.app.context import Context
from traindyno.app.documents import finished_document
from traindyno.app.loader_room import RoomyRunner
from traindyno.app.nodes import Machines, gathered
from traindyno.app.scale_checks import check_scale, crowding, further_gpus, settled_scale
from traindyno.app.scale_hints import scale_hint
from traindyno.app.specs import first_spec, settled
from traindyno.app.study import Study, open_study
from traindyno.app.workshop import open_workshop
from traindyno.core.answers import Document, ScaleAnswer
from traindyno.core.errors import UsageError
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, TrialSpec
from traindyno.core.requests import ScaleRequest
from traindyno.core.units import count_of
from traindyno.machine.locks import device_lock
from traindyno.search.scale import ScaleSweep, points_of


def scale(request: ScaleRequest, context: Context) -> Document:
    """Measure every way to spread a batch over devices, and say what the devices gain and lose."""
    check_scale(request)
    with open_workshop(request.bench, context.store) as workshop, ExitStack() as locks:
        request = settled_scale(request, workshop.bench, len(workshop.reader.gpus()))
        sweep, left_out = scale_sweep(request, first_spec(workshop, request.workload))
        for gpu in further_gpus(request):
            locks.enter_context(device_lock(gpu, workshop.reader))
        title = f"scaling of {request.workload.model}, {devices_words(request)}"
        with (
            gathered(workshop, request, context) as machines,
            open_study(machines.workshop, context, request, title) as study,
        ):
            study.workshop = replace(workshop, runner=RoomyRunner(machines.workshop.runner, study.records))
            answer = _concluded(study, request, sweep, machines)
            hint = f"{scale_hint(request, answer, workshop.asked)}{study.store_option}"
            unused = unused_workers(request.settings, request.from_loader)
            warnings = (*left_out, *machines.warnings, *crowding(request), *unused, *cautions(study.records))
            return finished_document(study, request, answer, warnings, hint)


def scale_sweep(request: ScaleRequest, template: TrialSpec) -> tuple[ScaleSweep, tuple[str, ...]]:
    """The trials of the request, from what all of its trials have in common; and what was left out, in sentences."""
    points, left_out = points_of(request)
    if not points:
        raise UsageError(
            "there is nothing to measure, for the batches do not divide as they are asked to",
            " ".join((*left_out[:1], "Choose others: any number of devices can have --batch-per-device 32.")),
        )
    template = msgspec.structs.replace(
        template,
        kind="scale",
        settings=settled(request.settings, template),
        budget=Budget(seconds=request.trial_seconds),
        feed=Feed(supply="loader" if request.from_loader else "resident"),
    )
    return ScaleSweep(template, points, request.repeats, request.bench.seed), left_out


def devices_words(request: ScaleRequest) -> str:
    """`on 1, 2 and 4 GPUs`, `on 1 and 2 processes of 1 thread each`, `on 1 and 8 GPUs, over 2 machines`."""
    *first, last = map(str, request.devices)
    counts = f"{', '.join(first)} and {last}" if first else last
    kind = {"cpu": "process", "simulated": "simulated device"}.get(request.bench.device, "GPU")
    threads = request.settings.threads
    each = f" of {count_of(threads, 'thread')} each" if threads is not None else ""
    plural = kind if request.devices == (1,) else "processes" if kind == "process" else f"{kind}s"
    over = f", over {request.nodes} machines" if request.nodes > 1 else ""
    return f"on {counts} {plural}{each}{over}"


def _concluded(study: Study, request: ScaleRequest, sweep: ScaleSweep, machines: Machines) -> ScaleAnswer:
    from traindyno.analysis.scaling.conclude import conclude_scale

    history = machines.drive(study, sweep)
    if not any(record.ok for record in history) and (cut := study.cut_before("point was measured")) is not None:
        raise cut
    return conclude_scale(request, history, seconds=study.seconds, simulated=study.workshop.runner.simulated)
