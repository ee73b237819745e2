"""What probes, loader trials and fed trials tell about the parts of a pipeline."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search.fake_loader import FakeMachine, loader_template
from traindyno.analysis.loader_fit import read_parts
from traindyno.analysis.loader_grid import with_any_probe
from traindyno.analysis.loader_parts import (
    ASSUMED_HAND_OFF_SECONDS,
    ASSUMED_PINNED_BYTES_PER_SECOND,
    LoaderParts,
    measured_seconds,
)
from traindyno.analysis.loader_trials import LoaderTrials
from traindyno.core.loading import Feed
from traindyno.core.records import Block, Settings, TrialKind, TrialRecord, TrialSpec


def trial(machine: FakeMachine, kind: TrialKind, workers: int = 0, **feed: object) -> TrialRecord:
    return machine.run(spec(machine, kind, workers, **feed))


def spec(machine: FakeMachine, kind: TrialKind, workers: int = 0, **feed: object) -> TrialSpec:
    template = loader_template(machine.device)
    changed = msgspec.structs.replace(template.settings, num_workers=workers)
    supply = "resident" if kind == "probe" else "loader"
    return msgspec.structs.replace(
        template,
        kind=kind,
        settings=changed,
        feed=Feed(supply=supply, **feed),  # type: ignore[arg-type]
    )


def parts_of(machine: FakeMachine, *records: TrialRecord) -> LoaderParts:
    parts = read_parts((trial(machine, "probe"), *records), machine.cpus)
    assert parts is not None
    return parts


def quiet(**options: object) -> FakeMachine:
    return FakeMachine(**{"noise": 0.0, "jitter": 0.0, **options})  # type: ignore[arg-type]


def test_before_a_probe_nothing_is_known() -> None:
    machine = quiet()
    assert read_parts([trial(machine, "load", 4)], 8) is None


def test_a_probe_tells_load_step_and_transfer() -> None:
    parts = parts_of(quiet(cpu_share=0.8))
    assert parts.load_seconds == pytest.approx(0.29)
    assert parts.load_cpu_share == pytest.approx(0.8)
    assert parts.step_seconds == pytest.approx(0.05)
    assert parts.transfer_seconds == pytest.approx(0.002)


def decoding(step_seconds: float, decode_seconds: float) -> LoaderParts:
    """A GPU that decodes, with a loader that costs next to nothing."""
    return LoaderParts(
        batch_size=256,
        load_seconds=0.001,
        load_cpu_share=1.0,
        load_pattern=(1.0,),
        asynchronous=True,
        cpus=8,
        step_seconds=step_seconds,
        decode_seconds=decode_seconds,
    )


def test_a_probe_of_a_gpu_that_decodes_tells_what_that_takes_and_no_copy() -> None:
    machine = quiet()
    plain = spec(machine, "probe")
    record = machine.run(plain)
    on_gpu = msgspec.structs.replace(plain, settings=msgspec.structs.replace(plain.settings, decoder="nvjpeg"))
    parts = read_parts([msgspec.structs.replace(record, spec=on_gpu)], 8)
    assert parts is not None
    assert (parts.transfer_seconds, parts.decode_seconds) == (0.0, pytest.approx(0.002))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize(("step", "decode", "expected"), [(0.04, 0.02, 0.04), (0.02, 0.05, 0.05)])
def test_a_gpu_decodes_beside_the_step(step: float, decode: float, expected: float, pinned: bool, workers: int) -> None:
    settings = Settings(batch_size=256, num_workers=workers, pin_memory=pinned, decoder="nvjpeg")
    assert decoding(step, decode).forecast(settings, alone=False).step_seconds == pytest.approx(expected, rel=0.05)


def test_batches_that_take_longer_now_and_then_count_in_what_a_batch_costs() -> None:
    """Every fifth takes twice as long: the simulation must come to the same sum, of whatever size the batches are."""
    probe = trial(quiet(), "probe")
    assert probe.measurement is not None
    blocks = tuple(Block(steps=1, seconds=0.2 if number % 5 else 0.4) for number in range(20))
    measurement = msgspec.structs.replace(probe.measurement, step_seconds=0.2, blocks=blocks)
    probe = msgspec.structs.replace(probe, measurement=measurement)
    parts = read_parts([probe], 8)
    assert parts is not None
    assert parts.load_seconds == pytest.approx(0.24)
    assert parts.load_seconds * max(parts.load_pattern) == pytest.approx(0.4)
    larger = msgspec.structs.replace(loader_template(batch_size=128), kind="load")
    trials = LoaderTrials(with_model=False, searched=(quiet().run(larger),))
    scaled = with_any_probe(trials, [probe]).probe
    assert scaled is not None
    assert measured_seconds(scaled) == pytest.approx(0.48)


def test_the_hand_over_is_assumed_until_a_trial_tells_it() -> None:
    machine = quiet(hand_off_seconds=0.004)
    assert parts_of(machine).hand_off_seconds == ASSUMED_HAND_OFF_SECONDS
    assert parts_of(machine, trial(machine, "load", 4)).hand_off_seconds == 0.004


def pinned_run(machine: FakeMachine, workers: int, seconds: float, batch_bytes: int) -> TrialRecord:
    """A run with pinned batches of so many bytes, each of which came after so long."""
    record = machine.run(msgspec.structs.replace(spec(machine, "feed", workers), settings=pinning(workers)))
    assert record.measurement is not None
    assert record.measurement.loading is not None
    loading = msgspec.structs.replace(record.measurement.loading, batch_bytes=batch_bytes)
    blocks = (Block(steps=8, seconds=8 * seconds),)
    told = msgspec.structs.replace(record.measurement, step_seconds=seconds, blocks=blocks, loading=loading)
    return msgspec.structs.replace(record, measurement=told)


def pinning(workers: int) -> Settings:
    return msgspec.structs.replace(loader_template().settings, num_workers=workers, pin_memory=True)


@pytest.mark.parametrize(("workers", "share", "refuted"), [(8, 0.9, True), (8, 1.1, False), (0, 0.9, False)])
def test_pinning_is_no_limit_once_a_run_was_faster_than_it_allows(workers: int, share: float, refuted: bool) -> None:
    """Nobody measures the copy to pinned memory; without workers no thread makes it."""
    machine, batch_bytes = quiet(), 1_000_000
    seconds = share * batch_bytes / ASSUMED_PINNED_BYTES_PER_SECOND
    parts = parts_of(machine, pinned_run(machine, workers, seconds, batch_bytes))
    quick = msgspec.structs.replace(
        parts, batch_bytes=10**9, load_seconds=1e-6, step_seconds=1e-6, transfer_seconds=0.0, launch_seconds=0.0
    )
    assert (quick.forecast(pinning(8), alone=False).step_seconds < 0.1) is refuted


def test_batches_that_differ_keep_their_pattern() -> None:
    even, uneven = parts_of(quiet()), parts_of(quiet(jitter=0.4))
    assert max(even.load_pattern) == pytest.approx(1.0)
    assert max(uneven.load_pattern) > 1.3
    assert sum(uneven.load_pattern) / len(uneven.load_pattern) == pytest.approx(1.0)


@settings(max_examples=25, deadline=None)
@given(st.floats(0, 0.3), st.sampled_from([1.0, 0.4]), st.sampled_from([2, 4, 8, 16]))
def test_once_the_loader_was_tried_alone_its_forecast_there_agrees(
    overhead: float, hyperthreads: float, cpus: int
) -> None:
    machine = quiet(cpus=cpus, worker_overhead=overhead, hyperthreads=hyperthreads)
    tried = trial(machine, "load", cpus)
    parts = parts_of(machine, tried)
    assert tried.measurement is not None
    forecast = parts.forecast(tried.spec.settings, alone=True).step_seconds
    assert forecast == pytest.approx(tried.measurement.step_seconds, rel=0.05)


def test_two_counts_tell_workers_own_slowness_from_crowding() -> None:
    machine = quiet(cpus=16, worker_overhead=0.2, hyperthreads=1.0, cpu_share=1.0)
    slow = parts_of(machine, trial(machine, "load", 1), trial(machine, "load", 16))
    assert slow.overhead > 0.12
    crowded = quiet(cpus=16, worker_overhead=0.0, hyperthreads=0.2, cpu_share=1.0)
    parts = parts_of(crowded, trial(crowded, "load", 2), trial(crowded, "load", 16))
    assert parts.crowding > 0.35
    assert parts.overhead < 0.08


def test_trials_that_go_less_deep_or_start_cold_say_nothing_about_workers() -> None:
    machine = quiet(cold_seconds=2.0)
    plain = parts_of(machine)
    shallow = parts_of(machine, trial(machine, "load", 8, depth="bytes"), trial(machine, "load", 8, cold=True))
    assert (shallow.overhead, shallow.crowding) == (plain.overhead, plain.crowding)


def test_a_loader_held_up_by_the_hand_over_is_not_taken_for_slow_workers() -> None:
    machine = quiet(stages={"fetch": 0.001}, hand_off_seconds=0.01)
    plain = parts_of(machine)
    tried = parts_of(machine, trial(machine, "load", 8))
    assert (tried.overhead, tried.crowding) == (plain.overhead, plain.crowding)
    assert tried.forecast(spec(machine, "load", 8).settings, alone=True).step_seconds == pytest.approx(0.01)


def test_fed_trials_tell_how_much_a_step_on_the_cpu_suffers_from_workers() -> None:
    calm, touchy = (quiet(device="cpu", cpus=4, step_seconds=0.4, interference=value) for value in (0.0, 2.5))
    fitted = [parts_of(machine, trial(machine, "feed", 2)).step_sensitivity for machine in (calm, touchy)]
    assert fitted[0] < fitted[1]


def test_a_step_on_a_gpu_does_not_share_cpus_with_workers() -> None:
    parts = parts_of(quiet())
    assert parts.step_threads == 1.0
    assert parts.step_sensitivity == 1.0


def test_the_loader_alone_has_neither_step_nor_copy() -> None:
    parts = parts_of(quiet())
    alone = parts.pipeline(spec(quiet(), "load", 4).settings, alone=True)
    assert (alone.step_seconds, alone.transfer_seconds) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("batches", "load", "step", "start", "seconds"),
    [(12, 0.645, 0.0005, 0.714, 2.15), (20, 0.645, 0.0005, 0.714, 3.43), (12, 0.645, 0.25, 0.714, 4.0)],
)
def test_an_epoch_whose_workers_start_anew_takes_what_it_was_seen_to_take_with_torch_s_own_loader(
    batches: int, load: float, step: float, start: float, seconds: float
) -> None:
    """Examples that sleep, four workers: the first batch's load is waited for, and no second time counted."""
    parts = LoaderParts(
        batch_size=32,
        load_seconds=load,
        load_cpu_share=0.01,
        load_pattern=(1.0,),
        asynchronous=False,
        cpus=2.0,
        step_seconds=step,
    )
    settings = Settings(batch_size=32, num_workers=4)
    at_the_edge = start - parts.first_batch_seconds(settings) + parts.epoch_end_seconds(settings, batches)
    assert batches * max(load / 4, step) + at_the_edge == pytest.approx(seconds, rel=0.08)


def test_first_batches_of_workers_that_share_cpus_take_longer() -> None:
    parts = LoaderParts(
        batch_size=32, load_seconds=0.5, load_cpu_share=1.0, load_pattern=(0.5, 1.5), asynchronous=False, cpus=2.0
    )
    alone, four = (parts.first_batch_seconds(Settings(batch_size=32, num_workers=count)) for count in (1, 4))
    assert alone == pytest.approx(0.5, rel=0.01)
    assert four == pytest.approx(1.0, rel=0.01)
