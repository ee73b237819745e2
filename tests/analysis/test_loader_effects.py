"""Single knobs, compared in interleaved pairs."""

import msgspec
import pytest

from search.fake_loader import FakeMachine, blocks_of, loader_template
from traindyno.analysis.loader_effects import Comparison, read_comparison
from traindyno.analysis.loader_trials import LoaderTrials
from traindyno.core.loading import Feed
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialRecord

PLAIN = msgspec.structs.replace(loader_template().settings, num_workers=4)
PINNED = msgspec.structs.replace(PLAIN, pin_memory=True)
PINNING = Comparison(knob="pin_memory", value="true", without=PLAIN, changed=PINNED, first_repeat=4)


def trial(settings: Settings, repeat: int, seconds: float) -> TrialRecord:
    spec = msgspec.structs.replace(
        loader_template(), kind="feed", settings=settings, repeat=repeat, feed=Feed(supply="loader")
    )
    record = FakeMachine().run(spec)
    assert record.measurement is not None
    measured = msgspec.structs.replace(
        record.measurement, step_seconds=seconds, blocks=blocks_of(seconds, spread=0.002)
    )
    return msgspec.structs.replace(record, measurement=measured)


def pairs(*seconds: tuple[float, float]) -> LoaderTrials:
    """Trials without and with the knob, pair after pair."""
    compared = [
        trial(settings, 4 + index, value)
        for index, pair in enumerate(seconds)
        for settings, value in zip((PLAIN, PINNED), pair, strict=True)
    ]
    return LoaderTrials(with_model=True, compared=tuple(compared))


def test_the_first_trial_is_without_the_knob_the_second_with_it() -> None:
    nothing = read_comparison(PINNING, LoaderTrials(with_model=True))
    assert (nothing.next_repeat, nothing.next_is_changed) == (4, False)
    half = LoaderTrials(with_model=True, compared=(trial(PLAIN, 4, 0.1),))
    assert (read_comparison(PINNING, half).next_repeat, read_comparison(PINNING, half).next_is_changed) == (4, True)


def test_a_second_pair_always_follows_the_first() -> None:
    state = read_comparison(PINNING, pairs((0.1, 0.05)))
    assert (state.next_repeat, state.next_is_changed) == (5, False)
    assert not state.effect.adopted


def test_two_pairs_that_agree_on_a_gain_are_enough_to_adopt() -> None:
    state = read_comparison(PINNING, pairs((0.1, 0.08), (0.1, 0.0802)))
    assert state.next_repeat is None
    assert state.effect.adopted
    assert state.effect.ratio == pytest.approx(1.25, rel=0.01)


def test_two_pairs_without_a_gain_are_enough_to_leave_it() -> None:
    for seconds in ((0.1, 0.1), (0.1, 0.12)):
        state = read_comparison(PINNING, pairs(seconds, seconds))
        assert state.next_repeat is None
        assert not state.effect.adopted


def test_two_pairs_that_look_promising_but_disagree_are_followed_by_a_third_and_no_more() -> None:
    state = read_comparison(PINNING, pairs((0.1, 0.098), (0.1, 0.09)))
    assert state.next_repeat == 6
    ended = read_comparison(PINNING, pairs((0.1, 0.098), (0.1, 0.09), (0.1, 0.094)))
    assert ended.next_repeat is None
    assert ended.effect.ci95 is not None
    assert ended.effect.adopted == (ended.effect.ci95[0] > 1)


def test_a_gain_too_small_to_be_worth_having_is_left() -> None:
    state = read_comparison(PINNING, pairs((0.1, 0.0995), (0.1, 0.0995)))
    assert not state.effect.adopted


def test_a_trial_that_failed_ends_the_comparison_with_its_message() -> None:
    broken = FakeMachine(failures={4: Outcome.OUT_OF_SHARED_MEMORY}).run(trial(PINNED, 4, 0.1).spec)
    state = read_comparison(PINNING, LoaderTrials(with_model=True, compared=(trial(PLAIN, 4, 0.1), broken)))
    assert state.next_repeat is None
    assert state.effect.skipped_because == "a trial failed: out_of_shared_memory"


def test_a_knob_that_cannot_matter_asks_for_nothing() -> None:
    skipped = msgspec.structs.replace(PINNING, skipped_because="only copies to a GPU are faster")
    state = read_comparison(skipped, LoaderTrials(with_model=True))
    assert state.next_repeat is None
    assert state.effect.skipped_because == "only copies to a GPU are faster"
