from pathlib import Path

from traindyno.app.doctor import examine_machine
from traindyno.core.codec import decode, encode
from traindyno.core.machine import DoctorAnswer, GpuFacts
from traindyno.machine.gpu import NullReader
from traindyno.machine.replay import RecordedLine, ReplayReader


def test_a_checkup_can_be_written_and_read_back(tmp_path: Path) -> None:
    answer = examine_machine(tmp_path)
    assert decode(encode(answer), DoctorAnswer) == answer


def test_a_machine_is_healthy_as_long_as_no_finding_is_a_problem(tmp_path: Path) -> None:
    answer = examine_machine(tmp_path, NullReader("no driver"))
    assert answer.healthy == ("problem" not in {finding.level for finding in answer.findings})


def test_a_crowded_gpu_makes_a_machine_unhealthy(tmp_path: Path) -> None:
    gpu = GpuFacts(index=0, name="Test", uuid="GPU-1", memory_bytes=1, foreign_processes=("pid 7 (other)",))
    answer = examine_machine(tmp_path, ReplayReader([RecordedLine(gpu=gpu)]))
    assert not answer.healthy
    assert any("pid 7 (other)" in finding.text for finding in answer.findings)


def test_the_folder_of_the_store_is_looked_at(tmp_path: Path) -> None:
    answer = examine_machine(tmp_path / "new", NullReader("no driver"))
    assert answer.facts.disks[0].path == str(tmp_path)
