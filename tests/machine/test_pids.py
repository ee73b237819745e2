from pathlib import Path

from traindyno.machine.pids import foreign

FIRST_NAMESPACE = "pid:[4026531836]"
CONTAINER = "pid:[4026532999]"


def make_root(tmp_path: Path, namespace: str, *alive: int) -> Path:
    (tmp_path / "proc/self/ns").mkdir(parents=True)
    (tmp_path / "proc/self/ns/pid").symlink_to(namespace)
    for pid in alive:
        (tmp_path / "proc" / str(pid)).mkdir()
    return tmp_path


def test_our_own_processes_are_not_foreign(tmp_path: Path) -> None:
    root = make_root(tmp_path, FIRST_NAMESPACE, 1, 2)
    processes = {2: ("ours", 5), 1: ("theirs", 7)}
    assert foreign(processes, {2}, root) == ("pid 1 (theirs, 7 B)",)


def test_on_a_plain_machine_a_stranger_is_told_even_when_we_are_not_there(tmp_path: Path) -> None:
    root = make_root(tmp_path, FIRST_NAMESPACE)
    assert foreign({900: ("theirs", None)}, {2}, root) == ("pid 900 (theirs)",)


def test_in_a_container_numbers_of_the_host_cannot_be_told_apart(tmp_path: Path) -> None:
    root = make_root(tmp_path, CONTAINER, 2)
    assert foreign({900: ("unknown", None)}, {2}, root) is None


def test_in_a_container_all_are_foreign_when_we_have_no_process_there(tmp_path: Path) -> None:
    root = make_root(tmp_path, CONTAINER)
    assert foreign({900: (None, None)}, (), root) == ("pid 900 (name unknown)",)


def test_in_a_container_whose_numbers_the_driver_knows_strangers_are_told(tmp_path: Path) -> None:
    root = make_root(tmp_path, CONTAINER, 2, 3)
    assert foreign({2: ("ours", None), 900: ("host", None)}, {2}, root) == ("pid 900 (host)",)
    assert foreign({3: ("neighbour", None)}, {2}, root) == ("pid 3 (neighbour)",)


def test_an_empty_gpu_has_no_strangers(tmp_path: Path) -> None:
    assert foreign({}, {2}, make_root(tmp_path, CONTAINER)) == ()
