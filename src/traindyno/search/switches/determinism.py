"""Reproducible results: their price is shown, and they are neither recommended nor taken away."""

from traindyno.analysis.switch_candidates import Value
from traindyno.search.switches.switch import Situation, Switch, others_of


def reason_not(situation: Situation, value: Value) -> str | None:
    """On a CPU only `all` is anything else than `none`."""
    means_something = value != "cudnn" and "all" in (value, situation.baseline.determinism)
    return None if situation.on_gpu or means_something else "only GPUs have cuDNN"


SWITCH = Switch(
    name="determinism",
    question="What do reproducible results cost?",
    values=others_of("determinism", ("cudnn", "all"), off="none"),
    reason_not=reason_not,
    recommendable=False,
)
