"""The loss of a script: that of a trial, where the data tells the target and the model its auxiliary heads."""

from typing import Any

from torch import Tensor

from traindyno.core.errors import UsageError
from traindyno.worker.knobs.accumulation import Share
from traindyno.worker.losses import Criterion
from traindyno.worker.models.torchvision_models import auxiliary_weight_of


class GivenTargets(Criterion):
    """The loss of a trial, but that no target is ever made up, and no auxiliary head left out without a word."""

    def _target(self, output: Any, share: Share) -> Tensor | None:
        raise UsageError(
            "the batch has no target for the loss",
            "let the data give (inputs, target), or give training_step=lambda model, batch: loss",
        )

    def _weight_of_heads(self, output: Any) -> float:
        weight = auxiliary_weight_of(output)
        if weight is None:
            raise UsageError(
                f"the model returned {type(output).__name__} with auxiliary scores, and how much they count is not "
                "known",
                "give loss=lambda output, target: ..., which weighs them",
            )
        return weight
