from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.codec import decode
from traindyno.core.errors import TraindynoError
from traindyno.core.machine import DriverFacts, GpuFacts, GpuSample
from traindyno.machine.gpu import GpuReader
from traindyno.machine.replay import RecordedLine, ReplayReader, record


def test_a_recording_is_replayed_in_order_and_then_stays(recording: Path) -> None:
    reader = ReplayReader.from_file(recording)
    samples = [reader.sample(0) for _ in range(8)]
    assert [sample.sm_clock_mhz for sample in samples if sample] == [
        345,
        1980,
        1965,
        1830,
        1410,
        345,
        345,
        345,
    ]


def test_a_recording_has_driver_and_gpus(recording: Path) -> None:
    reader = ReplayReader.from_file(recording)
    assert reader.driver().cuda == "13.0"
    assert [gpu.name for gpu in reader.gpus()] == ["NVIDIA Synthetic"]
    assert reader.foreign_processes(0, ()) == ()


def test_a_gpu_that_was_not_recorded_is_unknown(recording: Path) -> None:
    reader = ReplayReader.from_file(recording)
    assert reader.sample(1) is None
    assert reader.foreign_processes(1, ()) is None


@pytest.mark.parametrize("line", ["not json", '{"sample": {"index": "zero"}}', '{"gpus": []}'])
def test_a_file_that_is_no_recording_is_named_with_its_line(tmp_path: Path, line: str) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(f'{{"driver": {{}}}}\n{line}\n')
    with pytest.raises(TraindynoError, match=r"recording.jsonl, line 2, is no GPU recording"):
        ReplayReader.from_file(path)


samples = st.builds(
    GpuSample,
    index=st.just(0),
    sm_clock_mhz=st.none() | st.integers(0, 3000),
    power_watts=st.none() | st.floats(0, 1000),
    clock_reasons=st.none() | st.lists(st.text()).map(tuple),
)


@given(st.lists(samples, min_size=1, max_size=5))
def test_what_is_recorded_replays_the_same(taken: list[GpuSample]) -> None:
    gpu = GpuFacts(index=0, name="Test", uuid="GPU-1", memory_bytes=None)
    driver = DriverFacts(version="580", cuda="13.0")
    lines = [RecordedLine(driver=driver), RecordedLine(gpu=gpu), *(RecordedLine(sample=one) for one in taken)]
    text = list(record(ReplayReader(lines), len(taken)))
    again = ReplayReader([decode(line, RecordedLine) for line in text])
    assert (again.driver(), again.gpus()) == (driver, (gpu,))
    assert [again.sample(0) for _ in taken] == taken


@pytest.mark.gpu
def test_a_real_gpu_can_be_recorded_and_replayed(real_gpus: GpuReader) -> None:
    lines = [decode(line, RecordedLine) for line in record(real_gpus, 2)]
    replayed = ReplayReader(lines)
    assert [gpu.uuid for gpu in replayed.gpus()] == [gpu.uuid for gpu in real_gpus.gpus()]
    assert replayed.sample(0) is not None
