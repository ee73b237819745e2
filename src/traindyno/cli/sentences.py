"""One line about one trial."""

import math

from traindyno.analysis.noise_scale import noise_scale_of
from traindyno.analysis.noise_verdicts import figure
from traindyno.analysis.switch_losses import final_loss
from traindyno.core.codec import plain
from traindyno.core.events import TrialFinished, TrialProgress, TrialStarted
from traindyno.core.learning import Learning, Noise
from traindyno.core.records import Measurement, Pair, TrialRecord, TrialSpec
from traindyno.core.rounds import Draw, Value
from traindyno.core.soaking import Reading, Soak
from traindyno.core.units import count_of, format_bytes, format_rate, format_seconds
from traindyno.report.trials import LOADING, fed_words, group_words, learning_words, switched_words


def describe_spec(spec: TrialSpec) -> str:
    """What is being tried, in a few words."""
    if spec.draw is not None:
        return describe_draw(spec.draw, spec.seed)
    margin = f" within {1 - spec.margin:.0%} of memory" if spec.margin else ""
    fed = fed_words(spec.kind, spec.workload.data, plain(spec.settings), plain(spec.feed))
    switched = switched_words(spec.kind, plain(spec.settings), plain(spec.against))
    losses = f"losses from seed {spec.seed}" if spec.kind == "losses" else ""
    learns = learning_words(plain(spec.recipe), spec.seed)
    group = group_words(spec.settings.batch_size, plain(spec.group))
    parts = (f"batch {spec.settings.batch_size}{margin}", group, fed, losses, learns, switched)
    return ", ".join(part for part in parts if part)


def describe_draw(draw: Draw, seed: int) -> str:
    """`mlp:64x64, learning_rate 0.0312, momentum 0.9`: which run of a round; one with a seed of its own tells it."""
    if draw.phase == "gate":
        return f"the incumbent, seed {seed}"
    if draw.phase == "confirm":
        return f"{draw.arm}, fresh seed {seed}"
    # The target's value is among the others; one that speaks for itself needs no name.
    named = {name: "" if value == draw.arm and ":" in draw.arm else f"{name} " for name, value in draw.values.items()}
    return ", ".join(f"{named[name]}{_short(value)}" for name, value in draw.values.items()) or draw.arm


def _short(value: Value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def describe_record(record: TrialRecord) -> str:
    """What came of it."""
    if record.measurement is None:
        assert record.failure is not None
        return record.outcome.replace("_", " ")
    if record.spec.kind == "fit":
        return f"fits, {format_bytes(record.measurement.memory.peak_bytes)}"
    if record.measurement.pair is not None:
        return _times_as_fast(record.measurement.pair)
    if record.measurement.losses:
        return (
            f"loss {final_loss(record.measurement.losses):.4g} after {count_of(len(record.measurement.losses), 'step')}"
        )
    if record.measurement.soak is not None:
        return _long_run(record.measurement, record.measurement.soak)
    if record.measurement.learning is not None:
        return _learnt(record.measurement, record.measurement.learning)
    if record.measurement.job is not None:
        return f"{record.measurement.job.value:.4g} after {format_seconds(record.measurement.job.seconds)}"
    if record.measurement.noise is not None:
        return _read(record.measurement.noise)
    unit = "batch" if record.spec.kind in LOADING[:2] else "step"
    return _speed(record.measurement, unit)


def _times_as_fast(pair: Pair) -> str:
    # The ratio is of turns taken together; the candidate's own median need not agree with it.
    baseline, interval = pair.baseline.step_seconds, _plus_or_minus(pair.ratio, pair.ci95)
    steps = f"{format_seconds(baseline / pair.ratio)}/step against {format_seconds(baseline)}"
    steady = "" if pair.baseline.steady and pair.candidate.steady else " (!) not steady"
    return f"{pair.ratio:.3f}× as fast{interval}, {steps}{steady}"


def _plus_or_minus(value: float, interval: tuple[float, float]) -> str:
    """` ± 0.4%`; nothing where there is no interval, and no figure where it is wider than the value."""
    spread = (interval[1] - interval[0]) / 2 / value
    if not math.isfinite(spread):
        return ""
    return f" ± {spread:.1%}" if spread <= 1 else " ± over 100 %"


def _long_run(measurement: Measurement, soak: Soak) -> str:
    seconds = soak.blocks[-1].end_seconds
    rate = measurement.batch_size * sum(block.steps for block in soak.blocks) / seconds
    memory = format_bytes(measurement.memory.peak_bytes)
    return f"{format_rate(rate)} examples/s over {format_seconds(seconds)}, {memory}"


def _learnt(measurement: Measurement, learning: Learning) -> str:
    last = learning.evaluations[-1]
    accuracy = "" if last.accuracy is None else f"accuracy {last.accuracy:.1%}, "
    diverged = " (!) diverged" if learning.diverged else ""
    rate = f"{format_rate(measurement.examples_per_second)} examples/s"
    return f"{accuracy}loss {last.loss:.4g} after {count_of(learning.steps, 'step')}, {rate}{diverged}"


def _read(noise: Noise) -> str:
    scale = noise_scale_of([noise]).value
    told = "no noise scale" if scale is None else f"noise scale {figure(scale)}"
    last = f"training loss {noise.readings[-1].loss:.4g} at the last of {len(noise.readings)} readings"
    return f"{told} over {count_of(noise.steps, 'step')}, {last}"


def _speed(measurement: Measurement, unit: str) -> str:
    interval = _plus_or_minus(measurement.step_seconds, measurement.ci95)
    steady = "" if measurement.steady else " (!) not steady"
    return (
        f"{format_rate(measurement.examples_per_second)} examples/s{interval}, "
        f"{format_seconds(measurement.step_seconds)}/{unit}, {format_bytes(measurement.memory.peak_bytes)}{steady}"
    )


def describe_start(event: TrialStarted) -> str:
    return f"{describe_spec(event.spec)} ({event.reason})"


def describe_progress(progress: TrialProgress) -> str:
    rate = "" if progress.step_seconds is None else f", {format_seconds(progress.step_seconds)}/step"
    planned = progress.planned_steps
    made = count_of(progress.steps, "step") if planned is None else f"{progress.steps:,} of {planned:,} steps"
    steps = f", {made}" if progress.steps else ""
    accuracy = "" if progress.accuracy is None else f", accuracy {progress.accuracy:.1%}"
    return f"{progress.phase}{steps}{rate}{accuracy}{_reading(progress.reading)}"


def _reading(reading: Reading | None) -> str:
    """What the machine tells at this moment, as far as it tells."""
    if reading is None:
        return ""
    parts = (
        None if reading.temperature_celsius is None else f"{reading.temperature_celsius} °C",
        None if reading.sm_clock_mhz is None else f"{reading.sm_clock_mhz} MHz",
        None if reading.power_watts is None else f"{reading.power_watts:.0f} W",
        None if reading.own_cpu_share is None else f"CPUs {reading.own_cpu_share:.0%}",
    )
    told = " ".join(part for part in parts if part is not None)
    return f", {told}" if told else ""


def describe_finish(event: TrialFinished) -> str:
    """The plain line of a finished trial, with its place in the study and the time left."""
    count = f"[{event.ordinal}/{event.expected_trials}]"
    left = event.remaining_seconds
    eta = f"  (about {format_seconds(left)} left)" if left else ""
    standing = "" if event.standing is None else f"; {event.standing}"
    return f"{count} {describe_spec(event.record.spec)}: {describe_record(event.record)}{standing}{eta}"
