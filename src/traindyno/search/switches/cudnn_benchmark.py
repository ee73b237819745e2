"""cuDNN's own search for the fastest convolution."""

from traindyno.search.switches.switch import Switch, needs_gpu, other_of

SWITCH = Switch(
    name="cudnn_benchmark",
    question="Does it help to let cuDNN time its convolutions first?",
    values=other_of("cudnn_benchmark"),
    reason_not=needs_gpu("only GPUs have cuDNN"),
    changes_arithmetic=True,
)
