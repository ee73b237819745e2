"""What a study of scaling may ask for, and what it means on this machine: devices, batches, threads."""

import math

import msgspec

from traindyno.app.device_counts import check_gpus, crowding_words, gpus_besides_first, threads_each
from traindyno.app.loader_workload import check_data, check_decoder
from traindyno.app.node_checks import check_nodes
from traindyno.app.processes import check_alone
from traindyno.app.workshop import SIMULATED_DEVICE
from traindyno.core.errors import UsageError
from traindyno.core.requests import Bench, ScaleRequest
from traindyno.core.setting_checks import check_settings
from traindyno.machine.gpu import cuda_index

SIMULATED_DEVICES = 4
PROCESSES = 2
SMALLEST_BATCH = 32
BATCHES = 4


def check_scale(request: ScaleRequest) -> None:
    """Refuse what could only fail later, or would mean nothing."""
    check_alone("start this command without it: `scale` starts torchrun for every one of its trials")
    if request.workload.mode != "train":
        raise UsageError(
            "a forward pass exchanges nothing between devices",
            "leave --mode infer away; `traindyno throughput --mode infer` measures one device",
        )
    if request.settings.accumulation_steps != 1:
        raise UsageError(
            "how many parts a batch is computed in is measured by an option of its own",
            "write --accumulation-steps 1,4 instead of --set accumulation_steps=4",
        )
    _check_numbers(request)
    check_nodes(request)
    _check_training(request)
    if request.from_loader:
        check_data(request.workload)
    check_decoder(request.settings.decoder, request.bench.device)
    check_settings(request.settings, request.workload.mode, request.bench.device)


def _check_numbers(request: ScaleRequest) -> None:
    if min(request.devices, default=1) < 1:
        raise UsageError("no devices cannot train anything", "counts start at 1: --devices 1,2,4")
    if min((*request.batches_per_device, *request.global_batches), default=1) < 1:
        raise UsageError("a batch has at least one example", "batch sizes start at 1")
    if not all(0 < size < math.inf for size in request.bucket_mib):
        raise UsageError("a bucket of gradients holds something", "sizes are above 0: --bucket-mb 1,25")
    if min(request.accumulations) < 1:
        raise UsageError("a batch is computed in at least one part", "counts start at 1: --accumulation-steps 1,4")
    if request.repeats < 1:
        raise UsageError("every point is measured at least once", "--repeats starts at 1")


def _check_training(request: ScaleRequest) -> None:
    """What is told about a whole training needs all of its parts."""
    if request.price_per_hour is not None and request.examples is None:
        raise UsageError(
            "a price per hour tells a cost only of a training of known length", "add --examples N --epochs E"
        )
    if (request.examples is None) != (request.epochs is None):
        missing = "--examples N" if request.examples is None else "--epochs E"
        raise UsageError("how long training takes needs the size of the set and the passes over it", f"add {missing}")
    if request.examples is not None and request.epochs is not None and not (request.examples > 0 < request.epochs):
        raise UsageError("a training has examples and passes over them", "give --examples and --epochs above 0")
    if request.rate_rule not in ("linear", "sqrt", "none"):
        raise UsageError(
            f"the rule {request.rate_rule!r} needs runs that learn", "use --lr-rule linear, sqrt or none here"
        )
    if request.learning_rate is not None and not 0 < request.learning_rate < math.inf:
        raise UsageError("a learning rate is above 0", "write it as --lr 0.1@32")


def settled_scale(request: ScaleRequest, bench: Bench, gpus: int) -> ScaleRequest:
    """The request with what was left open, as it means here. `gpus` are those that torch sees."""
    request = msgspec.structs.replace(request, bench=bench, devices=request.devices or _devices(bench, gpus))
    _check_devices(request, gpus)
    if not request.batches_per_device and not request.global_batches:
        request = msgspec.structs.replace(request, global_batches=_global_batches(request.devices))
    if request.learning_rate is not None and request.rate_batch is None:
        request = msgspec.structs.replace(request, rate_batch=_smallest_batch(request))
    if bench.device == "cpu" and request.settings.threads is None:
        settings = msgspec.structs.replace(request.settings, threads=threads_each(bench, _most_here(request)))
        request = msgspec.structs.replace(request, settings=settings)
    check_settings(request.settings, request.workload.mode, bench.device)
    return request


def further_gpus(request: ScaleRequest) -> tuple[str, ...]:
    """The GPUs besides the first that the most devices of this machine take: a group has the first ones there are."""
    return gpus_besides_first(request.bench.device, _most_here(request))


def crowding(request: ScaleRequest) -> tuple[str, ...]:
    """A warning where more processes than CPUs take turns on a machine."""
    return crowding_words(request.bench, _most_here(request))


def _most_here(request: ScaleRequest) -> int:
    """Fewer devices than there are nodes are all on this one."""
    return max(count if count < request.nodes else math.ceil(count / request.nodes) for count in request.devices)


def _devices(bench: Bench, gpus: int) -> tuple[int, ...]:
    """1 and on by doubling to all there are, all of them included; a named GPU alone; of a CPU two processes."""
    first = cuda_index(bench.device)
    others = SIMULATED_DEVICES if bench.device == SIMULATED_DEVICE else PROCESSES
    most = others if first is None else 1 if first else gpus
    return tuple(sorted({*(2**power for power in range(most.bit_length()) if 2**power <= most), most}))


def _check_devices(request: ScaleRequest, gpus: int) -> None:
    on_gpus = cuda_index(request.bench.device) is not None
    if request.bench.executor == "ray" and on_gpus and max(request.devices) > 1:
        raise UsageError(
            "a lane of a Ray cluster is one GPU, and a group of several does not fit into it",
            "leave --executor ray away; with --nodes other machines take part by `traindyno agent`",
        )
    fewer = f"--devices {','.join(map(str, _devices(request.bench, gpus)))}"
    check_gpus(request.bench.device, _most_here(request), gpus, fewer)


def _global_batches(devices: tuple[int, ...]) -> tuple[int, ...]:
    """From 32 on by doubling, all of which every count of devices divides."""
    share = math.lcm(*devices)
    smallest = share * math.ceil(SMALLEST_BATCH / share)
    return tuple(smallest * 2**power for power in range(BATCHES))


def _smallest_batch(request: ScaleRequest) -> int:
    """What a learning rate is for, if nobody says: the smallest batch in all."""
    weak = (batch * min(request.devices) for batch in request.batches_per_device)
    return min((*weak, *request.global_batches))
