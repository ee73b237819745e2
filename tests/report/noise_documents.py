"""Documents of `noise-scale` as studies leave them, from a simulated device that is told to be real."""

from typing import Any

import msgspec

from report.machines import bench, machine
from traindyno.analysis.noise_answer import conclude_noise_scale
from traindyno.core.answers import Document
from traindyno.core.learning import NoisePlan, Recipe
from traindyno.core.records import Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import NoiseScaleRequest
from traindyno.report.document import trial_entry
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.search.noise_scale import NoiseScaleStudy

WORKLOAD = WorkloadSpec(model="torchvision:resnet50", data="folder:/data/train", optimizer="adamw")


def noise_request(**changes: Any) -> NoiseScaleRequest:
    given: dict[str, Any] = {
        "workload": WORKLOAD,
        "bench": bench(),
        "settings": Settings(batch_size=32, device="cuda:0"),
        "recipe": Recipe(learning_rate=0.001, epochs=3.0, schedule="constant"),
        "plan": NoisePlan(readings=40),
    }
    return NoiseScaleRequest(**(given | changes))


def noise_history(request: NoiseScaleRequest, profile: Profile | None = None) -> list[TrialRecord]:
    template = TrialSpec(kind="fit", workload=request.workload, settings=request.settings)
    study, runner = NoiseScaleStudy(template, request), SimulatedRunner(profile or Profile(noise_scale=300.0))
    history: list[TrialRecord] = []
    while (proposal := study.ask(history)) is not None:
        history.append(runner.run(proposal.spec, Watcher(), None))
    return history


def noise_document(profile: Profile | None = None, **changes: Any) -> Document:
    request = noise_request(**changes)
    return told(request, noise_history(request, profile))


def untold_document() -> Document:
    """Gradients that may be nothing."""
    request = noise_request(seeds=1)
    run = noise_history(request)[0]
    assert run.measurement is not None
    assert run.measurement.noise is not None
    readings = tuple(
        msgspec.structs.replace(reading, gradient_squared=(-1.0) ** number)
        for number, reading in enumerate(run.measurement.noise.readings)
    )
    noise = msgspec.structs.replace(run.measurement.noise, readings=readings)
    measurement = msgspec.structs.replace(run.measurement, noise=noise)
    return told(request, [msgspec.structs.replace(run, measurement=measurement)])


def told(request: NoiseScaleRequest, history: list[TrialRecord]) -> Document:
    return Document(
        command="noise-scale",
        study="calm-heron",
        answer=conclude_noise_scale(request, history, data=request.workload.data, seconds=120.0),
        trials=tuple(trial_entry(record) for record in history),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-01T12:00:00Z",
        state="done",
    )
