import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import traindyno
from traindyno.core.codec import decode, encode
from traindyno.core.errors import UsageError
from traindyno.core.machine import GpuFacts, MachineFacts
from traindyno.machine.facts import collect, resolve_device
from traindyno.machine.gpu import GpuReader, NullReader
from traindyno.machine.replay import RecordedLine, ReplayReader
from traindyno.machine.versions import cuda_in_version_file, installed_version

Tree = Callable[[Mapping[str, str]], Path]

NO_GPU = NullReader("no driver")
TWO_GPUS = ReplayReader(
    [
        RecordedLine(gpu=GpuFacts(index=index, name=name, uuid=f"GPU-{index}", memory_bytes=1))
        for index, name in enumerate(["NVIDIA A", "NVIDIA B"])
    ]
)


def built_for_cuda() -> str | None:
    return "13.0"


def built_for_cpu() -> str | None:
    return None


def test_the_facts_of_this_machine_are_collected_and_can_be_stored() -> None:
    facts = collect(NO_GPU)
    assert facts.traindyno == traindyno.__version__
    assert facts.torch == installed_version("torch")
    assert facts.memory_bytes is not None
    assert facts.gpus == ()
    assert decode(encode(facts), MachineFacts) == facts


def test_the_facts_come_from_the_given_root(tree: Tree, unified: dict[str, str]) -> None:
    files = {
        "proc/cpuinfo": "processor : 0\nmodel name : Test CPU\n",
        "proc/meminfo": "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n",
        "sys/fs/cgroup/jobs/mine/memory.max": str(2**30),
        "sys/fs/cgroup/jobs/mine/memory.current": "0",
        "sys/fs/cgroup/jobs/mine/cpu.max": "50000 100000",
    }
    facts = collect(TWO_GPUS, tree({**unified, **files}))
    assert (facts.cpu_model, facts.cpus_online, facts.cpus_usable) == ("Test CPU", 1, 0.5)
    assert (facts.memory_bytes, facts.memory_available_bytes) == (2**30, 2**30)
    assert facts.shared_memory_bytes is None
    assert [gpu.name for gpu in facts.gpus] == ["NVIDIA A", "NVIDIA B"]


def test_collecting_facts_does_not_import_torch() -> None:
    program = "import sys; from traindyno.machine.facts import collect; collect(); sys.exit('torch' in sys.modules)"
    path = str(Path(traindyno.__file__).parents[1])
    assert subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": path}, check=False).returncode == 0


@pytest.mark.parametrize(
    ("text", "reader", "cuda_build", "device"),
    [
        (None, TWO_GPUS, built_for_cuda, "cuda:0"),
        ("auto", TWO_GPUS, built_for_cuda, "cuda:0"),
        (None, TWO_GPUS, built_for_cpu, "cpu"),
        (None, NO_GPU, built_for_cuda, "cpu"),
        ("cpu", TWO_GPUS, built_for_cuda, "cpu"),
        ("cuda", TWO_GPUS, built_for_cuda, "cuda:0"),
        ("cuda:1", TWO_GPUS, built_for_cuda, "cuda:1"),
        (" CUDA:01 ", TWO_GPUS, built_for_cuda, "cuda:1"),
    ],
)
def test_a_device_means_what_the_user_wrote(
    text: str | None, reader: GpuReader, cuda_build: Callable[[], str | None], device: str
) -> None:
    assert resolve_device(text, reader, cuda_build) == device


def test_a_device_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(UsageError, match="no device cuda:9") as caught:
        resolve_device("cuda:9", TWO_GPUS, built_for_cuda)
    assert caught.value.hint == "choose from cuda:0 (NVIDIA A), cuda:1 (NVIDIA B), cpu"


def test_without_a_gpu_cuda_is_refused() -> None:
    with pytest.raises(UsageError, match="no device cuda:0") as caught:
        resolve_device("cuda", NO_GPU, built_for_cuda)
    assert caught.value.hint == "choose from cpu"


def test_a_torch_for_the_cpu_cannot_be_asked_for_cuda() -> None:
    with pytest.raises(UsageError, match="cannot use a GPU"):
        resolve_device("cuda", TWO_GPUS, built_for_cpu)


@pytest.mark.parametrize("text", ["", "gpu", "cuda:", "cuda:-1", "cuda:x", "mps", "cpu:0", "cuda:0,1"])
def test_any_other_word_is_no_device(text: str) -> None:
    with pytest.raises(UsageError, match="is not a device"):
        resolve_device(text, TWO_GPUS, built_for_cuda)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("cuda: Optional[str] = '13.2'", "13.2"),
        ("cuda = '12.1'", "12.1"),
        ('cuda: str | None = "12.8"', "12.8"),
        ("cuda: Optional[str] = None", None),
        ("cuda = None", None),
        ("not_cuda = '12.1'", None),
        ("", None),
    ],
)
def test_the_cuda_build_is_read_from_torchs_version_file(line: str, expected: str | None) -> None:
    text = f"__version__ = '2.15.0+cu132'\ndebug = False\n{line}\nhip: Optional[str] = None\n"
    assert cuda_in_version_file(text) == expected


@given(st.text())
def test_no_version_file_is_executed_or_crashes(text: str) -> None:
    found = cuda_in_version_file(text)
    assert found is None or found in text


def test_a_package_that_is_not_installed_has_no_version() -> None:
    assert installed_version("no-such-package-anywhere") is None
