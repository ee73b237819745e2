"""Matrix products and convolutions of 32-bit numbers in TF32, which rounds their inputs to 10 bits."""

from traindyno.search.switches.switch import Switch, needs_gpu, others_of

SWITCH = Switch(
    name="tf32",
    question="What does TF32 give in matrix products, and in convolutions?",
    values=others_of("tf32", ("all", "none"), off="convolutions"),
    reason_not=needs_gpu("only GPUs have TF32"),
    changes_arithmetic=True,
)
