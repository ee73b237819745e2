"""What a loader study concludes, from trials of machines that exist only on paper."""

import msgspec
import pytest

from search.fake_loader import FakeMachine, loader_template, run_loader
from traindyno.analysis.loader_answer import conclude_loader
from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.loader_expected import expected_rates
from traindyno.analysis.loader_trials import LoaderTrials, chosen_settings
from traindyno.core.answers import LoaderAnswer, LoaderEffect
from traindyno.core.codec import encode
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.loading import Feed
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord
from traindyno.core.requests import Bench, LoaderRequest
from traindyno.core.units import format_percent
from traindyno.search.loader import LoaderSearch
from traindyno.search.loader_grid import LoaderGrid

LIGHT = {"fetch": 0.001, "decode": 0.02, "augment": 0.009}
HEAVY = {"fetch": 0.05, "decode": 1.2, "augment": 0.5}


def request(machine: FakeMachine, **changes: object) -> LoaderRequest:
    workload = loader_template(machine.device).workload
    made = LoaderRequest(workload=workload, bench=Bench(device=machine.device), batch_size=64)
    return msgspec.structs.replace(made, **changes)


def study(machine: FakeMachine, **options: object) -> list[TrialRecord]:
    return run_loader(LoaderSearch(loader_template(machine.device), machine.cpus, **options), machine)  # type: ignore[arg-type]


def concluded(machine: FakeMachine, asked: dict[str, object] | None = None, **options: object) -> LoaderAnswer:
    wanted = request(machine, **(asked or {}))
    history = study(machine, with_model=wanted.with_model, cpus=wanted.cpus, **options)
    return conclude_loader(wanted, history, usable_cpus=machine.cpus)


def said(answer: LoaderAnswer, *words: str) -> bool:
    return any(all(word in verdict for word in words) for verdict in answer.verdicts)


def effect(answer: LoaderAnswer, knob: str) -> LoaderEffect:
    return next(each for each in answer.effects if each.knob == knob)


def test_a_model_that_is_fed_well_needs_no_more_workers() -> None:
    machine = FakeMachine(stages={"decode": 0.1}, step_seconds=0.3, transfer_seconds=0.0)
    answer = concluded(machine)
    assert answer.share_of_resident == pytest.approx(1.0, abs=0.03)
    assert said(answer, "of what the model can take; more would not help")
    assert answer.trials <= 4


def on_slow_resident_data(record: TrialRecord) -> TrialRecord:
    """The same trial, of which the step with resident data took a quarter longer."""
    assert record.measurement is not None
    told = record.measurement.loading
    if told is None or told.resident_step_seconds is None:
        return record
    slow = msgspec.structs.replace(told, resident_step_seconds=1.25 * told.resident_step_seconds)
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, loading=slow))


def test_a_share_above_the_whole_is_told_as_the_table_has_it() -> None:
    machine = FakeMachine(stages={"decode": 0.1}, step_seconds=0.3, transfer_seconds=0.0)
    history = [on_slow_resident_data(record) for record in study(machine)]
    answer = conclude_loader(request(machine), history, usable_cpus=8)
    assert answer.share_of_resident is not None
    assert answer.share_of_resident > 1.1
    whole = format_percent(answer.share_of_resident, 0)
    assert said(answer, "all that the model can take", f"at {whole} of the rate", "more would not help")
    assert not said(answer, "100 %")


def test_one_process_of_the_settings_that_did_not_become_steady_is_told_of_all() -> None:
    machine = FakeMachine(stages={"decode": 0.1}, step_seconds=0.3, transfer_seconds=0.0)
    history = study(machine)
    last = history[-1]
    assert last.measurement is not None
    assert conclude_loader(request(machine), history, usable_cpus=8).steady
    unsteady = msgspec.structs.replace(last, measurement=msgspec.structs.replace(last.measurement, steady=False))
    assert not conclude_loader(request(machine), [*history[:-1], unsteady], usable_cpus=8).steady


def held_up(record: TrialRecord) -> TrialRecord:
    """The same trial, in which every fifth block lasts half as long again."""
    if record.measurement is None or record.spec.kind == "probe":
        return record
    blocks = tuple(
        msgspec.structs.replace(block, seconds=block.seconds * (1.5 if number % 5 == 3 else 1.0))
        for number, block in enumerate(record.measurement.blocks)
    )
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, blocks=blocks))


def test_batches_that_come_late_now_and_then_make_the_epoch_longer() -> None:
    machine = FakeMachine(stages=LIGHT, step_seconds=0.3, transfer_seconds=0.0, noise=0.001)
    history = study(machine)
    even, uneven = (
        conclude_loader(request(machine), trials, usable_cpus=8) for trials in (history, [*map(held_up, history)])
    )
    assert uneven.examples_per_second == pytest.approx(even.examples_per_second / 1.1)
    assert uneven.ci95[0] < uneven.examples_per_second < uneven.ci95[1]
    assert uneven.share_of_resident == pytest.approx(1 / 1.1, rel=0.01)
    epochs = [answer.points[-1].epoch_seconds or 0.0 for answer in (even, uneven)]
    starts = [answer.points[-1].start_up_seconds or 0.0 for answer in (even, uneven)]
    assert epochs[1] - starts[1] == pytest.approx(1.1 * (epochs[0] - starts[0]), rel=1e-4)
    assert not said(uneven, "more would not help")


def test_workers_that_deliver_in_bursts_are_chosen_by_what_they_sustain() -> None:
    machine = FakeMachine(stages=LIGHT, step_seconds=0.3, transfer_seconds=0.0, noise=0.0)
    spec = msgspec.structs.replace(loader_template(), feed=Feed(supply="loader"))
    fed = [
        machine.run(msgspec.structs.replace(spec, settings=msgspec.structs.replace(spec.settings, num_workers=count)))
        for count in (2, 4)
    ]
    for few, chosen in ((fed[0], 2), (held_up(fed[0]), 4)):
        settings = chosen_settings(LoaderTrials(with_model=True, searched=(few, fed[1])))
        assert settings is not None
        assert settings.num_workers == chosen


def test_a_loader_that_is_the_limit_names_its_largest_stage() -> None:
    answer = concluded(FakeMachine(cpus=4, stages=HEAVY))
    assert said(answer, "The loader is the limit", "decode takes 69 % of a worker's time")
    assert answer.share_of_resident is not None
    assert answer.share_of_resident < 0.3


def test_copies_that_keep_training_back_are_not_blamed_on_the_loader() -> None:
    answer = concluded(FakeMachine(stages=LIGHT, step_seconds=0.2, transfer_seconds=0.05))
    assert said(answer, "faster loading would not help")


def test_the_recommendation_was_measured_end_to_end() -> None:
    answer = concluded(FakeMachine(cpus=16, stages=HEAVY))
    fed = [point for point in answer.points if point.end_to_end]
    assert answer.recommended.num_workers in {point.num_workers for point in fed}
    assert answer.ci95[0] <= answer.examples_per_second <= answer.ci95[1]


def test_every_point_stands_beside_what_was_predicted_before_it_ran() -> None:
    answer = concluded(FakeMachine(cpus=16, stages=HEAVY))
    assert all(point.predicted_examples_per_second is not None for point in answer.points)
    later = answer.points[1]
    assert later.predicted_examples_per_second == pytest.approx(later.examples_per_second, rel=0.1)


def test_a_prediction_that_misses_by_more_than_5_percent_is_told() -> None:
    answer = concluded(FakeMachine(stages=HEAVY, bandwidth=0.5, cpus=16))
    missed = [
        point
        for point in answer.points
        if point.end_to_end and abs((point.predicted_examples_per_second or 0) / point.examples_per_second - 1) > 0.05
    ]
    assert missed
    assert said(answer, f"At {missed[0].num_workers} workers the predicted rate was")


def test_keeping_workers_is_worth_it_in_a_short_epoch_and_not_in_a_long_one() -> None:
    machine = FakeMachine(stages={"decode": 0.3}, step_seconds=0.05, worker_start_seconds=0.3)
    short, long = (concluded(machine, {"epoch_examples": count}) for count in (3_000, 3_000_000))
    assert short.recommended.persistent_workers
    assert not long.recommended.persistent_workers
    assert said(short, "persistent_workers")
    assert short.start_up_seconds_per_epoch is not None
    assert long.start_up_seconds_per_epoch is not None
    assert short.start_up_seconds_per_epoch < long.start_up_seconds_per_epoch


def test_the_epoch_is_that_of_the_data_unless_told_otherwise() -> None:
    assert concluded(FakeMachine(stages=LIGHT, examples=1234)).epoch_examples == 1234


def test_pinning_is_adopted_where_it_is_shown_to_help() -> None:
    machine = FakeMachine(stages=LIGHT, step_seconds=0.1, transfer_seconds=0.02, pinned_transfer=0.2, noise=0.002)
    answer = concluded(machine)
    pinning = effect(answer, "pin_memory")
    assert pinning.ratio == pytest.approx(0.12 / 0.104, rel=0.02)
    assert pinning.ci95 is not None
    assert pinning.ci95[0] > 1
    assert answer.recommended.pin_memory
    assert answer.examples_per_second == pytest.approx(64 / 0.104, rel=0.02)


def test_pinning_that_shows_no_gain_is_left_off() -> None:
    answer = concluded(FakeMachine(stages=LIGHT, step_seconds=0.1, transfer_seconds=0.02, pinned_transfer=1.0))
    assert effect(answer, "pin_memory").ratio is not None
    assert not answer.recommended.pin_memory


def test_knobs_that_cannot_matter_say_why() -> None:
    answer = concluded(FakeMachine(device="cpu", cpus=2, stages=LIGHT, step_seconds=0.3))
    assert effect(answer, "pin_memory").skipped_because == "only copies to a GPU are faster from pinned memory"
    assert effect(answer, "prefetch_factor").skipped_because is not None


def test_a_knob_that_does_not_fit_is_not_tried() -> None:
    machine = FakeMachine(stages={"decode": 0.2}, cpus=16, jitter=0.6, transfer_seconds=0.0, batch_bytes=10**8)
    room = LoaderRoom(shared_free_bytes=10**9)
    history = study(machine, workers=(4,), room=room)
    answer = conclude_loader(request(machine), history, usable_cpus=16, room=room)
    assert not any(record.spec.settings.prefetch_factor == 4 for record in history)
    assert "/dev/shm" in (effect(answer, "prefetch_factor").skipped_because or "")


def test_a_study_cut_short_says_what_it_did_not_try() -> None:
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.01)
    history = [record for record in study(machine) if record.spec.repeat == 0]
    answer = conclude_loader(request(machine), history, usable_cpus=8)
    assert effect(answer, "pin_memory").skipped_because == "the study ended before it was tried"


def test_more_cpus_are_said_to_help_where_they_do() -> None:
    answer = concluded(FakeMachine(cpus=8, stages=HEAVY, hyperthreads=1.0), {"cpus": (2, 4, 8)})
    assert [point.cpus for point in answer.cpu_scaling] == [2, 4, 8]
    assert said(answer, "More CPUs load faster: 2 → 4 gives")
    assert said(answer, "more than these should help too")


def test_more_cpus_are_said_not_to_help_a_model_that_is_the_limit() -> None:
    machine = FakeMachine(cpus=8, stages=LIGHT, step_seconds=0.3, transfer_seconds=0.0)
    assert said(concluded(machine, {"cpus": (2, 4)}), "Training would not gain from more CPUs")


def test_stragglers_are_named_with_what_is_usual() -> None:
    machine = FakeMachine(stages=HEAVY, cpus=2, jitter=1.2)
    answer = concluded(machine, {"with_model": False}, workers=(1,))
    assert said(answer, "Stragglers: the longest wait for a batch was", "95 % within")


def test_what_a_shuffle_buffer_takes_to_fill_is_told() -> None:
    machine = FakeMachine(stages=LIGHT, fill_seconds=2.5)
    assert said(concluded(machine), "Filling the shuffle buffer takes up to 2.50 s of a start")
    assert not said(concluded(FakeMachine(stages=LIGHT)), "shuffle buffer")


def test_counts_that_failed_are_named() -> None:
    machine = FakeMachine(cpus=8, stages=HEAVY, failures={10: Outcome.OUT_OF_SHARED_MEMORY})
    assert said(concluded(machine), "10 workers could not be measured")


def test_without_workers_there_is_nothing_to_prefetch() -> None:
    machine = FakeMachine(stages={"decode": 0.0001}, step_seconds=0.3, transfer_seconds=0.0)
    answer = concluded(machine)
    assert answer.recommended.num_workers == 0
    assert answer.recommended.prefetch_factor is None


def test_data_without_decoding_recommends_no_decoder() -> None:
    assert concluded(FakeMachine(stages={"fetch": 0.1, "augment": 0.1})).recommended.decoder is None
    assert concluded(FakeMachine(stages=LIGHT)).recommended.decoder == "pil"


def test_the_loader_alone_is_told_without_a_model() -> None:
    answer = concluded(FakeMachine(stages=HEAVY), {"with_model": False})
    assert not answer.end_to_end
    assert answer.resident_examples_per_second is None
    assert said(answer, "workers load", "decode takes 69 %")


def test_nothing_measured_is_an_error_with_a_remedy() -> None:
    machine = FakeMachine(failures=dict.fromkeys(range(30), Outcome.OUT_OF_SHARED_MEMORY))
    with pytest.raises(NothingMeasuredError) as raised:
        conclude_loader(request(machine), study(machine), usable_cpus=8)
    assert "/dev/shm" in (raised.value.hint or "")


def test_a_grid_answers_the_size_that_was_asked_for_and_names_its_fastest_cell() -> None:
    machine = FakeMachine(stages=HEAVY)
    history = run_loader(LoaderGrid(loader_template(), (0, 2, 8), (16, 64, 256)), machine)
    answer = conclude_loader(request(machine, grid=True, epoch_examples=6400), history, usable_cpus=8)
    assert len(answer.grid) == 9
    assert answer.batch_size == 64
    assert answer.recommended.num_workers == 8
    assert said(answer, "The fastest cell is 8 workers at batch")
    cell = next(point for point in answer.grid if (point.num_workers, point.batch_size) == (2, 64))
    starting = (cell.start_up_seconds or 0.0) - 2 * 64 / cell.examples_per_second
    assert cell.epoch_seconds == pytest.approx(6400 / cell.examples_per_second + max(0.0, starting))


def test_a_grid_without_the_size_that_was_asked_for_answers_its_fastest() -> None:
    machine = FakeMachine(stages=HEAVY)
    history = run_loader(LoaderGrid(loader_template(), (0, 8), (16, 128)), machine)
    answer = conclude_loader(request(machine, grid=True), history, usable_cpus=8)
    fastest = max(answer.grid, key=lambda point: point.examples_per_second)
    assert answer.batch_size == fastest.batch_size
    assert answer.share_of_resident is not None
    assert answer.share_of_resident < 1


def test_a_fastest_cell_without_workers_is_named_in_a_whole_sentence() -> None:
    machine = FakeMachine(stages=LIGHT, step_seconds=0.3)
    history = run_loader(LoaderGrid(loader_template(), (0,), (64,)), machine)
    answer = conclude_loader(request(machine, grid=True), history, usable_cpus=8)
    assert said(answer, "The fastest cell is the main process without workers at batch 64:")


def test_a_grid_over_several_sizes_answers_its_fastest_and_one_over_a_single_size_that_one() -> None:
    machine = FakeMachine(stages=LIGHT, launch_share=0.5)
    history = run_loader(LoaderGrid(loader_template(batch_size=16), (0, 8), (16, 256)), machine)
    several = request(machine, grid=True, batch_size=16, sizes=(16, 256))
    assert conclude_loader(several, history, usable_cpus=8).batch_size == 256
    one = request(machine, grid=True, batch_size=16, sizes=(16,))
    assert conclude_loader(one, history, usable_cpus=8).batch_size == 16


def test_counts_without_room_are_named_with_the_reason() -> None:
    machine = FakeMachine(cpus=8, stages=HEAVY, batch_bytes=100_000_000)
    room = LoaderRoom(shared_free_bytes=1_000_000_000)
    answer = conclude_loader(request(machine), study(machine, room=room), usable_cpus=8, room=room)
    assert said(answer, "Not tried: 6, 7, 8, 10 workers, because 6 workers", "/dev/shm", "docker: --shm-size")


def test_counts_that_cannot_share_the_data_are_named_and_not_expected_anything_of() -> None:
    machine = FakeMachine(cpus=8, stages=HEAVY, most_workers=4)
    history = study(machine)
    answer = conclude_loader(request(machine), history, usable_cpus=8)
    assert said(answer, "Not tried: 6, 7, 8, 10 workers, because 6 workers cannot share 4 shards")
    assert max(rate.num_workers for rate in expected_rates(request(machine), history, 8)) == 4


def test_cells_without_room_are_named_by_their_batch_size() -> None:
    machine = FakeMachine(batch_bytes=10_000_000)
    room = LoaderRoom(shared_free_bytes=40_000_000)
    history = run_loader(LoaderGrid(loader_template(), (0, 1, 2, 4), (16, 64), room=room), machine)
    wanted = request(machine, grid=True, workers=(0, 1, 2, 4), sizes=(16, 64))
    answer = conclude_loader(wanted, history, usable_cpus=8, room=room)
    assert said(answer, "Not tried: 2, 4 workers at batch 64")
    assert not said(answer, "at batch 16, because")


def test_where_everything_has_room_nothing_is_said_to_be_left_out() -> None:
    assert not said(concluded(FakeMachine(stages=HEAVY)), "Not tried")


def test_the_interval_is_that_over_processes_and_one_process_is_said_to_be_one() -> None:
    machine = FakeMachine(stages=LIGHT, step_seconds=0.3, transfer_seconds=0.0, noise=0.02)
    history = study(machine)
    several = conclude_loader(request(machine), history, usable_cpus=8)
    single = conclude_loader(request(machine), history[:2], usable_cpus=8)
    rates = [64 / record.measurement.step_seconds for record in history[1:] if record.measurement is not None]
    assert several.ci95[0] < min(rates) < max(rates) < several.ci95[1]
    assert several.ci95[1] - several.ci95[0] > single.ci95[1] - single.ci95[0]
    assert said(single, "The interval is that of one process")
    assert not said(several, "one process: another")
    assert several.trials == 4


def test_an_answer_can_be_stored() -> None:
    answer = concluded(FakeMachine(cpus=4, stages=HEAVY))
    assert msgspec.json.decode(encode(answer), type=LoaderAnswer) == answer
