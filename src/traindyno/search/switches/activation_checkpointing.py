"""Activations computed again in the backward pass: less memory, more work, never adopted for speed."""

from traindyno.search.switches.switch import Switch, needs_training, other_of

SWITCH = Switch(
    name="activation_checkpointing",
    question="How much memory do recomputed activations save, and at what price?",
    values=other_of("activation_checkpointing"),
    reason_not=needs_training,
    recommendable=False,
)
