"""One run of `accuracy`: what it is asked to do at its batch size, and how it ended."""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.accuracy import learning_of
from traindyno.analysis.probes import counts, not_applicable, ran_out
from traindyno.core.learning import Recipe
from traindyno.core.records import TrialRecord
from traindyno.core.requests import AccuracyRequest
from traindyno.search.rate_search import DIVERGED, Score


def recipe_at(request: AccuracyRequest, batch_size: int, rate: float, steps: int | None = None) -> Recipe:
    """The recipe at another batch size, its length and warm-up equal in epochs or in steps to the reference's.

    `steps` are those of equal steps, once a run has shown them: epochs alone could end a step sooner or later.
    """
    recipe = msgspec.structs.replace(request.recipe, learning_rate=rate)
    ratio = batch_size / request.reference_batch
    if request.equal == "steps":
        epochs, warm_up = recipe.epochs * ratio, recipe.warm_up_epochs * ratio
        steps = recipe.steps or steps
        return msgspec.structs.replace(recipe, epochs=epochs, warm_up_epochs=warm_up, steps=steps)
    if recipe.steps is None:
        return recipe
    return msgspec.structs.replace(recipe, steps=max(1, round(recipe.steps / ratio)))


def end_of(record: TrialRecord) -> Score:
    """How good a run was at its end: by its accuracy, and of equal ones by its loss."""
    learning = learning_of(record)
    if learning is None or learning.diverged:
        return DIVERGED
    last = learning.evaluations[-1]
    assert last.accuracy is not None
    return last.accuracy, -last.loss


def has_accuracy(record: TrialRecord) -> bool:
    learning = learning_of(record)
    return learning is None or learning.evaluations[-1].accuracy is not None


def cannot_run(record: TrialRecord) -> bool:
    """Whether the size itself is at fault, so that another seed or rate would fail as well."""
    return not record.ok and (ran_out(record) or not_applicable(record) or not counts(record))


def mean_seconds(records: Sequence[TrialRecord]) -> float:
    return sum(record.seconds for record in records) / max(1, len(records))
