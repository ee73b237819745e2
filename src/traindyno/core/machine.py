"""Facts about a machine, as recorded with every study, and what a check-up concludes. Unknown is null."""

from typing import Literal

from traindyno.core.base import Record

Level = Literal["ok", "note", "problem"]

GPU_IDLE = "gpu idle"
APPLICATIONS_CLOCKS = "applications clocks"
POWER_CAP = "power cap"


class GpuFacts(Record, frozen=True):
    """One visible GPU. `index` is the N of torch's `cuda:N`; `mig` says whether it is cut into slices."""

    index: int
    name: str
    uuid: str
    memory_bytes: int | None
    free_memory_bytes: int | None = None
    driver: str | None = None
    mig: bool | None = None
    power_limit_watts: float | None = None
    foreign_processes: tuple[str, ...] = ()
    ecc_uncorrected_errors: int | None = None
    persistence: bool | None = None


class GpuSample(Record, frozen=True):
    """The state of one GPU at one moment. `clock_reasons` says in words what holds its clocks.

    `energy_joules` and `throttle_counters`, nanoseconds by reason, count from when the driver was loaded.
    """

    index: int
    sm_clock_mhz: int | None = None
    temperature_celsius: int | None = None
    power_watts: float | None = None
    utilization_percent: int | None = None
    memory_used_bytes: int | None = None
    clock_reasons: tuple[str, ...] | None = None
    memory_clock_mhz: int | None = None
    energy_joules: float | None = None
    throttle_counters: dict[str, int] | None = None

    @property
    def busy(self) -> bool:
        """Whether the GPU computes, by its load and by what the driver says of its clocks."""
        return self.utilization_percent != 0 and GPU_IDLE not in (self.clock_reasons or ())

    @property
    def throttle_reasons(self) -> tuple[str, ...]:
        """What slows the GPU down: resting, and clocks set on purpose, are no throttling."""
        harmless = (GPU_IDLE, APPLICATIONS_CLOCKS)
        return tuple(reason for reason in self.clock_reasons or () if reason not in harmless)


class DriverFacts(Record, frozen=True):
    """The NVIDIA driver as NVML tells it, or why it tells nothing. `cuda` is the newest CUDA it supports."""

    version: str | None = None
    cuda: str | None = None
    gpus_installed: int | None = None
    unavailable_because: str | None = None


class UsableCpus(Record, frozen=True):
    """How many CPUs one rank may use: the tightest of what the kernel, the cgroup and the scheduler allow."""

    value: float
    binding: str
    online: int | None = None
    affinity: int | None = None
    quota: float | None = None
    grant: int | None = None
    grant_source: str | None = None
    local_ranks: int = 1


class HostMemory(Record, frozen=True):
    """The host's memory. `available_bytes` already respects the cgroup's limit; the total does not."""

    total_bytes: int | None = None
    available_bytes: int | None = None
    cgroup_limit_bytes: int | None = None
    shared_bytes: int | None = None
    shared_free_bytes: int | None = None
    swap_bytes: int | None = None
    swap_free_bytes: int | None = None


class MachineFacts(Record, frozen=True):
    """What a measurement depends on besides the workload and settings."""

    hostname: str
    system: str
    python: str
    traindyno: str
    torch: str | None = None
    torchvision: str | None = None
    cuda: str | None = None
    cpu_model: str | None = None
    cpus_online: int | None = None
    cpus_usable: float | None = None
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    shared_memory_bytes: int | None = None
    shared_memory_free_bytes: int | None = None
    gpus: tuple[GpuFacts, ...] = ()


class DiskSpace(Record, frozen=True):
    """Room in a folder that traindyno writes to."""

    purpose: Literal["store", "temporary", "working"]
    path: str
    free_bytes: int | None = None
    writable: bool | None = None


class DoctorFacts(Record, frozen=True):
    """All that a check-up looks at."""

    machine: MachineFacts
    cpus: UsableCpus
    memory: HostMemory
    driver: DriverFacts = DriverFacts()
    gpu_samples: tuple[GpuSample, ...] = ()
    disks: tuple[DiskSpace, ...] = ()
    open_files_soft: int | None = None
    open_files_hard: int | None = None
    omp_num_threads: int | None = None
    cuda_visible_devices: str | None = None
    cuda_device_order: str | None = None
    other_cpu_share: float | None = None
    torch_keeps_bytecode: bool | None = None


class Finding(Record, frozen=True):
    """One line of a check-up. A problem always has a remedy."""

    level: Level
    subject: str
    text: str
    remedy: str | None = None


class DoctorAnswer(Record, frozen=True):
    """The check-up: facts, findings, and whether any finding is a problem."""

    facts: DoctorFacts
    findings: tuple[Finding, ...]
    healthy: bool
