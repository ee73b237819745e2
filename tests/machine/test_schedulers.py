import pytest

from traindyno.machine.schedulers import cpu_grant


def test_outside_a_job_nothing_is_granted() -> None:
    assert cpu_grant({"PATH": "/bin", "NCPUS": "64"}, "node1") is None


@pytest.mark.parametrize(
    ("environment", "cpus", "source"),
    [
        ({"SLURM_CPUS_PER_TASK": "6"}, 6, "Slurm (SLURM_CPUS_PER_TASK)"),
        ({"SLURM_CPUS_ON_NODE": "12"}, 12, "Slurm (SLURM_CPUS_ON_NODE)"),
        ({"SLURM_CPUS_PER_TASK": "6", "SLURM_CPUS_ON_NODE": "12"}, 6, "Slurm (SLURM_CPUS_PER_TASK)"),
        ({"PBS_NUM_PPN": "16"}, 16, "PBS (PBS_NUM_PPN)"),
        ({"PBS_JOBID": "7.server", "NCPUS": "3"}, 3, "PBS (NCPUS)"),
        ({"LSB_MCPU_HOSTS": "node0 8 node1.example.org 5"}, 5, "LSF (LSB_MCPU_HOSTS)"),
        ({"LSB_DJOB_NUMPROC": "9"}, 9, "LSF (LSB_DJOB_NUMPROC)"),
    ],
)
def test_each_scheduler_is_understood(environment: dict[str, str], cpus: int, source: str) -> None:
    assert cpu_grant(environment, "node1") == (cpus, source)


def test_lsf_names_this_host_rather_than_the_whole_job() -> None:
    environment = {"LSB_MCPU_HOSTS": "node0 8 node1 5", "LSB_DJOB_NUMPROC": "13"}
    assert cpu_grant(environment, "Node1.cluster") == (5, "LSF (LSB_MCPU_HOSTS)")


@pytest.mark.parametrize("value", ["", "0", "-1", "4(x2)", "all"])
def test_a_meaningless_grant_is_no_grant(value: str) -> None:
    assert cpu_grant({"SLURM_CPUS_PER_TASK": value}, "node1") is None
