"""Judge the GPUs of a machine, and whether driver and torch fit each other."""

from collections.abc import Iterator

from traindyno.core.machine import POWER_CAP, DoctorFacts, Finding, GpuFacts, GpuSample
from traindyno.core.units import format_bytes

# The CUDA versions that torch's own package index offers builds for.
_TORCH_BUILDS = ((12, 6), (12, 8), (13, 0))
_DRIVER_PAGE = "https://www.nvidia.com/drivers"


def examine_cuda(facts: DoctorFacts) -> Iterator[Finding]:
    """Driver, torch's CUDA build, and whether the one can run the other."""
    if facts.driver.unavailable_because is not None:
        yield _no_driver(facts, facts.driver.unavailable_because)
    elif not facts.machine.gpus:
        yield _no_gpu(facts)
    elif facts.machine.torch is not None and facts.machine.cuda is None:
        text = "torch is built for the CPU only and cannot use the GPU"
        yield Finding(level="problem", subject="cuda", text=text, remedy=_install_torch(facts.driver.cuda))
    else:
        yield _driver_against_torch(facts)


def examine_gpus(facts: DoctorFacts) -> Iterator[Finding]:
    """Each visible GPU, and their order when they differ."""
    samples = {sample.index: sample for sample in facts.gpu_samples}
    for gpu in facts.machine.gpus:
        yield Finding(level="ok", subject=_subject(gpu), text=_describe(gpu))
        yield from _slices(gpu)
        yield from _foreign_processes(gpu)
        yield from _memory_errors(gpu)
        yield from _persistence(gpu)
        yield from _throttling(gpu, samples.get(gpu.index))
    yield from _order(facts)


def _no_driver(facts: DoctorFacts, reason: str) -> Finding:
    if "version mismatch" in reason.lower():
        text = f"the driver's library and kernel module differ ({reason})"
        remedy = "restart the machine after the driver's update: sudo reboot"
        return Finding(level="problem", subject="cuda", text=text, remedy=remedy)
    if facts.machine.cuda is None:
        return Finding(level="ok", subject="cuda", text=f"no GPU ({reason}), and torch is built for the CPU")
    text = f"torch is built for CUDA {facts.machine.cuda}, but no driver answers ({reason}): CPU only"
    remedy = f"if there is a GPU, install its driver ({_DRIVER_PAGE}) or pass it in (docker: --gpus all)"
    return Finding(level="note", subject="cuda", text=text, remedy=remedy)


def _no_gpu(facts: DoctorFacts) -> Finding:
    installed = facts.driver.gpus_installed
    if installed and facts.cuda_visible_devices is not None:
        text = f"CUDA_VISIBLE_DEVICES={facts.cuda_visible_devices!r} hides all {installed} GPUs: CPU only"
        return Finding(level="note", subject="cuda", text=text, remedy="unset CUDA_VISIBLE_DEVICES")
    text = f"driver {facts.driver.version or 'unknown'} shows no GPU: CPU only"
    remedy = "if there should be one: nvidia-smi -L (docker: --gpus all)"
    return Finding(level="note", subject="cuda", text=text, remedy=remedy)


def _driver_against_torch(facts: DoctorFacts) -> Finding:
    """CUDA promises that a driver runs builds of its own major version, also of later minor ones."""
    driver, build = facts.driver.cuda, facts.machine.cuda
    text = f"driver {facts.driver.version or 'unknown'} for CUDA up to {driver or 'unknown'}"
    text += "" if build is None else f", torch built for CUDA {build}"
    offered, needed = _version(driver), _version(build)
    if offered is None or needed is None or offered >= needed:
        return Finding(level="ok", subject="cuda", text=text)
    remedy = f"update the driver ({_DRIVER_PAGE})"
    if offered[0] >= _TORCH_BUILDS[0][0]:
        remedy += f", or {_install_torch(driver)}"
    if offered[0] < needed[0]:
        return Finding(level="problem", subject="cuda", text=f"the driver is too old: {text}", remedy=remedy)
    text += ": works, except for kernels that the driver must compile"
    return Finding(level="note", subject="cuda", text=text, remedy=remedy)


def _install_torch(driver_cuda: str | None) -> str:
    """The newest build that a driver runs: not newer than it, or at least of the same major version."""
    offered = _version(driver_cuda)
    if offered is None:
        return "install a CUDA build of torch: https://pytorch.org/get-started/locally/"
    fitting = [build for build in _TORCH_BUILDS if build <= offered]
    same_major = [build for build in _TORCH_BUILDS if build[0] == offered[0]]
    if not fitting and not same_major:
        return f"update the driver ({_DRIVER_PAGE}), then install a CUDA build of torch"
    major, minor = max(fitting) if fitting else min(same_major)
    index = f"https://download.pytorch.org/whl/cu{major}{minor}"
    return f"pip install --force-reinstall torch torchvision --index-url {index}"


def _version(text: str | None) -> tuple[int, int] | None:
    """`12.8` as numbers that can be compared."""
    parts = (text or "").split(".")[:2]
    if len(parts) != 2 or not all(part.isdecimal() for part in parts):
        return None
    return int(parts[0]), int(parts[1])


def _subject(gpu: GpuFacts) -> str:
    return f"cuda:{gpu.index}"


def _describe(gpu: GpuFacts) -> str:
    limit = "" if gpu.power_limit_watts is None else f", power limit {gpu.power_limit_watts:.0f} W"
    return f"{gpu.name}, {format_bytes(gpu.free_memory_bytes)} free of {format_bytes(gpu.memory_bytes)}{limit}"


def _slices(gpu: GpuFacts) -> Iterator[Finding]:
    if gpu.mig:
        text = "MIG is on: measurements describe a slice, and neighbours share the card's power and heat"
        remedy = "to measure a whole card: find it with nvidia-smi -L, then sudo nvidia-smi -i CARD -mig 0"
        yield Finding(level="note", subject=_subject(gpu), text=text, remedy=remedy)


def _foreign_processes(gpu: GpuFacts) -> Iterator[Finding]:
    if gpu.foreign_processes:
        yield Finding(
            level="problem",
            subject=_subject(gpu),
            text=f"others compute on it: {', '.join(gpu.foreign_processes)}",
            remedy="wait for them, stop them, or choose another GPU with --device; to watch: nvidia-smi",
        )


def _memory_errors(gpu: GpuFacts) -> Iterator[Finding]:
    if gpu.ecc_uncorrected_errors:
        yield Finding(
            level="problem",
            subject=_subject(gpu),
            text=f"{gpu.ecc_uncorrected_errors} uncorrected memory errors since the driver was loaded",
            remedy=f"look at them with nvidia-smi -q -d ECC -i {gpu.uuid}, then restart the machine",
        )


def _persistence(gpu: GpuFacts) -> Iterator[Finding]:
    if gpu.persistence is False:
        text = "persistence mode is off: the driver starts anew for every trial, which costs start-up time"
        remedy = f"sudo nvidia-smi -i {gpu.uuid} -pm 1"
        yield Finding(level="note", subject=_subject(gpu), text=text, remedy=remedy)


def _throttling(gpu: GpuFacts, sample: GpuSample | None) -> Iterator[Finding]:
    """A power cap is how a busy card of today normally runs; heat and brakes are not."""
    reasons = () if sample is None else sample.throttle_reasons
    grave = [reason for reason in reasons if "thermal" in reason or "hardware" in reason]
    if grave:
        text = f"slowed down right now: {', '.join(grave)}"
        remedy = f"let it cool, check fans and power supply: nvidia-smi -q -d TEMPERATURE,POWER -i {gpu.uuid}"
        yield Finding(level="problem", subject=_subject(gpu), text=text, remedy=remedy)
    elif POWER_CAP in reasons:
        text = "runs at its power cap right now"
        remedy = f"see who uses it and the limit: nvidia-smi -q -d POWER -i {gpu.uuid}"
        yield Finding(level="note", subject=_subject(gpu), text=text, remedy=remedy)


def _order(facts: DoctorFacts) -> Iterator[Finding]:
    """Left alone, CUDA counts the fastest card first and NVML by slot."""
    kinds = {gpu.name for gpu in facts.machine.gpus}
    if len(kinds) > 1 and facts.cuda_device_order != "PCI_BUS_ID":
        text = "GPUs of different kinds: torch's cuda:N may be another card than the driver's number N"
        remedy = "export CUDA_DEVICE_ORDER=PCI_BUS_ID"
        yield Finding(level="problem", subject="cuda", text=text, remedy=remedy)
