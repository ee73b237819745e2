"""The allocator's segments that grow, against fragmentation."""

from traindyno.search.switches.switch import Switch, needs_gpu, other_of

SWITCH = Switch(
    name="expandable_segments",
    question="Do growing segments of the allocator cost speed, or save memory?",
    values=other_of("expandable_segments"),
    reason_not=needs_gpu("only the allocator of GPU memory has segments"),
)
