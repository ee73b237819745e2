import resource
import sys
from pathlib import Path

import pytest

from traindyno.core.machine import GpuFacts
from traindyno.machine.checkup import doctor_facts
from traindyno.machine.gpu import NullReader
from traindyno.machine.replay import RecordedLine, ReplayReader

NO_GPU = NullReader("no driver")


def test_limits_and_surroundings_are_gathered(tmp_path: Path) -> None:
    environment = {"OMP_NUM_THREADS": "4", "CUDA_VISIBLE_DEVICES": "", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
    facts = doctor_facts(tmp_path, NO_GPU, environment=environment, others=lambda: 0.25)
    assert facts.open_files_soft == resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert facts.omp_num_threads == 4
    assert facts.other_cpu_share == 0.25
    assert (facts.cuda_visible_devices, facts.cuda_device_order) == ("", "PCI_BUS_ID")
    assert facts.driver.unavailable_because == "no driver"


def test_an_unset_surrounding_is_unknown(tmp_path: Path) -> None:
    facts = doctor_facts(tmp_path, NO_GPU, environment={}, others=lambda: None)
    assert (facts.omp_num_threads, facts.cuda_visible_devices, facts.cuda_device_order) == (None, None, None)


def test_no_limit_on_open_files_is_a_large_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1024, resource.RLIM_INFINITY))
    facts = doctor_facts(tmp_path, NO_GPU, environment={}, others=lambda: None)
    assert (facts.open_files_soft, facts.open_files_hard) == (1024, sys.maxsize)


def test_the_store_folder_need_not_exist_yet(tmp_path: Path) -> None:
    facts = doctor_facts(tmp_path / "not" / "yet", NO_GPU, environment={}, others=lambda: None)
    store = facts.disks[0]
    assert (store.purpose, store.path, store.writable) == ("store", str(tmp_path), True)
    assert (store.free_bytes or 0) > 0


def test_each_folder_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    purposes = [disk.purpose for disk in doctor_facts(tmp_path, NO_GPU, environment={}, others=lambda: None).disks]
    assert purposes == ["store", "temporary"]


def test_a_gpu_is_sampled_and_its_strangers_are_listed(tmp_path: Path, recording: Path) -> None:
    facts = doctor_facts(tmp_path, ReplayReader.from_file(recording), environment={}, others=lambda: None)
    assert [sample.clock_reasons for sample in facts.gpu_samples] == [("gpu idle",)]
    crowded = GpuFacts(index=0, name="T", uuid="G", memory_bytes=1, foreign_processes=("pid 1 (x)",))
    facts = doctor_facts(tmp_path, ReplayReader([RecordedLine(gpu=crowded)]), environment={}, others=lambda: None)
    assert facts.machine.gpus[0].foreign_processes == ("pid 1 (x)",)
    assert facts.gpu_samples == ()
