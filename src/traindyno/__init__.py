"""A dynamometer for model training."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traindyno.api import accuracy as accuracy
    from traindyno.api import adopt_round as adopt_round
    from traindyno.api import analyse_round as analyse_round
    from traindyno.api import anatomy as anatomy
    from traindyno.api import compare as compare
    from traindyno.api import find as find
    from traindyno.api import loader as loader
    from traindyno.api import max_batch as max_batch
    from traindyno.api import next_round as next_round
    from traindyno.api import noise_scale as noise_scale
    from traindyno.api import plan as plan
    from traindyno.api import round_ledger as round_ledger
    from traindyno.api import run_round as run_round
    from traindyno.api import scale as scale
    from traindyno.api import soak as soak
    from traindyno.api import stalls as stalls
    from traindyno.api import switches as switches
    from traindyno.api import target as target
    from traindyno.api import throughput as throughput
    from traindyno.api import train as train
    from traindyno.api import verify as verify
    from traindyno.core.errors import TraindynoError as TraindynoError
    from traindyno.core.records import Settings as Settings
    from traindyno.worker.applying import apply as apply
    from traindyno.worker.workload import Workload as Workload

__version__ = "0.1.0"

_LAZY = {
    "find": "traindyno.api",
    "verify": "traindyno.api",
    "max_batch": "traindyno.api",
    "throughput": "traindyno.api",
    "plan": "traindyno.api",
    "loader": "traindyno.api",
    "stalls": "traindyno.api",
    "anatomy": "traindyno.api",
    "switches": "traindyno.api",
    "soak": "traindyno.api",
    "scale": "traindyno.api",
    "train": "traindyno.api",
    "target": "traindyno.api",
    "accuracy": "traindyno.api",
    "noise_scale": "traindyno.api",
    "run_round": "traindyno.api",
    "adopt_round": "traindyno.api",
    "round_ledger": "traindyno.api",
    "analyse_round": "traindyno.api",
    "next_round": "traindyno.api",
    "compare": "traindyno.api",
    "apply": "traindyno.worker.applying",
    "Settings": "traindyno.core.records",
    "Workload": "traindyno.worker.workload",
    "TraindynoError": "traindyno.core.errors",
}
__all__ = [
    "Settings",
    "TraindynoError",
    "Workload",
    "__version__",
    "accuracy",
    "adopt_round",
    "analyse_round",
    "anatomy",
    "apply",
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


def __getattr__(name: str) -> Any:
    """Load the public names on first use, so that importing the package stays cheap."""
    if name not in _LAZY:
        raise AttributeError(f"module 'traindyno' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
