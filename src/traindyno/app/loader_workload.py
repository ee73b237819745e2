"""What a loader study loads, and whether it feeds a model: settled before anything runs."""

from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.loading import Decoder
from traindyno.core.records import WorkloadSpec, is_user_file
from traindyno.core.requests import Bench, LoaderRequest
from traindyno.machine.cpus import usable_cpus as cpus_of_machine
from traindyno.runner.profile import parse_profile

NO_MODEL = ""
SYNTHETIC = "synthetic:"
MEMORY = "memory:"
HOW_TO_NAME_DATA = (
    "name it with --data, such as folder:PATH; "
    "`traindyno data make PATH --like imagenet --images 2000` makes a set to try with"
)


class Loaded(Record, frozen=True):
    """The model (or file of the user's own) and the data of a workload, as its record names them."""

    model: str
    data: str
    with_model: bool


def loaded(model: str | None, data: str | None) -> Loaded:
    """What `--model` and `--data` mean together. Data from `file.py:function` is the user's own dataset or loader."""
    if data is None or not is_user_file(data):
        return Loaded(model=model or NO_MODEL, data=data or SYNTHETIC, with_model=model is not None)
    if model not in (None, data):
        raise UsageError(
            f"the data of {data} can only feed its own model, not {model}",
            f"give --model {data} and leave --data away, or leave --model away to measure the loader alone",
        )
    return Loaded(model=data, data=SYNTHETIC, with_model=model is not None)


def has_data(workload: WorkloadSpec) -> bool:
    """Whether there is something stored to load, or code of the user's that may load it."""
    return workload.data != SYNTHETIC or workload.runs_user_code


def check_data(workload: WorkloadSpec) -> None:
    """A study of loading needs something to load."""
    if not has_data(workload):
        raise UsageError("there is nothing to load: no stored data was named", HOW_TO_NAME_DATA)


def check_decoder(decoder: Decoder | None, device: str, with_model: bool = True) -> None:
    """nvJPEG decodes on the GPU, as a part of feeding a model there: a loader alone would only read and pack."""
    others = "choose another --decoder: pil, torchvision or simplejpeg"
    if decoder == "nvjpeg" and not with_model:
        raise UsageError("nvjpeg decodes on the GPU, which a loader alone does not use", f"name a --model, or {others}")
    if decoder == "nvjpeg" and device == "cpu":
        raise UsageError(
            "nvjpeg decodes on a GPU, and this would run on the CPU", f"name a GPU with --device, or {others}"
        )


def check_ranks(local_ranks: int) -> None:
    if local_ranks < 1:
        raise UsageError("at least one process trains here", "--local-ranks starts at 1")


def other_sources(also: tuple[str, ...], workload: WorkloadSpec) -> tuple[str, ...]:
    """Further sources of the same examples, written out: `memory:` alone means the data itself, held in RAM."""
    if MEMORY in also and workload.data == SYNTHETIC:
        raise UsageError(
            "data of your own code cannot be held in memory from outside",
            "leave --also memory: away, or let your dataset hold its examples itself",
        )
    written_out = (f"{MEMORY}{workload.data}" if source == MEMORY else source for source in also)
    return tuple(dict.fromkeys(source for source in written_out if source != workload.data))


def check_loader(request: LoaderRequest) -> None:
    """Refuse what the study would have to leave out in silence."""
    check_data(request.workload)
    check_decoder(request.decoder, request.bench.device, request.with_model)
    check_ranks(request.local_ranks)
    cpus = usable_cpus(request.bench, request.local_ranks)
    if min((request.batch_size, *(request.sizes or ()))) < 1:
        raise UsageError("a batch has at least one example", "batch sizes start at 1")
    if min(request.workers or (0,)) < 0:
        raise UsageError("there is no negative number of workers", "worker counts start at 0")
    if request.cpus and request.decoder == "nvjpeg":
        raise UsageError("nvjpeg decodes on the GPU: fewer CPUs would only read and pack", "leave --cpus away")
    if request.cpus and request.grid:
        raise UsageError("a grid is measured on all CPUs", "leave --cpus or --grid away")
    if request.cpus and not 1 <= min(request.cpus) <= max(request.cpus) <= cpus:
        raise UsageError(f"of CPUs there are 1 to {cpus:g} to choose from here", "change --cpus")


def data_of(workload: WorkloadSpec) -> str:
    """What to call the data: a user's own is known by its file."""
    return workload.model if workload.data == SYNTHETIC and workload.runs_user_code else workload.data


def usable_cpus(bench: Bench, local_ranks: int) -> float:
    """The CPUs that the loader workers of each rank may use; a simulated machine has its own."""
    kind, _, described = bench.runner.partition(":")
    return parse_profile(described).cpus / local_ranks if kind == "simulated" else cpus_of_machine(local_ranks).value
