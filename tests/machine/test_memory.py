from collections.abc import Callable, Mapping
from pathlib import Path

from traindyno.machine.memory import default_memory_limit_bytes, host_memory, oom_kill_count

Tree = Callable[[Mapping[str, str]], Path]

GIB = 2**30
MEMINFO = {
    "proc/meminfo": (
        "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:   12582912 kB\n"
        "SwapTotal:       2097152 kB\nSwapFree:        1048576 kB\nHugePages_Total:       0\n"
    )
}
MINE = "sys/fs/cgroup/jobs/mine/"


def test_without_a_cgroup_limit_the_kernel_decides(tree: Tree) -> None:
    memory = host_memory(tree(MEMINFO))
    assert (memory.total_bytes, memory.available_bytes) == (16 * GIB, 12 * GIB)
    assert (memory.swap_bytes, memory.swap_free_bytes) == (2 * GIB, 1 * GIB)
    assert memory.cgroup_limit_bytes is None


def test_a_cgroup_leaves_its_limit_minus_its_use(tree: Tree, unified: dict[str, str]) -> None:
    group = {MINE + "memory.max": f"{8 * GIB}\n", MINE + "memory.current": f"{3 * GIB}\n"}
    memory = host_memory(tree({**MEMINFO, **unified, **group}))
    assert (memory.cgroup_limit_bytes, memory.available_bytes) == (8 * GIB, 5 * GIB)


def test_files_cached_by_the_cgroup_are_not_counted_as_use(tree: Tree, unified: dict[str, str]) -> None:
    group = {
        MINE + "memory.max": f"{8 * GIB}\n",
        MINE + "memory.current": f"{7 * GIB}\n",
        MINE + "memory.stat": f"anon 5\ninactive_file {6 * GIB}\nactive_file 9\n",
    }
    assert host_memory(tree({**MEMINFO, **unified, **group})).available_bytes == 7 * GIB


def test_the_fuller_parent_binds_though_its_limit_is_larger(tree: Tree, unified: dict[str, str]) -> None:
    group = {
        MINE + "memory.max": f"{4 * GIB}\n",
        MINE + "memory.current": f"{1 * GIB}\n",
        "sys/fs/cgroup/jobs/memory.max": f"{10 * GIB}\n",
        "sys/fs/cgroup/jobs/memory.current": f"{9 * GIB}\n",
    }
    memory = host_memory(tree({**MEMINFO, **unified, **group}))
    assert (memory.cgroup_limit_bytes, memory.available_bytes) == (4 * GIB, 1 * GIB)


def test_version_one_is_understood(tree: Tree, version_one: dict[str, str]) -> None:
    folder = "sys/fs/cgroup/memory/docker/abc/"
    group = {
        folder + "memory.limit_in_bytes": f"{2 * GIB}\n",
        folder + "memory.usage_in_bytes": f"{1 * GIB}\n",
        folder + "memory.stat": f"inactive_file 0\ntotal_inactive_file {GIB // 2}\n",
        "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
        "sys/fs/cgroup/memory/memory.usage_in_bytes": "1000\n",
    }
    memory = host_memory(tree({**MEMINFO, **version_one, **group}))
    assert (memory.cgroup_limit_bytes, memory.available_bytes) == (2 * GIB, 3 * GIB // 2)


def test_the_largest_number_of_version_one_means_no_limit(tree: Tree, version_one: dict[str, str]) -> None:
    group = {"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}
    memory = host_memory(tree({**MEMINFO, **version_one, **group}))
    assert memory.cgroup_limit_bytes is None
    assert memory.available_bytes == 12 * GIB


def test_a_cgroup_above_its_limit_leaves_nothing_rather_than_less(tree: Tree, unified: dict[str, str]) -> None:
    group = {MINE + "memory.max": "1000\n", MINE + "memory.current": "2000\n"}
    assert host_memory(tree({**MEMINFO, **unified, **group})).available_bytes == 0


def test_shared_memory_is_read_where_it_is_mounted(tree: Tree) -> None:
    root = tree(MEMINFO)
    assert host_memory(root).shared_bytes is None
    (root / "dev/shm").mkdir(parents=True)
    memory = host_memory(root)
    assert memory.shared_bytes is not None
    assert memory.shared_free_bytes is not None
    assert memory.shared_bytes >= memory.shared_free_bytes


def test_unreadable_memory_is_unknown(tmp_path: Path) -> None:
    memory = host_memory(tmp_path)
    assert (memory.total_bytes, memory.available_bytes, memory.swap_bytes) == (None, None, None)
    assert default_memory_limit_bytes(tmp_path) is None


def test_the_default_limit_is_half_of_what_is_available(tree: Tree) -> None:
    assert default_memory_limit_bytes(tree(MEMINFO)) == 6 * GIB


def test_oom_kills_are_counted_by_the_own_cgroup(tree: Tree, unified: dict[str, str]) -> None:
    events = {
        MINE + "memory.events": "low 0\noom 7\noom_kill 3\noom_group_kill 0\n",
        "sys/fs/cgroup/jobs/memory.events": "oom_kill 99\n",
        "proc/vmstat": "oom_kill 100\n",
    }
    assert oom_kill_count(tree({**unified, **events})) == 3


def test_oom_kills_are_counted_in_version_one(tree: Tree, version_one: dict[str, str]) -> None:
    control = {"sys/fs/cgroup/memory/docker/abc/memory.oom_control": "oom_kill_disable 0\noom_kill 5\n"}
    assert oom_kill_count(tree({**version_one, **control})) == 5


def test_oom_kills_of_the_system_serve_where_no_cgroup_counts(tree: Tree, unified: dict[str, str]) -> None:
    assert oom_kill_count(tree({**unified, "proc/vmstat": "pgfault 1\noom_kill 4\n"})) == 4


def test_uncounted_oom_kills_are_unknown(tmp_path: Path) -> None:
    assert oom_kill_count(tmp_path) is None


def test_this_machine_has_memory() -> None:
    memory = host_memory()
    assert memory.total_bytes is not None
    assert memory.available_bytes is not None
    assert 0 < memory.available_bytes <= memory.total_bytes
