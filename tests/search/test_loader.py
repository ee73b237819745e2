"""The search for loader settings, on machines that exist only on paper."""

import random
import statistics

import msgspec
import pytest

from search.fake_device import failed, failure
from search.fake_loader import FakeMachine, feed_at, loader_template, run_loader
from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.loader_trials import chosen_settings, read_loader_trials
from traindyno.analysis.probes import LARGER_THAN_DATA
from traindyno.analysis.worker_choice import worker_counts
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialKind, TrialRecord
from traindyno.search.loader import ENOUGH_PROCESSES, MOST_TRIALS, LoaderSearch

LIGHT = {"fetch": 0.001, "decode": 0.02, "augment": 0.009}
HEAVY = {"fetch": 0.05, "decode": 1.2, "augment": 0.5}


def search(machine: FakeMachine, **options: object) -> LoaderSearch:
    return LoaderSearch(loader_template(machine.device), machine.cpus, **options)  # type: ignore[arg-type]


def for_the_count(history: list[TrialRecord]) -> list[TrialRecord]:
    return [record for record in history if record.spec.repeat == 0 and record.spec.feed.cpus is None]


def kinds(history: list[TrialRecord]) -> list[TrialKind]:
    return [record.spec.kind for record in history]


def chosen(history: list[TrialRecord], with_model: bool = True) -> int:
    settings = chosen_settings(read_loader_trials(history, 64, with_model))
    assert settings is not None
    return settings.num_workers


def random_machine(seed: int) -> FakeMachine:
    """Any mix of fast and slow loading and stepping, on 2 to 32 CPUs, with and without a GPU."""
    chance = random.Random(f"machine {seed}")
    device = chance.choice(["cuda", "cuda", "cpu"])
    step = 10 ** chance.uniform(-2.2, -0.3)
    load = step * 10 ** (chance.uniform(-1.3, 1.8) if device == "cuda" else chance.uniform(-1.5, 0.8))
    fetch, decode = chance.uniform(0.02, 0.3), chance.uniform(0.2, 0.7)
    return FakeMachine(
        cpus=chance.choice([2, 4, 8, 16, 32] if device == "cuda" else [2, 2, 4, 8, 16]),
        device=device,
        stages={"fetch": load * fetch, "decode": load * decode, "augment": load * (1 - fetch - decode)},
        cpu_share=chance.uniform(0.6, 1.0),
        step_seconds=step,
        transfer_seconds=step * chance.uniform(0, 0.1),
        hand_off_seconds=10 ** chance.uniform(-4, -2.7),
        worker_overhead=chance.uniform(0, 0.2),
        hyperthreads=chance.choice([1.0, 1.0, 0.25, 0.5]),
        bandwidth=chance.uniform(0, 0.05),
        oversubscription=chance.uniform(0, 0.02),
        interference=chance.uniform(0, 1.5),
        jitter=chance.choice([0.0, 0.05, 0.2, 0.4]),
        noise=0.01,
        seed=seed,
    )


def test_over_many_machines_the_choice_is_as_good_as_a_grids_in_at_most_five_trials() -> None:
    regrets, trials = [], []
    for seed in range(36):
        machine = random_machine(seed)
        history = run_loader(search(machine), machine, until=lambda spec: spec.repeat > 0)
        best = min(feed_at(count, machine) for count in worker_counts(machine.cpus))
        regrets.append(feed_at(chosen(history), machine) / best - 1)
        trials.append(len(history))
    assert max(trials) <= MOST_TRIALS
    assert statistics.fmean(regrets) <= 0.01
    assert statistics.quantiles(regrets, n=20)[-1] <= 0.05


def test_the_first_trial_is_a_probe_with_the_model_in_one_process() -> None:
    machine = FakeMachine()
    proposal = search(machine).ask([])
    assert proposal is not None
    assert proposal.spec.kind == "probe"
    assert proposal.spec.settings.num_workers == 0
    assert proposal.spec.feed.supply == "resident"


def test_a_loader_that_is_fast_enough_is_only_confirmed() -> None:
    machine = FakeMachine(stages=LIGHT, step_seconds=0.3, transfer_seconds=0.0)
    history = run_loader(search(machine), machine)
    assert kinds(for_the_count(history)) == ["probe", "feed"]
    assert len({record.spec.settings for record in history[1:]}) == 1


def test_what_is_left_of_the_trials_repeats_the_settings_that_won_in_fresh_processes() -> None:
    for seed in range(8):
        machine = random_machine(seed)
        history = run_loader(search(machine), machine)
        trials = read_loader_trials(history, 64, with_model=True)
        assert len(for_the_count(history)) + len(trials.repeated) <= MOST_TRIALS
        assert {record.spec.settings.num_workers for record in trials.repeated} <= {chosen(history)}
        if not trials.compared:
            left = MOST_TRIALS - len(for_the_count(history))
            assert len(trials.repeated) == min(left, ENOUGH_PROCESSES - 1)


def test_a_repeat_that_fails_is_not_tried_again() -> None:
    machine = FakeMachine(stages=LIGHT, step_seconds=0.3, transfer_seconds=0.0)
    history = run_loader(search(machine), machine)[:2]
    repeat = search(machine).ask(history)
    assert repeat is not None
    assert search(machine).ask([*history, failed(repeat.spec, failure(Outcome.CRASH))]) is None


def test_no_more_workers_are_tried_than_can_share_the_data() -> None:
    machine = FakeMachine(cpus=16, stages=HEAVY, most_workers=3)
    history = run_loader(search(machine, cpus=(2, 8)), machine)
    assert all(record.ok for record in history)
    assert chosen(history) == 3


def test_a_slow_loader_is_tried_alone_before_it_feeds() -> None:
    machine = FakeMachine(cpus=16, stages=HEAVY, transfer_seconds=0.0)
    history = run_loader(search(machine), machine)
    assert kinds(history)[:3] == ["probe", "load", "feed"]
    assert chosen(history) >= 12


def test_on_a_cpu_the_step_is_fed_at_once_because_workers_and_step_compete() -> None:
    machine = FakeMachine(device="cpu", cpus=2, step_seconds=0.2, stages=LIGHT)
    history = run_loader(search(machine), machine)
    assert set(kinds(history)) == {"probe", "feed"}


def test_without_a_model_only_the_loader_is_measured() -> None:
    machine = FakeMachine(stages=HEAVY)
    history = run_loader(search(machine, with_model=False), machine)
    assert set(kinds(history)) == {"probe", "load"}
    assert history[0].spec.feed.supply == "loader"
    assert len(for_the_count(history)) <= MOST_TRIALS
    assert chosen(history, with_model=False) >= 6


def test_more_workers_than_shared_memory_allows_are_never_tried() -> None:
    machine = FakeMachine(cpus=16, stages=HEAVY, batch_bytes=100_000_000)
    room = LoaderRoom(shared_free_bytes=1_000_000_000)
    history = run_loader(search(machine, room=room), machine)
    assert max(record.spec.settings.num_workers for record in history) == 4


def test_after_shared_memory_ran_out_only_fewer_workers_are_tried() -> None:
    machine = FakeMachine(cpus=8, stages=HEAVY, failures={10: Outcome.OUT_OF_SHARED_MEMORY})
    history = for_the_count(run_loader(search(machine), machine))
    counts = [record.spec.settings.num_workers for record in history]
    assert 10 in counts
    assert max(counts[counts.index(10) + 1 :]) < 10
    assert chosen(history) < 10
    assert len(history) <= MOST_TRIALS


@pytest.mark.parametrize("outcome", [Outcome.USER_ERROR, Outcome.DATA_ERROR])
def test_a_mistake_of_the_users_ends_the_search(outcome: Outcome) -> None:
    machine = FakeMachine()
    first = search(machine).ask([])
    assert first is not None
    assert search(machine).ask([failed(first.spec, failure(outcome))]) is None


def test_a_probe_that_fails_ends_the_search() -> None:
    machine = FakeMachine()
    first = search(machine).ask([])
    assert first is not None
    assert search(machine).ask([failed(first.spec, failure(Outcome.CRASH))]) is None


def test_data_too_few_for_the_batch_are_so_with_every_decoder() -> None:
    machine = FakeMachine()
    several = search(machine, decoders=("pil", "torchvision"))
    first = several.ask([])
    assert first is not None
    too_few = failure(Outcome.USER_ERROR, code=LARGER_THAN_DATA, examples_in_data="8")
    assert several.ask([failed(first.spec, too_few)]) is None


def test_decoders_are_compared_by_probes_and_the_fastest_goes_on() -> None:
    machine = FakeMachine(stages=LIGHT)

    class Decoding(FakeMachine):
        def run(self, spec):  # type: ignore[no-untyped-def]
            stages = {**LIGHT, "decode": 0.01} if spec.settings.decoder == "simplejpeg" else LIGHT
            return FakeMachine(stages=stages).run(spec)  # type: ignore[arg-type]

    history = run_loader(search(machine, decoders=("pil", "torchvision", "simplejpeg")), Decoding())
    assert kinds(history)[:3] == ["probe"] * 3
    assert {record.spec.settings.decoder for record in history[3:]} == {"simplejpeg"}


def test_data_that_needs_no_decoding_is_probed_once() -> None:
    machine = FakeMachine(stages={"fetch": 0.01, "augment": 0.01})
    history = run_loader(search(machine, decoders=("pil", "torchvision")), machine)
    assert kinds(history).count("probe") == 1


def test_only_the_counts_that_were_asked_for_are_tried() -> None:
    machine = FakeMachine(cpus=16, stages=HEAVY)
    history = run_loader(search(machine, workers=(2, 5)), machine)
    assert {record.spec.settings.num_workers for record in history[1:]} <= {2, 5}


def test_pinning_takes_turns_with_not_pinning_where_copies_take_time() -> None:
    machine = FakeMachine(stages=LIGHT, transfer_seconds=0.01, noise=0.0005)
    compared = [record.spec for record in run_loader(search(machine), machine) if record.spec.repeat > 0]
    assert [spec.settings.pin_memory for spec in compared] == [False, True, False, True]
    assert len({spec.settings.num_workers for spec in compared}) == 1


def test_pinning_is_not_tried_where_copies_take_no_time_or_there_is_no_gpu() -> None:
    for machine in (
        FakeMachine(stages=LIGHT, transfer_seconds=0.0001),
        FakeMachine(stages=LIGHT, device="cpu", cpus=2),
    ):
        assert not any(record.spec.settings.pin_memory for record in run_loader(search(machine), machine))


def test_prefetching_is_tried_where_batches_differ_much_and_only_there() -> None:
    tried = []
    for jitter in (0.6, 0.02):
        machine = FakeMachine(stages={"decode": 0.2}, cpus=16, jitter=jitter, transfer_seconds=0.0)
        history = run_loader(search(machine, workers=(4,)), machine)
        tried.append(any(record.spec.settings.prefetch_factor == 4 for record in history))
    assert tried == [True, False]


def test_restricted_cpus_are_tried_once_each_with_the_loader_alone() -> None:
    machine = FakeMachine(cpus=8, stages=HEAVY)
    history = run_loader(search(machine, cpus=(2, 4, 8, 64)), machine)
    restricted = [record.spec for record in history if record.spec.feed.cpus is not None]
    assert [spec.feed.cpus for spec in restricted] == [2, 4, 8]
    assert {spec.kind for spec in restricted} == {"load"}
    assert all(spec.settings.num_workers >= (spec.feed.cpus or 0) for spec in restricted)


@pytest.mark.parametrize("seed", range(2))
def test_a_study_cut_at_any_point_goes_on_as_if_it_never_stopped(seed: int) -> None:
    machine = random_machine(seed)
    whole = run_loader(search(machine, cpus=(2,)), machine)
    for cut in range(len(whole)):
        proposal = search(machine, cpus=(2,)).ask(whole[:cut])
        assert proposal is not None
        assert proposal.spec == whole[cut].spec


def test_trials_of_other_workloads_are_no_concern() -> None:
    machine = FakeMachine(stages=LIGHT)
    whole = run_loader(search(machine), machine)
    other = msgspec.structs.replace(whole[0].spec.workload, model="torchvision:vit_b_16")
    foreign = [
        msgspec.structs.replace(record, spec=msgspec.structs.replace(record.spec, workload=other)) for record in whole
    ]
    assert search(machine).ask(foreign) == search(machine).ask([])


def test_more_trials_are_expected_than_have_run() -> None:
    machine = FakeMachine(cpus=16, stages=HEAVY)
    whole = run_loader(search(machine), machine)
    for cut in range(len(whole)):
        proposal = search(machine).ask(whole[:cut])
        assert proposal is not None
        assert proposal.expected_trials > cut
