import os
import signal
import stat
import subprocess
import sys
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from traindyno.core.errors import TraindynoError
from traindyno.core.machine import GpuFacts
from traindyno.machine.gpu import NullReader
from traindyno.machine.locks import device_lock, noticed_neighbour, runtime_folder
from traindyno.machine.replay import RecordedLine, ReplayReader

HOLD = """
import sys
from pathlib import Path
from traindyno.machine.gpu import NullReader
from traindyno.machine.locks import device_lock
with device_lock("cuda:0", NullReader("test"), Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
NO_GPU = NullReader("test")


def enter(lock: AbstractContextManager[None]) -> None:
    with lock:
        pass


def gpus(*uuids: str) -> ReplayReader:
    facts = [GpuFacts(index=index, name="Test", uuid=uuid, memory_bytes=1) for index, uuid in enumerate(uuids)]
    return ReplayReader([RecordedLine(gpu=gpu) for gpu in facts])


def test_a_lock_is_free_again_after_its_block(tmp_path: Path) -> None:
    for _ in range(2):
        with device_lock("cuda:0", NO_GPU, tmp_path):
            assert (tmp_path / "cuda-0.lock").exists()


def test_a_lock_is_free_again_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(KeyError), device_lock("cuda:0", NO_GPU, tmp_path):
        raise KeyError
    enter(device_lock("cuda:0", NO_GPU, tmp_path))


def test_a_held_device_is_refused_with_its_holder(tmp_path: Path) -> None:
    reader = gpus("GPU-aaaa")
    with device_lock("cuda:0", reader, tmp_path):
        with (
            pytest.raises(TraindynoError, match=rf"cuda:0 \(Test\) .* process {os.getpid()} since") as caught,
            device_lock("cuda:0", reader, tmp_path),
        ):
            pass
        assert "--device" in (caught.value.hint or "")


def test_other_gpus_stay_free(tmp_path: Path) -> None:
    reader = gpus("GPU-aaaa", "GPU-bbbb")
    with device_lock("cuda:0", reader, tmp_path), device_lock("cuda:1", reader, tmp_path):
        assert sorted(path.name for path in tmp_path.iterdir()) == ["GPU-aaaa.lock", "GPU-bbbb.lock"]


def test_one_gpu_under_two_indices_is_locked_once(tmp_path: Path) -> None:
    with device_lock("cuda:1", gpus("GPU-aaaa", "GPU-bbbb"), tmp_path), pytest.raises(TraindynoError):
        enter(device_lock("cuda:0", gpus("GPU-bbbb"), tmp_path))


def test_a_cpu_needs_no_lock(tmp_path: Path) -> None:
    with device_lock("cpu", NO_GPU, tmp_path), device_lock("cpu", NO_GPU, tmp_path):
        assert list(tmp_path.iterdir()) == []


def test_an_old_style_slice_name_is_a_file_name_too(tmp_path: Path) -> None:
    with device_lock("cuda:0", gpus("MIG-GPU-aaaa/1/0"), tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == ["MIG-GPU-aaaa-1-0.lock"]


def test_the_kernel_frees_the_lock_of_a_killed_process(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TraindynoError, match=f"process {holder.pid} since"):
            enter(device_lock("cuda:0", NO_GPU, tmp_path))
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    enter(device_lock("cuda:0", NO_GPU, tmp_path))


def test_programs_we_start_do_not_keep_the_lock(tmp_path: Path) -> None:
    with device_lock("cuda:0", NO_GPU, tmp_path):
        child = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    try:
        with device_lock("cuda:0", NO_GPU, tmp_path):
            assert child.poll() is None
    finally:
        child.communicate()


def test_the_runtime_folder_is_private(tmp_path: Path) -> None:
    folder = runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert folder == tmp_path / "traindyno"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_without_a_runtime_folder_a_temporary_one_is_made(tmp_path: Path) -> None:
    expected = tmp_path / f"traindyno-{os.getuid()}"
    assert runtime_folder({}, tmp_path) == expected
    assert runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path / "missing")}, tmp_path) == expected


def test_a_folder_open_to_others_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "traindyno").mkdir()
    (tmp_path / "traindyno").chmod(0o777)
    with pytest.raises(TraindynoError, match="not a private folder"):
        runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_a_link_in_place_of_the_folder_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    (tmp_path / "traindyno").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TraindynoError, match="not a private folder"):
        runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_a_file_in_place_of_the_folder_is_not_trusted(tmp_path: Path) -> None:
    (tmp_path / "traindyno").write_text("")
    with pytest.raises(TraindynoError, match="not a private folder"):
        runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path)})


def test_a_folder_that_cannot_be_made_is_an_error_with_a_hint(tmp_path: Path) -> None:
    with pytest.raises(TraindynoError, match="no folder for locks") as caught:
        runtime_folder({}, tmp_path / "missing")
    assert "XDG_RUNTIME_DIR" in (caught.value.hint or "")


def test_a_neighbour_on_the_cpu_is_noticed_and_nobody_is_refused(tmp_path: Path) -> None:
    with noticed_neighbour("cpu", tmp_path) as first, noticed_neighbour("cpu", tmp_path) as second:
        assert first is None
        assert second is not None
        assert "this CPU is being measured by another traindyno" in second
    with noticed_neighbour("cpu", tmp_path) as again, noticed_neighbour("cuda:0", tmp_path) as elsewhere:
        assert again is None
        assert elsewhere is None
