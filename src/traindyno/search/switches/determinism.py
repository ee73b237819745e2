"""Reproducible results: their price is shown, and they are neither recommended nor taken away."""

from traindyno.search.switches.switch import Switch, needs_gpu, others_of

SWITCH = Switch(
    name="determinism",
    question="What do reproducible results cost?",
    values=others_of("determinism", ("cudnn", "all"), off="none"),
    reason_not=needs_gpu,
    recommendable=False,
)
