"""What a long run is concluded to show, from runs in which it was planted."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.soak_runs import BATCH, BEGAN, correlated, record, record_of, request, told
from traindyno.analysis.soak import conclude_soak
from traindyno.analysis.soak_change import sudden_change
from traindyno.analysis.soak_drift import FEWEST_SPANS, drift_of, is_shown
from traindyno.analysis.soak_ends import ends_ratio
from traindyno.analysis.soak_neighbours import rank_correlation
from traindyno.analysis.soak_run import SoakRun
from traindyno.analysis.soak_stalls import periodic_stall
from traindyno.core.answers import SoakAnswer
from traindyno.core.records import Settings, TrialRecord
from traindyno.core.soaking import Soak, SoakBlock


def concluded(run: TrialRecord, **fields: Any) -> SoakAnswer:
    return conclude_soak(request(**fields), run, seconds=1.0)


def falling(percent_per_minute: float, seconds: float = 300.0) -> Any:
    """Speed that changes by so much of what it has in the middle of the run."""
    return lambda at: 1 + percent_per_minute * (at - seconds / 2) / 6000


def points(seed: int, likeness: float, percent: float, count: int) -> list[tuple[float, float]]:
    factor, speed = correlated(seed, likeness, 0.02), falling(percent, count)
    return [(float(at), 1000 * speed(at) * factor()) for at in range(count)]


@pytest.mark.parametrize("likeness", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("percent", [0.0, -1.5])
def test_the_interval_of_a_drift_holds_the_truth_about_95_times_in_100(likeness: float, percent: float) -> None:
    held = 0
    for seed in range(150):
        drift = drift_of(points(seed, likeness, percent, 240))
        assert drift is not None
        held += drift[1][0] <= percent <= drift[1][1]
    assert 0.89 <= held / 150 <= 0.995


def test_of_the_fewest_spans_noise_alone_hardly_ever_shows_a_drift() -> None:
    shown = 0
    for seed in range(2000):
        factor = correlated(seed, 0.0, 0.02)
        drift = drift_of([(12.0 * number, 1000 * factor()) for number in range(FEWEST_SPANS)])
        assert drift is not None
        shown += is_shown(drift)
    assert shown / 2000 <= 0.07


def test_single_stalls_do_not_bend_the_line() -> None:
    run = points(1, 0.0, -1.0, 300)
    stalled = [(at, rate * (0.3 if index % 17 == 0 else 1.0)) for index, (at, rate) in enumerate(run)]
    drift = drift_of(stalled)
    assert drift is not None
    assert drift[1][0] < -1.0 < drift[1][1]
    assert drift[1][1] - drift[1][0] < 1.0


@given(st.floats(0.01, 1e6), st.integers(0, 20))
def test_a_drift_in_percent_does_not_depend_on_the_unit_of_the_rate(unit: float, seed: int) -> None:
    run = points(seed, 0.5, -1.0, 150)
    drift, scaled = drift_of(run), drift_of([(at, rate * unit) for at, rate in run])
    assert drift is not None
    assert scaled is not None
    assert scaled[0] == pytest.approx(drift[0], rel=1e-6, abs=1e-9)


def test_a_planted_drift_is_found_and_said_with_its_interval() -> None:
    answer = concluded(record(speed=falling(-1.2)))
    assert answer.ci95 is not None
    assert answer.ci95[0] < -1.2 < answer.ci95[1] < 0
    assert told(answer.verdicts, "Throughput fell 1.", "% per minute (")


def test_without_a_drift_the_interval_holds_zero_and_none_is_claimed() -> None:
    answer = concluded(record())
    assert answer.ci95 is not None
    assert answer.ci95[0] <= 0 <= answer.ci95[1]
    assert told(answer.verdicts, "No drift is shown")


def test_a_run_too_short_for_a_drift_says_so_and_gives_none() -> None:
    answer = concluded(record(seconds=90.0), run_seconds=90.0)
    assert (answer.drift_percent_per_minute, answer.ci95) == (None, None)
    assert told(answer.verdicts, "Too short to tell a drift", "--minutes")


def test_a_run_of_too_few_steps_is_told_how_long_it_must_be() -> None:
    blocks = tuple(SoakBlock(end_seconds=10.0 * number, seconds=10.0, steps=1) for number in range(1, 21))
    answer = concluded(record_of(Soak(began=BEGAN, blocks=blocks, epochs=())), run_seconds=200.0)
    assert answer.drift_percent_per_minute is None
    assert told(answer.verdicts, "Too short to tell a drift: 2 min 40 s are left", "at least 3 min 20 s are needed")


def test_a_slow_first_minute_is_no_drift() -> None:
    answer = concluded(record(speed=lambda at: 0.7 if at < 50 else 1.0))
    assert answer.ci95 is not None
    assert answer.ci95[0] <= 0 <= answer.ci95[1]


@pytest.mark.parametrize(("after", "word"), [(0.85, "fell"), (1.2, "rose")])
def test_a_rate_that_changes_all_at_once_is_told_with_its_moment(after: float, word: str) -> None:
    run = record(speed=lambda at: 1.0 if at < 180 else after)
    change = sudden_change(SoakRun.of(run).settled_points)
    assert change is not None
    assert change.at_seconds == pytest.approx(180, abs=8)
    assert change.ratio == pytest.approx(after, abs=0.02)
    assert told(concluded(run).verdicts, f"Throughput {word} all at once, by ")


@pytest.mark.parametrize("likeness", [0.0, 0.9])
@pytest.mark.parametrize("percent", [0.0, -2.0])
def test_neither_noise_nor_a_steady_drift_is_taken_for_a_sudden_change(likeness: float, percent: float) -> None:
    found = [sudden_change(points(seed, likeness, percent, 300)) for seed in range(60)]
    assert sum(change is not None for change in found) <= 3


def stepped(seed: int, percent: float, seconds: int) -> list[tuple[float, float]]:
    """A rate that falls by 3 % in the middle, and drifts besides by so much of its median."""
    return [(at, rate * (1.0 if at < seconds / 2 else 0.97)) for at, rate in quiet(seed, percent, seconds)]


def quiet(seed: int, percent: float, seconds: int) -> list[tuple[float, float]]:
    factor, speed = correlated(seed, 0.0, 0.01), falling(percent, seconds)
    return [(float(at), 1000 * speed(at) * factor()) for at in range(seconds)]


@pytest.mark.parametrize("percent", [0.0, -0.15])
def test_a_change_at_once_is_not_told_as_a_drift_too_and_hides_none(percent: float) -> None:
    """A run that is slower in its second half would have a steep line through all of it."""
    held = []
    for seed in range(100):
        run = stepped(seed, percent, 600)
        if (change := sudden_change(run)) is not None:
            drift = drift_of(run, change.at_seconds)
            assert drift is not None
            held.append(drift[1][0] <= percent <= drift[1][1])
    assert len(held) >= 50
    assert sum(held) / len(held) >= 0.89


def test_what_changed_at_once_is_in_the_answer_and_the_drift_is_what_there_is_besides() -> None:
    answer = concluded(record(seconds=600, speed=lambda at: 1.0 if at < 330 else 0.97, spread=0.01, likeness=0.0))
    assert answer.change_ratio == pytest.approx(0.97, abs=0.005)
    assert answer.change_seconds == pytest.approx(330, abs=20)
    assert told(answer.verdicts, "Besides, no steady drift is shown")


def test_what_drifts_beside_a_change_is_no_part_of_it() -> None:
    """The halves differ by 10 % at once, and by another 2 % that came bit by bit."""
    answer = concluded(record(seconds=660, speed=lambda at: (1.0 if at < 360 else 0.9) - 0.004 * (at - 60) / 60))
    assert answer.change_ratio == pytest.approx(0.88 / 0.98, abs=0.006)
    assert told(answer.verdicts, "Throughput fell all at once, by 10.")
    assert told(answer.verdicts, "Besides, throughput fell 0.4", "% per minute (")


def test_a_small_drift_of_a_long_run_keeps_its_figures() -> None:
    """Two percent in eight hours."""
    hours = 8 * 3600.0
    run = record(seconds=hours, speed=lambda at: 1 - 0.02 * at / hours, spread=0.01, likeness=0.0)
    sentence = next(each for each in concluded(run, run_seconds=hours).verdicts if "Throughput fell" in each)
    assert "fell 0.0042 % per minute (0.004" in sentence


@pytest.mark.parametrize(
    ("speed", "how", "ratio"),
    [
        (lambda at: 1 - 0.15 * max(0.0, at - 200) / 100, "fell by 10.", 0.89),
        (lambda at: 1 - 0.25 * math.exp(-at / 60), "rose by 6.", 1.07),
    ],
)
def test_a_change_that_is_neither_a_line_nor_a_step_is_told_by_the_ends(speed: Any, how: str, ratio: float) -> None:
    answer = concluded(record(speed=speed))
    assert answer.ends_ratio == pytest.approx(ratio, abs=0.006)
    assert told(answer.verdicts, f"Throughput {how}", "from the first to the last fifth", "not along a line")
    assert not told(answer.verdicts, "No drift is shown")


def test_a_change_told_as_a_line_or_a_step_is_not_told_by_the_ends_too() -> None:
    assert concluded(record(speed=falling(-1.2))).ends_ratio is None
    assert concluded(record(speed=lambda at: 1.0 if at < 180 else 0.85)).ends_ratio is None


@pytest.mark.parametrize("seconds", [121, 240])
@pytest.mark.parametrize("likeness", [0.0, 0.5, 0.9])
def test_noise_alone_hardly_ever_carries_the_ends_apart(likeness: float, seconds: int) -> None:
    found = [ends_ratio(points(seed, likeness, 0.0, seconds)) for seed in range(200)]
    assert sum(ratio is not None for ratio in found) < 0.03 * len(found)


def test_a_run_that_wavers_is_not_said_to_fall() -> None:
    wave = [(float(at), 1000 + 50 * math.cos(at / 240 * 3 * math.pi)) for at in range(240)]
    assert ends_ratio(wave) is None


@given(st.floats(0.01, 1e6), st.integers(0, 20))
def test_the_ratio_of_the_ends_does_not_depend_on_the_unit_of_the_rate(unit: float, seed: int) -> None:
    run = [(at, rate * (1 - 0.3 * max(0.0, at - 100) / 50)) for at, rate in points(seed, 0.5, 0.0, 150)]
    assert ends_ratio([(at, rate * unit) for at, rate in run]) == pytest.approx(ends_ratio(run))


def hot(at: float) -> dict[str, Any]:
    reasons = ("power cap", "thermal software slowdown") if at > 150 else ("power cap",)
    return {"utilization_percent": 99, "clock_reasons": reasons, "sm_clock_mhz": 1980 - round(at)}


def test_heat_is_named_when_the_driver_names_it_with_its_share_and_the_clocks() -> None:
    answer = concluded(record(speed=falling(-1.2), reading=hot))
    assert answer.throttle.thermal
    assert answer.throttle.shares["thermal software slowdown"] == pytest.approx(0.5, abs=0.01)
    assert told(answer.verdicts, "Throughput fell", "the clocks fell from", "thermal software slowdown for 50 %")
    assert told(answer.verdicts, "Heat held the clocks back", "airflow")


def test_a_hot_card_that_slows_down_is_not_called_throttled_unless_the_driver_says_so() -> None:
    scorching = {"utilization_percent": 99, "clock_reasons": (), "temperature_celsius": 95, "sm_clock_mhz": 1200}
    answer = concluded(record(speed=falling(-3.0), reading=lambda at: scorching))
    assert (answer.throttle.known, answer.throttle.thermal) == (True, False)
    assert told(answer.verdicts, "Throughput fell", "the driver reports no heat")
    assert not told(answer.verdicts, "Heat held")


def glimpsed(readings: int) -> Any:
    """Heat, named by the driver in so many readings."""

    def reading(at: float) -> dict[str, Any]:
        reasons = ("thermal software slowdown",) if 150 <= at < 150 + readings else ()
        return {"utilization_percent": 99, "clock_reasons": reasons}

    return reading


@pytest.mark.parametrize(("readings", "heat"), [(1, False), (2, False), (4, True)])
def test_a_moment_of_heat_is_listed_but_is_no_verdict(readings: int, heat: bool) -> None:
    answer = concluded(record(reading=glimpsed(readings)))
    assert answer.throttle.thermal is heat
    assert "thermal software slowdown" in answer.throttle.shares
    assert told(answer.verdicts, "Heat held the clocks back") is heat
    assert told(answer.verdicts, "Seen too rarely to matter: thermal software slowdown for 0.") is not heat


def test_a_single_reading_is_no_verdict_however_few_there_are() -> None:
    few = record(reading=lambda at: glimpsed(1)(at) if 100 <= at <= 160 else {})
    assert concluded(few).throttle.thermal is False


def test_a_fall_is_not_laid_to_a_moment_of_heat() -> None:
    answer = concluded(record(speed=falling(-1.2), reading=glimpsed(1)))
    assert told(answer.verdicts, "Throughput fell", "the driver hardly reports heat")


@pytest.mark.parametrize(
    ("counters", "known"),
    [
        ({"sync boost": 0}, False),
        ({"power cap": 0}, False),
        ({"thermal slowdown": 0}, False),
        ({"thermal slowdown": 0, "power cap": 0}, True),
    ],
)
def test_counters_alone_tell_only_if_there_is_one_for_heat_and_one_for_power(
    counters: dict[str, int], known: bool
) -> None:
    answer = concluded(record(reading=lambda at: {"utilization_percent": 99, "throttle_counters": counters}))
    assert answer.throttle.known is known
    assert told(answer.verdicts, "neither heat nor the power limit") is known


def test_a_power_cap_is_told_apart_and_is_not_called_heat() -> None:
    capped = {"utilization_percent": 100, "clock_reasons": ("power cap",)}
    answer = concluded(record(reading=lambda at: capped))
    assert (answer.throttle.thermal, answer.throttle.power_cap) == (False, True)
    assert told(answer.verdicts, "The power limit set the clocks", "power cap for 100 % of the time")
    assert not told(answer.verdicts, "Heat")


def test_counters_tell_of_heat_that_no_reading_happened_to_see() -> None:
    def counted(at: float) -> dict[str, Any]:
        return {"clock_reasons": (), "throttle_counters": {"thermal slowdown": 7 * 10**15 + int(at * 1e8)}}

    answer = concluded(record(reading=counted))
    assert answer.throttle.thermal
    assert answer.throttle.seconds["thermal slowdown"] == pytest.approx(30, rel=0.02)
    assert told(answer.verdicts, "Heat held the clocks back", "by the driver's counter")


def test_other_reasons_are_named_and_harmless_ones_are_not() -> None:
    def held(at: float) -> dict[str, Any]:
        return {"utilization_percent": 9, "clock_reasons": ("applications clocks", "board limit")}

    answer = concluded(record(reading=held))
    assert set(answer.throttle.shares) == {"board limit"}
    assert told(answer.verdicts, "Something else held the clocks: board limit")


@pytest.mark.parametrize("reading", [None, lambda at: {"own_cpu_share": 0.5}])
def test_what_nobody_told_is_unknown_and_not_zero(reading: Any) -> None:
    answer = concluded(record(reading=reading), price_per_kwh=0.3, epoch_examples=1000)
    assert not answer.throttle.known
    assert (answer.throttle.thermal, answer.throttle.power_cap) == (None, None)
    assert (answer.energy_joules_per_example, answer.cost_per_epoch) == (None, None)
    assert "temperature_celsius" not in answer.ranges
    assert told(answer.verdicts, "unknown", "the driver does not tell")
    assert told(answer.verdicts, "no cost per epoch", "energy is unknown")


def test_a_slow_first_epoch_is_told_apart_from_drift() -> None:
    answer = concluded(record(speed=lambda at: 0.8 if at < 60 else 1.0, epoch_seconds=60))
    assert answer.first_epoch_ratio == pytest.approx(0.8, abs=0.01)
    assert told(answer.verdicts, "The first epoch was 20", "slower")
    assert answer.ci95 is not None
    assert answer.ci95[0] <= 0 <= answer.ci95[1]


def test_a_drift_does_not_make_the_first_epoch_look_fast() -> None:
    answer = concluded(record(seconds=600, speed=falling(-1.5, 600), epoch_seconds=100))
    assert answer.first_epoch_ratio == pytest.approx(1, abs=0.015)
    assert not told(answer.verdicts, "first epoch was")


def test_a_first_epoch_like_the_others_is_not_spoken_of() -> None:
    answer = concluded(record(epoch_seconds=60))
    assert answer.first_epoch_ratio == pytest.approx(1, abs=0.01)
    assert not told(answer.verdicts, "first epoch was")


@pytest.mark.parametrize(
    ("settings", "advice"),
    [
        (Settings(batch_size=BATCH, num_workers=4), "persistent_workers=true"),
        (Settings(batch_size=BATCH, num_workers=4, persistent_workers=True), "are waited for"),
    ],
)
def test_the_pause_after_each_epoch_is_told_with_its_share_and_what_helps(settings: Settings, advice: str) -> None:
    answer = concluded(record(epoch_seconds=60, pause_seconds=3.0), settings=settings)
    assert answer.epoch_pause_seconds == pytest.approx(3.0)
    assert told(answer.verdicts, "After each epoch training paused for 3.00 s (median of 4", advice)


def test_pauses_between_epochs_are_no_drift_and_no_periodic_stall() -> None:
    answer = concluded(record(seconds=600, epoch_seconds=40, pause_seconds=5.0))
    assert answer.ci95 is not None
    assert answer.ci95[0] <= 0 <= answer.ci95[1]
    assert not told(answer.verdicts, "came back")


def test_stalls_that_come_back_are_told_with_their_period() -> None:
    run = record(speed=lambda at: 0.4 if at % 30 < 1 else 1.0)
    stall = periodic_stall(SoakRun.of(run))
    assert stall is not None
    assert stall.period_seconds == pytest.approx(30, rel=0.1)
    assert stall.lost_seconds == pytest.approx(1.5, rel=0.1)
    assert told(concluded(run).verdicts, "a stall of about 1.", "came back (8 times)")


@pytest.mark.parametrize(
    ("device", "words"), [("cpu", "30 % of the run was spent waiting"), ("cuda:0", "30 % of the run the host waited")]
)
def test_a_host_that_waits_for_batches_is_not_said_to_hold_a_gpu_up(device: str, words: str) -> None:
    """It works ahead of the GPU, and must wait somewhere."""
    run = record()
    assert run.measurement is not None
    assert run.measurement.soak is not None
    blocks = tuple(
        msgspec.structs.replace(each, wait_seconds=0.3 * each.seconds) for each in run.measurement.soak.blocks
    )
    soak = msgspec.structs.replace(run.measurement.soak, blocks=blocks)
    waiting = msgspec.structs.replace(run, measurement=msgspec.structs.replace(run.measurement, soak=soak))
    verdicts = concluded(waiting, device=device).verdicts
    assert told(verdicts, words)
    assert len([each for each in verdicts if "traindyno stalls" in each]) == 1


def test_stalls_at_odd_times_are_not_called_periodic() -> None:
    odd = (65, 71, 130, 134, 210, 290)
    answer = concluded(record(speed=lambda at: 0.4 if int(at) in odd else 1.0))
    assert not told(answer.verdicts, "came back")


def noisy(at: float) -> dict[str, Any]:
    return {"other_cpu_share": 0.6 if at % 60 >= 30 else 0.02, "foreign_gpu_processes": 0}


def test_a_neighbour_whose_load_goes_with_slow_blocks_is_named() -> None:
    answer = concluded(record(speed=lambda at: 0.85 if at % 60 >= 30 else 1.0, reading=noisy))
    assert told(answer.verdicts, "Noisy neighbour", "up to 60 % of the CPUs", "slower")


def test_a_neighbour_who_does_no_harm_is_not_blamed() -> None:
    answer = concluded(record(reading=noisy))
    assert not told(answer.verdicts, "Noisy neighbour")


def test_others_who_take_most_cpus_all_along_are_mentioned() -> None:
    answer = concluded(record(reading=lambda at: {"other_cpu_share": 0.7}))
    assert told(answer.verdicts, "Not alone: other programs took 70 % of the CPUs all along")


def test_foreign_processes_on_the_gpu_are_named() -> None:
    answer = concluded(record(reading=lambda at: {"foreign_gpu_processes": 2}))
    assert told(answer.verdicts, "2 other processes used the GPU")


def powered(at: float) -> dict[str, Any]:
    return {"power_watts": 300.0, "utilization_percent": 99}


def test_energy_comes_from_the_counter_where_there_is_one_and_else_from_power() -> None:
    by_power = concluded(record(reading=powered, spread=0.0))
    by_counter = concluded(record(reading=lambda at: {**powered(at), "energy_joules": 5e6 + 450.0 * at}, spread=0.0))
    assert by_power.energy_joules_per_example == pytest.approx(300 / by_power.examples_per_second)
    assert by_counter.energy_joules_per_example == pytest.approx(450 / by_counter.examples_per_second)


def test_an_epoch_costs_machine_time_and_energy() -> None:
    answer = concluded(record(reading=powered), epoch_examples=3200, price_per_hour=36.0, price_per_kwh=3.6)
    seconds = 3200 / answer.examples_per_second
    assert answer.energy_joules_per_epoch == pytest.approx(300 * seconds)
    assert answer.cost_per_epoch == pytest.approx(0.01 * seconds + 300 * seconds * 1e-6)
    assert answer.epochs == int(answer.run_seconds * answer.examples_per_second / 3200)


def test_an_unknown_energy_leaves_the_machine_s_cost_and_is_said_not_to_be_in_it() -> None:
    prices = {"epoch_examples": 3200, "price_per_hour": 36.0}
    answer = concluded(record(), **prices, price_per_kwh=0.3)
    assert answer.cost_per_epoch == pytest.approx(0.01 * 3200 / answer.examples_per_second)
    assert told(answer.verdicts, "The cost per epoch is the machine's alone", "energy is unknown")
    assert not told(concluded(record(), **prices).verdicts, "energy is unknown")


def test_the_epoch_that_the_user_gives_goes_before_that_of_the_data() -> None:
    run = record(epoch_seconds=60, reading=powered)
    answer = concluded(run, epoch_examples=1_000_000, price_per_hour=36.0)
    seconds = 1_000_000 / answer.examples_per_second
    assert answer.energy_joules_per_epoch == pytest.approx(300 * seconds)
    assert answer.cost_per_epoch == pytest.approx(0.01 * seconds)
    assert answer.epochs == concluded(run).epochs > 0


def test_without_a_price_there_is_no_cost_and_without_an_epoch_the_reason_is_told() -> None:
    assert concluded(record(reading=powered), epoch_examples=100).cost_per_epoch is None
    answer = concluded(record(reading=powered), price_per_hour=1.0)
    assert answer.cost_per_epoch is None
    assert told(answer.verdicts, "--epoch-examples")


def test_ranges_are_of_the_run_alone() -> None:
    run = record(reading=lambda at: {"temperature_celsius": 40 + round(at / 10), "own_memory_bytes": 100})
    assert run.series is not None
    before = msgspec.structs.replace(run.series.readings[0], at=1.0, temperature_celsius=5)
    early = msgspec.structs.replace(run.series, readings=(before, *run.series.readings))
    answer = concluded(msgspec.structs.replace(run, series=early))
    assert answer.ranges["temperature_celsius"] == (40, 70)


def test_a_run_that_ended_early_is_concluded_over_what_there_is() -> None:
    answer = concluded(record(seconds=200), run_seconds=1800.0)
    assert answer.run_seconds == pytest.approx(200, abs=2)
    assert answer.drift_percent_per_minute is not None
    assert told(answer.verdicts, "ended after 3 min 2", "of 30 min")


def test_costly_sampling_is_admitted() -> None:
    run = record(reading=powered)
    assert run.series is not None
    costly = msgspec.structs.replace(run, series=msgspec.structs.replace(run.series, cost=0.03))
    assert told(concluded(costly).verdicts, "Reading the machine took 3.0 %")
    assert not told(concluded(run).verdicts, "Reading the machine")


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=30, unique=True))
def test_ranks_agree_with_themselves_and_oppose_their_mirror(values: list[float]) -> None:
    assert rank_correlation(values, values) == pytest.approx(1)
    assert rank_correlation(values, [-value for value in values]) == pytest.approx(-1)
