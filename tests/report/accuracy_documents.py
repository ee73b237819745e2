"""Documents of `accuracy` as studies leave them, from a learner on paper."""

from typing import Any

import msgspec

from report.machines import bench, machine
from search.fake_device import failure
from search.fake_learner import FakeLearner, asked, plan_of, trained
from traindyno.analysis.accuracy import conclude_accuracy
from traindyno.core.answers import Document
from traindyno.core.learning import Recipe
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.report.document import trial_entry

RATES = {32: 0.32, 64: 0.64, 128: 0.9, 256: 0.2}
"""The best ones; the linear rule is far off at 256."""
RECIPE = Recipe(learning_rate=0.32, epochs=50.0, emulated_devices=4, weight_decay=1e-4)


def accuracy_document(learner: FakeLearner | None = None, seconds: float = 812.0, **changes: Any) -> Document:
    """Note 003's table: four batch sizes on four emulated devices."""
    given = {
        "workload": WorkloadSpec(model="torchvision:mobilenet_v2", data="cifar10:/data/cifar10"),
        "bench": bench(),
        "settings": Settings(batch_size=32, device="cuda:0"),
        "sizes": (32, 64, 128, 256),
        "recipe": RECIPE,
    }
    request = asked(**(given | changes))
    learner = learner or FakeLearner(
        best_rate=RATES.__getitem__, top=0.75, seed_spread=0.004, norm_examples=lambda size: size // 4
    )
    history = trained(request, learner)
    answer = conclude_accuracy(
        request, plan_of(request).runs(history), data=request.workload.data, seconds=seconds, simulated=False
    )
    return Document(
        command="accuracy",
        study="brave-finch",
        answer=answer,
        trials=tuple(trial_entry(record) for record in history),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:00:00Z",
        state="done",
    )


def partly_failed_document() -> Document:
    failures = {(256, 0): failure(Outcome.OUT_OF_DEVICE_MEMORY), (64, 1): failure(Outcome.CRASH)}
    return accuracy_document(FakeLearner(seed_spread=0.004, failures=failures))
