"""The Python API: the same use cases as the command line, returning the same answers."""

from traindyno.api.batches import compare, max_batch, plan, throughput
from traindyno.api.data import loader, stalls
from traindyno.api.finding import find, verify
from traindyno.api.learning import accuracy, noise_scale, target, train
from traindyno.api.rounds import adopt_round, analyse_round, next_round, round_ledger, run_round
from traindyno.api.scaling import scale
from traindyno.api.steps import anatomy, soak
from traindyno.api.switching import switches

__all__ = [
    "accuracy",
    "adopt_round",
    "analyse_round",
    "anatomy",
    "compare",
    "find",
    "loader",
    "max_batch",
    "next_round",
    "noise_scale",
    "plan",
    "round_ledger",
    "run_round",
    "scale",
    "soak",
    "stalls",
    "switches",
    "target",
    "throughput",
    "train",
    "verify",
]
