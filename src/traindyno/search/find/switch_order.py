"""Which switches a search tries, and in which order: what usually gains most comes first."""

from collections.abc import Sequence

from traindyno.analysis.switch_candidates import Candidate
from traindyno.core.records import Settings
from traindyno.search.find.goal import Goal

PRECISION, OLDER_PRECISION = "bf16", "fp16"
"""What to try first, and where that gains nothing: GPUs older than Ampere have no units for bf16."""
TOGETHER = ("precision", "memory_format")
"""On a GPU each alone may gain nothing."""

ON_GPU = ("precision", "memory_format", "pin_memory", "compile", "optimizer_kernel", "cudnn_benchmark", "tf32")
ON_CPU = ("memory_format", "threads", "optimizer_kernel", "precision", "compile")
BEFORE_DATA = ("precision", "memory_format", "pin_memory", "compile")
"""After these the data are searched: they may change the step a lot, and a pair takes longest once it is compiled."""
COMPILED, GRAPHS = "default", "reduce-overhead"
"""Compiling, and compiling that also records the kernels of a step, to launch them as one."""
LEFT_TO_SWITCHES = (("tf32", "none"), ("optimizer_kernel", "loop"), ("precision", OLDER_PRECISION))
"""Slower than what torch does by itself; or, of fp16, no faster than bf16 once compiled, with its loss to be scaled.

Not compiled, fp16 was faster on an H200 by a quarter (ResNet-50, batch 256, channels last).
"""


def partners(goal: Goal, precision: str = PRECISION, *, may_lay_out: bool = True) -> tuple[Candidate, ...]:
    """The switches to begin with together; precision alone where there is nothing to lay out, and nothing where one of
    them is kept.
    """
    values = dict(zip(TOGETHER, (precision, "channels_last"), strict=True))
    found = tuple(candidate for candidate in _usable(goal) if values.get(candidate.switch) == candidate.value)
    if not goal.on_gpu or len(found) != len(TOGETHER):
        return ()
    return found if may_lay_out else tuple(each for each in found if each.switch == "precision")


def one_by_one(goal: Goal) -> list[Candidate]:
    """In the usual order; what would take a switch of the user's back comes last."""
    order = _order(goal)
    return sorted(_allowed(goal), key=lambda each: (takes_back(each), order.index(each.switch)))


def graphs_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The same, with graphs of kernels before other ways to compile; what takes a switch back stays where it is."""
    ordered = list(candidates)
    ways = [at for at, each in enumerate(ordered) if each.switch == "compile" and not takes_back(each)]
    graphs = next((at for at in ways if ordered[at].value == GRAPHS), None)
    if graphs is not None:
        ordered.insert(ways[0], ordered.pop(graphs))
    return ordered


def takes_back(candidate: Candidate) -> bool:
    """Whether it is what torch does by itself, so that the user has set something else."""
    return is_set(candidate, Settings(batch_size=1))


def is_set(candidate: Candidate, settings: Settings) -> bool:
    return bool(getattr(settings, candidate.switch) == candidate.value)


def _order(goal: Goal) -> tuple[str, ...]:
    return ON_GPU if goal.on_gpu else ON_CPU


def _allowed(goal: Goal) -> list[Candidate]:
    return [each for each in _usable(goal) if (each.switch, each.value) not in LEFT_TO_SWITCHES]


def _usable(goal: Goal) -> list[Candidate]:
    return [
        candidate
        for candidate in goal.candidates
        if candidate.skipped_because is None
        and candidate.recommendable
        and candidate.switch in _order(goal)
        and goal.may_change(candidate.switch)
    ]
