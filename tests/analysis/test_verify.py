"""What `verify` concludes from its rounds: also of promises that were never made, or never measured."""

import re
from typing import Any

import msgspec
import pytest

from analysis.making import ran
from traindyno.analysis.find.verify import conclude_verify, entries_of, still_holds
from traindyno.core.answers import VerifyAnswer
from traindyno.core.records import Block, Settings, TrialRecord, WorkloadSpec
from traindyno.core.requests import Bench, VerifyRequest
from traindyno.core.setups import Setup

BASELINE = Setup(data="folder:/a", settings=Settings(batch_size=64))
FASTER = Setup(data="folder:/a", settings=Settings(batch_size=64, precision="bf16"))


def verified(recommended: Setup, step_seconds: float = 0.05, **promise: Any) -> VerifyAnswer:
    """Three rounds, in which a step of the baseline takes 0.1 s."""
    request = VerifyRequest(
        workload=WorkloadSpec(model="torchvision:resnet50"), bench=Bench(), baseline=BASELINE, recommended=recommended
    )
    entries = entries_of(BASELINE, recommended)
    for entry, seconds in zip(entries, (0.1, step_seconds), strict=True):
        entry.records.update({number: ran(64, seconds, repeat=number) for number in range(3)})
    return conclude_verify(msgspec.structs.replace(request, **promise), entries, trials=6, seconds=60.0)


def test_a_gain_that_holds_is_told_beside_its_promise() -> None:
    answer = verified(FASTER, promised_speedup=2.0, promise_confirmed=True, promise_simulated=False)
    assert answer.holds is True
    (verdict,) = answer.verdicts
    assert verdict.startswith("The gain holds here: 2.00 times as fast")
    assert verdict.endswith("and 2.00 times was promised.")


def test_settings_that_are_the_baseline_s_promise_nothing() -> None:
    answer = verified(BASELINE, 0.1, promised_speedup=1.0, promised_ci95=(1.0, 1.0))
    assert answer.holds is None
    assert answer.verdicts == (
        "Nothing was promised and nothing changes: the settings of the file are the baseline's own.",
    )


def test_a_promise_that_was_simulated_or_not_confirmed_is_named() -> None:
    simulated = verified(FASTER, promised_speedup=3.0, promise_simulated=True).verdicts
    assert simulated[1:] == ("The promise was simulated: made up by the simulated runner, not measured.",)
    unconfirmed = verified(FASTER, promised_speedup=3.0, promise_confirmed=False).verdicts
    assert unconfirmed[0].startswith("The gain does not hold here")
    assert (
        unconfirmed[1] == "The promise was not confirmed: no repeated rounds by turns with the baseline agreed on it."
    )


def test_a_promise_of_a_busy_machine_is_named() -> None:
    told = verified(FASTER, promised_speedup=2.0, promise_others_cpu_share=0.75).verdicts
    assert told[1:] == ("The promise is of a busy machine: other programs took up to 75 % of its CPUs meanwhile.",)


@pytest.mark.parametrize(
    ("speedup", "ci95", "holds"),
    [(0.93, (0.91, 0.95), True), (0.8, (0.78, 0.82), False), (0.88, (0.8, 0.96), None)],
)
def test_a_batch_that_had_to_change_and_was_told_to_be_slower_is_held_to_that(
    speedup: float, ci95: tuple[float, float], holds: bool | None
) -> None:
    assert still_holds(speedup, ci95, 0.93) is holds


def test_a_verdict_tells_both_ends_of_the_interval_it_rests_on() -> None:
    request = VerifyRequest(
        workload=WorkloadSpec(model="torchvision:resnet50"), bench=Bench(), baseline=BASELINE, recommended=FASTER
    )
    entries = entries_of(BASELINE, FASTER)
    for entry, seconds in zip(entries, ((0.1, 0.1, 0.1), (0.12, 0.2, 0.3)), strict=True):
        entry.records.update({number: ran(64, each, repeat=number) for number, each in enumerate(seconds)})
    for promised, told in ((5.0, r"\(0\.\d\d to 1\.\d\d\)"), (1.2, "± over 100 %")):
        asked = msgspec.structs.replace(request, promised_speedup=promised)
        answer = conclude_verify(asked, entries, trials=6, seconds=60.0)
        assert answer.holds is (False if promised == 5.0 else None)
        assert re.search(told, answer.verdicts[0]), answer.verdicts[0]


def in_blocks(step_seconds: float, repeat: int) -> TrialRecord:
    """A run that knows its own rate well."""
    record = ran(64, step_seconds, repeat=repeat)
    assert record.measurement is not None
    blocks = tuple(Block(steps=10, seconds=10 * step_seconds * share) for share in (0.998, 1.0, 1.002, 1.0, 1.0))
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, blocks=blocks))


def test_two_rounds_that_differ_are_two_rounds() -> None:
    request = VerifyRequest(
        workload=WorkloadSpec(model="torchvision:resnet50"), bench=Bench(), baseline=BASELINE, recommended=FASTER
    )
    entries = entries_of(BASELINE, FASTER)
    for entry, seconds in zip(entries, ((0.1, 0.125), (0.05, 0.05)), strict=True):
        entry.records.update({number: in_blocks(each, number) for number, each in enumerate(seconds)})
    answer = conclude_verify(request, entries, trials=4, seconds=60.0)
    assert not answer.recommended.confirmed
    (verdict,) = answer.verdicts
    assert "its rounds differ, and in the slower one it was 2.00 times as fast" in verdict
    assert "only one round" not in verdict
    assert answer.open_because is not None
    assert verdict.endswith(answer.open_because)
