"""A round about batch sizes as the tests of use cases ask it, each with its own budget."""

KNOWN = 'model = "mlp:64"\ndata = "digits:"\nepochs = 10\nschedule = "constant"'
"""A job that every machine has."""


def sizes_round(*, trials: int, name: str = "sizes", job: str = KNOWN, fixed: str = "") -> str:
    """The file's text; `job` are the lines of [job], `fixed` further tables."""
    return f"""
name = "{name}"
[goal]
kind = "effect"
[job]
{job}
[budget]
trials = {trials}
[seeds]
gate = 2
[target.batch_size]
values = [64, 32]
[nuisance.learning_rate]
low = 0.01
high = 1.0
scale = "log"
{fixed}[incumbent]
batch_size = 64
learning_rate = 0.03
"""
