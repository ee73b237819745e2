from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.machine.cpus import count_cpus, cpu_model, cpu_quota, online_cpus, usable_cpus

Tree = Callable[[Mapping[str, str]], Path]

EIGHT_CPUS = {
    "sys/devices/system/cpu/online": "0-7\n",
    "proc/self/status": "Name:\tpython\nCpus_allowed_list:\t0-7\n",
}


def test_without_limits_all_online_cpus_are_usable(tree: Tree) -> None:
    usable = usable_cpus(root=tree(EIGHT_CPUS), environment={})
    assert (usable.value, usable.online, usable.affinity) == (8.0, 8, 8)
    assert (usable.quota, usable.grant) == (None, None)
    assert usable.binding == "the 8 CPUs that are online"


def test_an_affinity_mask_binds(tree: Tree) -> None:
    status = {"proc/self/status": "Cpus_allowed_list:\t0,2-3\n"}
    usable = usable_cpus(root=tree({**EIGHT_CPUS, **status}), environment={})
    assert usable.value == 3.0
    assert "affinity" in usable.binding


def test_the_quota_of_the_own_cgroup_binds(tree: Tree, unified: dict[str, str]) -> None:
    quota = {"sys/fs/cgroup/jobs/mine/cpu.max": "250000 100000\n"}
    usable = usable_cpus(root=tree({**EIGHT_CPUS, **unified, **quota}), environment={})
    assert (usable.value, usable.quota) == (2.5, 2.5)
    assert usable.binding == "the cgroup's quota of 2.5 CPUs"


def test_a_tighter_parent_cgroup_binds_its_children(tree: Tree, unified: dict[str, str]) -> None:
    files = {
        "sys/fs/cgroup/jobs/mine/cpu.max": "max 100000\n",
        "sys/fs/cgroup/jobs/cpu.max": "150000 50000\n",
        "sys/fs/cgroup/cpu.max": "400000 100000\n",
    }
    assert cpu_quota(tree({**unified, **files})) == 3.0


def test_version_one_keeps_the_quota_in_two_files(tree: Tree, version_one: dict[str, str]) -> None:
    files = {
        "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us": "-1\n",
        "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us": "100000\n",
        "sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us": "50000\n",
        "sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us": "100000\n",
    }
    assert cpu_quota(tree({**version_one, **files})) == 0.5


def test_a_cgroup_without_quota_is_unlimited(tree: Tree, unified: dict[str, str]) -> None:
    files = {"sys/fs/cgroup/jobs/mine/cpu.max": "max 100000\n"}
    assert cpu_quota(tree({**unified, **files})) is None


def test_a_container_finds_its_quota_at_the_mount_point(tree: Tree) -> None:
    files = {
        "proc/self/cgroup": "2:cpu:/docker/abc\n",
        "proc/self/mountinfo": "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
        "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "200000\n",
        "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    }
    assert cpu_quota(tree(files)) == 2.0


def test_a_group_outside_the_namespace_counts_as_the_mount_point(tree: Tree, unified: dict[str, str]) -> None:
    files = {"proc/self/cgroup": "0::/../../elsewhere\n", "sys/fs/cgroup/cpu.max": "100000 100000\n"}
    assert cpu_quota(tree({**unified, **files})) == 1.0


def test_the_schedulers_grant_binds(tree: Tree) -> None:
    usable = usable_cpus(root=tree(EIGHT_CPUS), environment={"SLURM_CPUS_PER_TASK": "4"})
    assert (usable.value, usable.grant) == (4.0, 4)
    assert "Slurm (SLURM_CPUS_PER_TASK)" in usable.binding


def test_local_ranks_share_the_cpus(tree: Tree) -> None:
    assert usable_cpus(local_ranks=4, root=tree(EIGHT_CPUS), environment={}).value == 2.0
    assert usable_cpus(local_ranks=16, root=tree(EIGHT_CPUS), environment={}).value == 0.5


def test_with_nothing_readable_one_cpu_is_assumed_and_said(tmp_path: Path) -> None:
    usable = usable_cpus(root=tmp_path, environment={})
    assert usable.value == 1.0
    assert (usable.online, usable.affinity, usable.quota, usable.grant) == (None, None, None, None)
    assert "no limit could be read" in usable.binding


def test_online_cpus_are_counted_in_cpuinfo_when_sysfs_is_missing(tree: Tree) -> None:
    assert online_cpus(tree({"proc/cpuinfo": "processor\t: 0\nmodel name\t: X\n\nprocessor\t: 1\n"})) == 2


def test_the_cpu_model_is_the_first_processors(tree: Tree) -> None:
    assert cpu_model(tree({"proc/cpuinfo": "processor : 0\nmodel name\t: AMD EPYC 9654\n"})) == "AMD EPYC 9654"


def test_an_unnamed_cpu_model_is_unknown(tree: Tree) -> None:
    assert cpu_model(tree({"proc/cpuinfo": "processor : 0\nBogoMIPS : 50\n"})) is None


def test_this_machine_has_at_least_one_cpu() -> None:
    usable = usable_cpus()
    assert usable.affinity is not None
    assert 0 < usable.value <= usable.affinity


@given(st.sets(st.integers(0, 300), min_size=1))
def test_a_kernel_list_counts_its_cpus(cpus: set[int]) -> None:
    assert count_cpus(",".join(str(cpu) for cpu in sorted(cpus))) == len(cpus)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(60, 70))
def test_a_kernel_list_may_hold_ranges(first: int, length: int, single: int) -> None:
    both = set(range(first, first + length + 1)) | {single}
    assert count_cpus(f"{first}-{first + length},{single}\n") == len(both)


@pytest.mark.parametrize("text", ["", "none", "0-", "-3", "0,,1", "a-b", "4-1"])
def test_a_strange_kernel_list_is_unknown(text: str) -> None:
    assert count_cpus(text) is None


@given(
    quota=st.one_of(st.none(), st.integers(1, 2_000_000)),
    grant=st.one_of(st.none(), st.integers(1, 100)),
    ranks=st.integers(1, 8),
)
def test_no_limit_is_ever_exceeded(
    tmp_path_factory: pytest.TempPathFactory, quota: int | None, grant: int | None, ranks: int
) -> None:
    root = tmp_path_factory.mktemp("root")
    for name, text in {
        "sys/devices/system/cpu/online": "0-15",
        "proc/self/cgroup": "0::/",
        "proc/self/mountinfo": "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw",
        "sys/fs/cgroup/cpu.max": f"{'max' if quota is None else quota} 100000",
    }.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    environment = {} if grant is None else {"PBS_NUM_PPN": str(grant)}
    usable = usable_cpus(ranks, root, environment)
    limits = [16, *([quota / 100000] if quota else []), *([grant] if grant else [])]
    assert usable.value == pytest.approx(min(limits) / ranks)
