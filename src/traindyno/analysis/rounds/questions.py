"""What to ask next in a campaign, by rules of thumb: the model first, then the optimiser, then regularisation.

Each changes what is best for those after it, so the order spares tuning twice. When all is asked, the best is wanted.
"""

import math
import re
from collections.abc import Iterator, Sequence

from traindyno.core.base import Record
from traindyno.core.round_fields import usual_range
from traindyno.core.rounds import Configuration, Goal, Parameter, Value

MAXIMISE = "maximise"
_DEEPER = {"resnet18": "resnet34", "resnet34": "resnet50", "resnet50": "resnet101"}


class Question(Record, frozen=True):
    """A round to come: its name, its goal and its target, if it has one. `why` says why it is asked now."""

    name: str
    goal: Goal
    why: str
    target: Parameter | None = None

    @property
    def asks(self) -> str:
        """By what a campaign remembers that it was asked."""
        return MAXIMISE if self.target is None else self.target.field


def next_question(configuration: Configuration, is_own: bool, asked: Sequence[str]) -> Question:
    """The first that was not asked yet. Of a job of the user's own no rule knows what else it could be."""
    wanted = () if is_own else _questions(configuration)
    return next((each for each in wanted if each.asks not in asked), _maximise(MAXIMISE in asked))


def _questions(configuration: Configuration) -> Iterator[Question]:
    model, optimizer = str(configuration.get("model", "")), str(configuration.get("optimizer", "sgd"))
    deeper = deeper_models(model)
    if deeper:
        yield _asking(
            "depth", "model", (model, *deeper), "Does a deeper network help?",
            "what is best for everything else depends on the model, so it comes first",
        )  # fmt: skip
    yield _asking(
        "optimiser", "optimizer", tuple(dict.fromkeys((optimizer, "sgd", "adamw"))), "Does another optimiser help?",
        "the model is settled, and the optimiser brings parameters of its own",
    )  # fmt: skip
    yield _asking(
        "weight-decay", "weight_decay", decays(optimizer, configuration.get("weight_decay")), "Does weight decay help?",
        "model and optimiser are settled, and regularisation can only be judged on top of them",
    )  # fmt: skip


def deeper_models(model: str) -> tuple[str, ...]:
    """The same kind of model with one and with two more layers, or the next of its family; none where unknown."""
    if re.fullmatch(r"mlp:[0-9x]+", model):
        last = model.rpartition(":")[2].rpartition("x")[2]
        return f"{model}x{last}", f"{model}x{last}x{last}"
    family, _, name = model.rpartition(":")
    return (f"{family}:{_DEEPER[name]}",) if family == "torchvision" and name in _DEEPER else ()


def decays(optimizer: str, own: Value | None) -> tuple[Value, ...]:
    """None at all, the incumbent's, and two from the upper half of what is usual."""
    usual = usual_range("weight_decay", optimizer)
    assert usual is not None
    span = math.log(usual.high / usual.low)
    strengths = (float(f"{usual.low * math.exp(share * span):.1g}") for share in (0.5, 0.75))
    held = (own,) if isinstance(own, float) and own > 0 else ()
    return tuple(dict.fromkeys((0.0, *sorted((*strengths, *held)))))


def _asking(name: str, field: str, values: tuple[Value, ...], question: str, why: str) -> Question:
    return Question(
        name=name,
        goal=Goal(kind="helps", question=question),
        target=Parameter(name=field, role="target", values=values),
        why=why,
    )


def _maximise(again: bool) -> Question:
    why = (
        "what rules of thumb would ask was asked, or does not apply here, so the nuisances are tuned for the best score"
    )
    more = ", once more. A question of your own may gain more: `traindyno round new`"
    return Question(name=MAXIMISE, goal=Goal(kind="maximise"), why=f"{why}{more if again else ''}")
