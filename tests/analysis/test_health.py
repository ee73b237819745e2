from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.analysis.health import examine
from traindyno.core.machine import (
    DiskSpace,
    DoctorFacts,
    DriverFacts,
    Finding,
    GpuFacts,
    GpuSample,
    HostMemory,
    MachineFacts,
    UsableCpus,
)

GIB = 2**30
GPU = GpuFacts(index=0, name="NVIDIA H200", uuid="GPU-aaaa", memory_bytes=140 * GIB, mig=False, persistence=True)
MACHINE = MachineFacts(
    hostname="box", system="Linux", python="3.12.1", traindyno="0.1.0",
    torch="2.15.0", torchvision="0.29.2", cuda="13.0", gpus=(GPU,),
)  # fmt: skip
WELL = DoctorFacts(
    machine=MACHINE,
    cpus=UsableCpus(value=16.0, binding="the 16 CPUs that are online", online=16, affinity=16),
    memory=HostMemory(
        total_bytes=64 * GIB, available_bytes=60 * GIB, shared_bytes=32 * GIB, shared_free_bytes=32 * GIB,
        swap_bytes=0, swap_free_bytes=0,
    ),
    driver=DriverFacts(version="580.95.05", cuda="13.0", gpus_installed=1),
    gpu_samples=(GpuSample(index=0, utilization_percent=0, clock_reasons=("gpu idle",)),),
    disks=(DiskSpace(purpose="store", path="/data", free_bytes=500 * GIB, writable=True),),
    open_files_soft=65536,
    open_files_hard=65536,
)  # fmt: skip


def well_but(**changes: Any) -> DoctorFacts:
    """The healthy machine with changes; `gpu_`, `machine_`, `memory_` and `driver_` reach into its parts."""
    changed: dict[str, Any] = {}
    gpu = {name[4:]: value for name, value in changes.items() if name.startswith("gpu_") and name != "gpu_samples"}
    machine = {name[8:]: value for name, value in changes.items() if name.startswith("machine_")}
    if gpu:
        machine["gpus"] = (msgspec.structs.replace(GPU, **gpu),)
    changed["machine"] = msgspec.structs.replace(MACHINE, **machine)
    for part in ("memory", "driver"):
        inner = {name[len(part) + 1 :]: value for name, value in changes.items() if name.startswith(f"{part}_")}
        changed[part] = msgspec.structs.replace(getattr(WELL, part), **inner)
    outer = {name: value for name, value in changes.items() if name in WELL.__struct_fields__}
    return msgspec.structs.replace(WELL, **{**changed, **outer})


def unusual(facts: DoctorFacts) -> list[Finding]:
    return [finding for finding in examine(facts) if finding.level != "ok"]


def only(facts: DoctorFacts) -> Finding:
    (finding,) = unusual(facts)
    return finding


def test_a_healthy_machine_has_nothing_but_good_findings() -> None:
    assert unusual(WELL) == []
    subjects = [finding.subject for finding in examine(WELL)]
    assert subjects == [
        "versions", "torch", "torchvision", "cuda", "cuda:0", "cpus", "memory", "swap", "shared memory",
        "open files", "store folder",
    ]  # fmt: skip


def test_a_missing_torch_is_a_problem() -> None:
    finding = only(well_but(machine_torch=None, machine_cuda=None))
    assert (finding.level, finding.subject) == ("problem", "torch")
    assert "pip install torch" in (finding.remedy or "")


def test_a_cpu_build_of_torch_beside_a_gpu_is_a_problem_with_the_command_to_type() -> None:
    finding = only(well_but(machine_cuda=None, driver_cuda="12.8"))
    assert finding.level == "problem"
    assert finding.remedy == (
        "pip install --force-reinstall torch torchvision --index-url https://download.pytorch.org/whl/cu128"
    )


@pytest.mark.parametrize(
    ("driver", "index"),
    [("12.2", "cu126"), ("12.7", "cu126"), ("12.9", "cu128"), ("13.2", "cu130"), ("14.0", "cu130")],
)
def test_the_torch_to_install_is_the_newest_that_the_driver_runs(driver: str, index: str) -> None:
    assert (only(well_but(machine_cuda=None, driver_cuda=driver)).remedy or "").endswith(index)


def test_a_driver_too_old_for_any_torch_must_be_updated_first() -> None:
    assert (only(well_but(machine_cuda=None, driver_cuda="11.4")).remedy or "").startswith("update the driver")


def test_a_driver_of_an_older_major_version_is_a_problem() -> None:
    finding = only(well_but(driver_cuda="12.8"))
    assert finding.level == "problem"
    assert "too old" in finding.text
    assert "update the driver" in (finding.remedy or "")
    assert "whl/cu128" in (finding.remedy or "")


def test_a_driver_of_an_older_minor_version_is_only_a_note() -> None:
    finding = only(well_but(machine_cuda="13.2"))
    assert (finding.level, finding.subject) == ("note", "cuda")


@pytest.mark.parametrize("driver", [None, "13.0", "13.2", "14.1"])
def test_a_driver_that_is_new_enough_or_unknown_is_no_finding(driver: str | None) -> None:
    assert unusual(well_but(driver_cuda=driver)) == []


def test_cuda_torch_without_a_driver_is_a_note() -> None:
    facts = well_but(machine_gpus=(), driver_unavailable_because="NVML Shared Library Not Found", gpu_samples=())
    finding = only(facts)
    assert (finding.level, finding.subject) == ("note", "cuda")
    assert "NVML Shared Library Not Found" in finding.text


def test_cpu_torch_without_a_driver_is_well() -> None:
    facts = well_but(machine_gpus=(), machine_cuda=None, driver_unavailable_because="no library", gpu_samples=())
    assert unusual(facts) == []


def test_a_half_updated_driver_is_a_problem() -> None:
    facts = well_but(machine_gpus=(), driver_unavailable_because="Driver/library version mismatch")
    finding = only(facts)
    assert finding.level == "problem"
    assert "reboot" in (finding.remedy or "")


def test_hidden_gpus_are_told_with_what_hides_them() -> None:
    finding = only(well_but(machine_gpus=(), cuda_visible_devices=""))
    assert finding.level == "note"
    assert finding.remedy == "unset CUDA_VISIBLE_DEVICES"


def test_a_driver_without_gpus_is_a_note() -> None:
    finding = only(well_but(machine_gpus=(), driver_gpus_installed=0))
    assert (finding.level, finding.subject) == ("note", "cuda")


def test_mig_is_flagged() -> None:
    finding = only(well_but(gpu_mig=True))
    assert (finding.level, finding.subject) == ("note", "cuda:0")
    assert "MIG" in finding.text


def test_foreign_processes_are_a_problem_and_named() -> None:
    finding = only(well_but(gpu_foreign_processes=("pid 7 (python, 3 GiB)",)))
    assert finding.level == "problem"
    assert "pid 7 (python, 3 GiB)" in finding.text


def test_uncorrected_memory_errors_are_a_problem() -> None:
    finding = only(well_but(gpu_ecc_uncorrected_errors=2))
    assert finding.level == "problem"
    assert "nvidia-smi -q -d ECC -i GPU-aaaa" in (finding.remedy or "")


@pytest.mark.parametrize("count", [None, 0])
def test_no_or_unknown_memory_errors_are_no_finding(count: int | None) -> None:
    assert unusual(well_but(gpu_ecc_uncorrected_errors=count)) == []


def test_persistence_mode_off_is_a_note_and_unknown_is_none() -> None:
    assert only(well_but(gpu_persistence=False)).remedy == "sudo nvidia-smi -i GPU-aaaa -pm 1"
    assert unusual(well_but(gpu_persistence=None)) == []


@pytest.mark.parametrize(
    ("reasons", "level"),
    [
        (("thermal software slowdown",), "problem"),
        (("thermal hardware slowdown", "power cap"), "problem"),
        (("hardware power brake",), "problem"),
        (("power cap",), "note"),
    ],
)
def test_throttling_right_now_is_told(reasons: tuple[str, ...], level: str) -> None:
    finding = only(well_but(gpu_samples=(GpuSample(index=0, clock_reasons=reasons),)))
    assert (finding.level, finding.subject) == (level, "cuda:0")


@pytest.mark.parametrize("reasons", [None, (), ("gpu idle",), ("applications clocks",)])
def test_a_gpu_that_is_not_throttled_is_no_finding(reasons: tuple[str, ...] | None) -> None:
    assert unusual(well_but(gpu_samples=(GpuSample(index=0, clock_reasons=reasons),))) == []


def test_gpus_of_different_kinds_need_a_fixed_order() -> None:
    other = GpuFacts(index=1, name="NVIDIA T4", uuid="GPU-bbbb", memory_bytes=GIB)
    facts = well_but(machine_gpus=(GPU, other))
    assert only(facts).remedy == "export CUDA_DEVICE_ORDER=PCI_BUS_ID"
    assert unusual(well_but(machine_gpus=(GPU, other), cuda_device_order="PCI_BUS_ID")) == []


def test_cpus_that_others_are_busy_on_are_a_note() -> None:
    finding = only(well_but(other_cpu_share=0.31))
    assert (finding.level, finding.subject) == ("note", "other work")
    assert finding.text.startswith("others take 31 % of the CPUs: ")
    assert unusual(well_but(other_cpu_share=0.04)) == []


def test_a_torch_that_is_compiled_from_source_at_every_start_is_a_note() -> None:
    finding = only(well_but(torch_keeps_bytecode=False))
    assert (finding.level, finding.subject) == ("note", "bytecode")
    assert finding.remedy is not None
    assert finding.remedy.startswith("export PYTHONDONTWRITEBYTECODE= ")
    assert unusual(well_but(torch_keeps_bytecode=True)) == unusual(well_but(torch_keeps_bytecode=None)) == []


def test_a_quota_below_the_online_cpus_is_a_note_until_threads_are_limited() -> None:
    cpus = UsableCpus(value=2.5, binding="the cgroup's quota of 2.5 CPUs", online=16, affinity=16, quota=2.5)
    finding = only(well_but(cpus=cpus))
    assert (finding.level, finding.remedy) == ("note", "export OMP_NUM_THREADS=2")
    assert unusual(well_but(cpus=cpus, omp_num_threads=2)) == []
    assert len(unusual(well_but(cpus=cpus, omp_num_threads=8))) == 1


def test_little_memory_is_a_problem() -> None:
    finding = only(well_but(memory_available_bytes=GIB))
    assert (finding.level, finding.subject) == ("problem", "memory")


def test_much_swapped_out_memory_is_a_note() -> None:
    assert only(well_but(memory_swap_bytes=8 * GIB, memory_swap_free_bytes=5 * GIB)).subject == "swap"
    assert unusual(well_but(memory_swap_bytes=8 * GIB, memory_swap_free_bytes=8 * GIB)) == []


def test_dockers_default_shared_memory_is_a_problem() -> None:
    finding = only(well_but(memory_shared_bytes=64 * 2**20, memory_shared_free_bytes=64 * 2**20))
    assert (finding.level, finding.subject) == ("problem", "shared memory")
    assert "--shm-size" in (finding.remedy or "")


def test_a_full_shared_memory_is_another_problem() -> None:
    finding = only(well_but(memory_shared_free_bytes=1000))
    assert finding.level == "problem"
    assert "nearly full" in finding.text


def test_unreadable_shared_memory_is_a_note() -> None:
    assert only(well_but(memory_shared_bytes=None, memory_shared_free_bytes=None)).level == "note"


@pytest.mark.parametrize(
    ("soft", "hard", "remedy"),
    [
        (1024, 2**63 - 1, "ulimit -n 65536"),
        (1024, 20000, "ulimit -n 20000"),
        (1024, None, "ulimit -n 65536"),
        (256, 1024, "raise the hard limit of 1024"),
    ],
)
def test_few_open_files_are_a_problem_with_what_can_be_done(soft: int, hard: int | None, remedy: str) -> None:
    finding = only(well_but(open_files_soft=soft, open_files_hard=hard))
    assert finding.level == "problem"
    assert (finding.remedy or "").startswith(remedy)


@pytest.mark.parametrize(
    ("purpose", "remedy"), [("store", "--store"), ("temporary", "TMPDIR"), ("working", "another folder")]
)
def test_a_full_or_locked_disk_is_a_problem(purpose: Any, remedy: str) -> None:
    for disk in (
        DiskSpace(purpose=purpose, path="/full", free_bytes=4 * GIB, writable=True),
        DiskSpace(purpose=purpose, path="/locked", free_bytes=400 * GIB, writable=False),
    ):
        finding = only(well_but(disks=(disk,)))
        assert (finding.level, finding.subject) == ("problem", f"{purpose} folder")
        assert disk.path in finding.text
        assert remedy in (finding.remedy or "")


def test_a_machine_of_which_nothing_is_known_has_no_problem_but_the_missing_packages() -> None:
    blank = DoctorFacts(
        machine=MachineFacts(hostname="", system="", python="", traindyno=""),
        cpus=UsableCpus(value=1.0, binding="nothing"),
        memory=HostMemory(),
        disks=(DiskSpace(purpose="working", path="/"),),
    )
    assert {finding.subject for finding in examine(blank) if finding.level == "problem"} == {
        "torch",
        "torchvision",
    }


sizes = st.none() | st.integers(0, 2**50)


@given(
    memory=st.builds(HostMemory, available_bytes=sizes, shared_bytes=sizes, shared_free_bytes=sizes),
    soft=st.none() | st.integers(0, 2**63 - 1),
    hard=st.none() | st.integers(0, 2**63 - 1),
    free=sizes,
    driver=st.none() | st.from_regex(r"\d{1,2}\.\d", fullmatch=True) | st.text(max_size=4),
    build=st.none() | st.from_regex(r"\d{1,2}\.\d", fullmatch=True),
    reasons=st.none() | st.lists(st.sampled_from(["gpu idle", "power cap", "thermal hardware slowdown"])).map(tuple),
)
def test_every_problem_and_note_has_a_remedy(
    memory: HostMemory,
    soft: int | None,
    hard: int | None,
    free: int | None,
    driver: str | None,
    build: str | None,
    reasons: tuple[str, ...] | None,
) -> None:
    facts = well_but(
        memory=memory, open_files_soft=soft, open_files_hard=hard, driver_cuda=driver, machine_cuda=build,
        disks=(DiskSpace(purpose="working", path="/", free_bytes=free),),
        gpu_samples=(GpuSample(index=0, clock_reasons=reasons),),
    )  # fmt: skip
    assert all(finding.remedy for finding in unusual(facts))
