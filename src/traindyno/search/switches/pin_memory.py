"""Copies from pinned memory, beside the step. Both arms move a finished batch each step."""

from traindyno.search.switches.switch import Switch, needs_gpu, other_of

SWITCH = Switch(
    name="pin_memory",
    question="Are batches moved faster from pinned memory?",
    values=other_of("pin_memory"),
    reason_not=needs_gpu("pinned memory is for copies to a GPU"),
    supply="cached",
)
