"""The order of a noise-scale study: runs first, then step times as far as they can matter; resumable anywhere."""

from typing import Any

import msgspec

from traindyno.core.learning import NoisePlan, Recipe
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Failure, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, NoiseScaleRequest
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.search.noise_scale import NoiseScaleStudy

WORKLOAD = WorkloadSpec(model="mlp:64", data="digits:")
TEMPLATE = TrialSpec(kind="fit", workload=WORKLOAD, settings=Settings(batch_size=32, device="cuda"))


def request_of(**changes: Any) -> NoiseScaleRequest:
    given: dict[str, Any] = {
        "workload": WORKLOAD,
        "bench": Bench(seed=5),
        "settings": Settings(batch_size=32, device="cuda"),
        "recipe": Recipe(learning_rate=0.1, epochs=2.0),
        "plan": NoisePlan(readings=20),
    }
    return NoiseScaleRequest(**(given | changes))


def study_of(request: NoiseScaleRequest) -> NoiseScaleStudy:
    return NoiseScaleStudy(msgspec.structs.replace(TEMPLATE, settings=request.settings), request)


def followed(request: NoiseScaleRequest, profile: Profile | None = None, most: int = 200) -> list[TrialRecord]:
    """The whole study on a simulated device."""
    study, history = study_of(request), list[TrialRecord]()
    runner = SimulatedRunner(profile or Profile(examples=5000))
    while (proposal := study.ask(history)) is not None and len(history) < most:
        assert proposal.expected_trials > len(history)
        history.append(runner.run(proposal.spec, Watcher(), None))
    return history


def timed(history: list[TrialRecord]) -> list[int]:
    return sorted({record.batch_size for record in history if record.spec.kind == "speed"})


def test_every_seed_is_read_before_any_step_is_timed() -> None:
    history = followed(request_of(seeds=3))
    kinds = [record.spec.kind for record in history]
    assert kinds[:3] == ["noise"] * 3
    assert set(kinds[3:]) == {"speed"}
    assert [record.spec.seed for record in history[:3]] == [5, 6, 7]
    assert all(record.spec.recipe == request_of().recipe for record in history[:3])


def test_step_times_are_taken_in_rounds_of_fresh_processes() -> None:
    history = followed(request_of(sizes=(16, 64, 256), repeats=3))
    assert timed(history) == [16, 64, 256]
    assert sum(record.spec.kind == "speed" for record in history) == 9


def test_sizes_double_until_steps_can_hardly_become_fewer() -> None:
    sizes = timed(followed(request_of(), Profile(examples=10**6, noise_scale=4.0)))
    assert sizes[0] == 8
    assert 256 <= sizes[-1] <= 512


def test_sizes_end_with_the_data_and_where_the_user_says() -> None:
    assert timed(followed(request_of(), Profile(examples=300)))[-1] == 256
    assert timed(followed(request_of(largest=64)))[-1] == 64


def test_sizes_end_with_the_memory() -> None:
    history = followed(request_of(), Profile(examples=10**6, limit=200))
    assert timed([record for record in history if record.ok])[-1] == 128
    assert timed(history)[-1] == 256


def test_the_batch_that_was_asked_about_is_timed_too() -> None:
    settings = Settings(batch_size=48, device="cuda")
    assert 48 in timed(followed(request_of(settings=settings)))


def test_with_accumulation_all_sizes_can_be_parted() -> None:
    settings = Settings(batch_size=48, device="cuda", accumulation_steps=3)
    sizes = timed(followed(request_of(settings=settings)))
    assert sizes[:4] == [9, 18, 36, 48]
    assert all(size % 3 == 0 for size in sizes)


def test_a_study_cut_anywhere_goes_on_as_if_it_had_not_been() -> None:
    request = request_of(seeds=2, sizes=(16, 32, 64))
    history = followed(request)
    for cut in range(len(history)):
        proposal = study_of(request).ask(history[:cut])
        assert proposal is not None
        assert proposal.spec == history[cut].spec
    assert study_of(request).ask(history) is None


def test_without_a_noise_scale_no_step_is_timed() -> None:
    request = request_of(seeds=1)
    (run,) = followed(request, most=1)
    assert run.measurement is not None
    assert run.measurement.noise is not None
    faint = [
        msgspec.structs.replace(reading, gradient_squared=(-1.0) ** number)
        for number, reading in enumerate(run.measurement.noise.readings)
    ]
    noise = msgspec.structs.replace(run.measurement.noise, readings=tuple(faint))
    told = msgspec.structs.replace(run, measurement=msgspec.structs.replace(run.measurement, noise=noise))
    assert study_of(request).ask([told]) is None


def test_a_run_that_failed_is_not_tried_again_and_the_others_still_count() -> None:
    request = request_of(seeds=2, sizes=(16,))
    first = study_of(request).ask([])
    assert first is not None
    failure = Failure(outcome=Outcome.TIMEOUT, message="too slow", remedy=REMEDIES[Outcome.TIMEOUT])
    failed = TrialRecord(spec=first.spec, outcome=Outcome.TIMEOUT, seconds=1.0, failure=failure)
    second = study_of(request).ask([failed])
    assert second is not None
    assert (second.spec.kind, second.spec.seed) == ("noise", 6)
