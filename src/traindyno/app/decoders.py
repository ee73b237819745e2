"""Who may turn JPEG into pixels here."""

from pathlib import Path
from typing import TYPE_CHECKING

from traindyno.app.preparing import PREPARED
from traindyno.app.workshop import SIMULATED_DEVICE
from traindyno.core.loading import Decoder
from traindyno.core.records import Settings
from traindyno.core.requests import Bench
from traindyno.machine.versions import installed_version

if TYPE_CHECKING:
    from traindyno.worker.data.prepared_format import Encoding

FIRST_DECODER: Decoder = "pil"
ENCODED = ("folder", "shards")
"""Kinds of sources that hold images as files do; all others hold pixels, or are not ours to decode."""
PIXELS = ("cifar10", "digits")
"""Kinds that always hold pixels; what was prepared may."""


def host_decoders(bench: Bench) -> tuple[Decoder, ...]:
    """Those that run on the host and are installed; of a simulation, all of these."""
    simulated = bench.device == SIMULATED_DEVICE
    others: tuple[Decoder, ...] = ("simplejpeg",) if simulated or installed_version("simplejpeg") else ()
    return (FIRST_DECODER, "torchvision", *others)


def is_encoded(data: str) -> bool:
    """Whether a source holds images that are decoded here; a prepared set says so itself."""
    return data.removeprefix("memory:").partition(":")[0] in ENCODED or _prepared_as(data) == "jpeg"


def holds_pixels(data: str, bench: Bench) -> bool:
    """Whether it is known of a source that nothing of it is decoded; a simulated prepared set holds pixels."""
    stored = data.removeprefix("memory:")
    if bench.device == SIMULATED_DEVICE and stored.startswith(PREPARED):
        return True
    return stored.partition(":")[0] in PIXELS or _prepared_as(data) == "u8"


def _prepared_as(data: str) -> "Encoding | None":
    """How a prepared set keeps its images; null where there is none."""
    from traindyno.worker.data.prepared_format import read_header

    stored = data.removeprefix("memory:")
    if not stored.startswith(PREPARED):
        return None
    header = read_header(Path(stored.removeprefix(PREPARED)).expanduser())
    return None if header is None else header.request.encoding


def usable_decoders(bench: Bench, data: str, baseline: Settings) -> tuple[Decoder, ...]:
    """All that could decode this data on this device, the baseline's first; that alone where nothing is decoded."""
    if not is_encoded(data):
        return (baseline.decoder,)
    on_gpu: tuple[Decoder, ...] = ("nvjpeg",) if bench.device.startswith("cuda") else ()
    return tuple(dict.fromkeys((baseline.decoder, *host_decoders(bench), *on_gpu)))
