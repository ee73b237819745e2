"""The runs of a stalls study, in their rounds."""

from collections import Counter

import msgspec
import pytest

from search.fake_device import failed, failure
from search.fake_loader import FakeMachine, loader_template, run_loader
from traindyno.analysis.stall_runs import run_name
from traindyno.core.loading import Decoder
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord, TrialSpec
from traindyno.search.stalls import StallsPlan

DATA = "folder:/data"
PREPARED = "prepared:/data/small"


def template(workers: int = 4, batch_size: int = 64, decoder: Decoder = "pil") -> TrialSpec:
    made = loader_template(batch_size=batch_size, data=DATA)
    settings = msgspec.structs.replace(made.settings, num_workers=workers, decoder=decoder)
    return msgspec.structs.replace(made, settings=settings)


def names(history: list[TrialRecord], repeat: int | None = None, also: tuple[str, ...] = ()) -> list[str]:
    found = [
        run_name(record.spec, DATA, history[0].batch_size, also)
        for record in history
        if repeat in (None, record.spec.repeat)
    ]
    assert None not in found
    return [name for name in found if name is not None]


def test_a_probe_comes_first_then_rounds_of_all_runs() -> None:
    history = run_loader(StallsPlan(template()), FakeMachine())
    assert names(history)[0] == "probe"
    assert Counter(names(history)) == {
        "probe": 1,
        "resident": 3,
        "host_cached": 3,
        "warm": 3,
        "cold": 3,
        "bytes_only": 1,
        "decode_only": 1,
        "loader_alone": 1,
        "halved_batch": 3,
    }
    repeats = [record.spec.repeat for record in history]
    assert repeats == sorted(repeats)


def test_the_runs_differ_in_what_they_say_they_do() -> None:
    history = run_loader(StallsPlan(template(), repeats=1), FakeMachine())
    specs = dict(zip(names(history), (record.spec for record in history), strict=True))
    assert specs["resident"].kind == "speed"
    assert specs["halved_batch"].settings.batch_size == 32
    assert specs["host_cached"].feed.supply == "cached"
    assert specs["cold"].feed.cold
    assert specs["bytes_only"].feed.depth == "bytes"
    assert specs["decode_only"].feed.depth == "pixels"
    assert specs["loader_alone"].kind == "load"


def test_every_round_has_an_order_of_its_own_that_follows_the_seed() -> None:
    first = run_loader(StallsPlan(template(), cold=False, seed=1), FakeMachine())
    assert names(first, 1) != names(first, 2) or names(first, 1) != ["resident", "host_cached", "warm"]
    again, other = (run_loader(StallsPlan(template(), cold=False, seed=seed), FakeMachine()) for seed in (1, 2))
    assert names(again) == names(first)
    assert names(other) != names(first)


def test_without_cold_nothing_is_dropped_from_the_page_cache() -> None:
    history = run_loader(StallsPlan(template(), cold=False), FakeMachine())
    assert not any(record.spec.feed.cold for record in history)


@pytest.mark.parametrize("data", ["synthetic:", "memory:folder:/data", "cifar10:/data"])
def test_data_that_no_file_holds_is_not_run_cold(data: str) -> None:
    workload = msgspec.structs.replace(template().workload, data=data)
    history = run_loader(StallsPlan(msgspec.structs.replace(template(), workload=workload)), FakeMachine())
    assert not any(record.spec.feed.cold for record in history)


def test_other_sources_are_probed_and_run_in_every_round() -> None:
    also = (PREPARED, f"memory:{DATA}")
    machine = FakeMachine(sources={PREPARED: {"fetch": 0.01}})
    counts = Counter(names(run_loader(StallsPlan(template(), also=also), machine), also=also))
    assert counts["prepared"] == counts["memory"] == 3
    assert counts["probe prepared"] == counts["probe memory"] == 1


def test_two_sources_of_one_kind_are_told_apart() -> None:
    also = ("prepared:/a", "prepared:/b")
    history = run_loader(StallsPlan(template(), also=also), FakeMachine())
    assert {"prepared:/a", "prepared:/b"} <= set(names(history, also=also))


def test_a_users_own_items_are_not_looked_into() -> None:
    history = run_loader(StallsPlan(template()), FakeMachine(stages={"example": 0.3}))
    assert not {"bytes_only", "decode_only"} & set(names(history))


@pytest.mark.parametrize(
    ("spec", "stages"),
    [(template(decoder="nvjpeg"), {"fetch": 0.1, "decode": 0.1}), (template(), {"fetch": 0.1, "augment": 0.1})],
)
def test_what_no_worker_decodes_is_not_timed_at_decoding(spec: TrialSpec, stages: dict[str, float]) -> None:
    history = run_loader(StallsPlan(spec), FakeMachine(stages=stages))  # type: ignore[arg-type]
    assert "decode_only" not in names(history)
    assert "bytes_only" in names(history)


def test_a_batch_of_one_has_no_half() -> None:
    history = run_loader(StallsPlan(template(batch_size=1)), FakeMachine())
    assert "halved_batch" not in names(history)


def test_a_run_that_fails_is_not_repeated() -> None:
    plan = StallsPlan(template())
    history: list[TrialRecord] = []
    machine = FakeMachine()
    while (proposal := plan.ask(history)) is not None:
        cold = proposal.spec.feed.cold
        history.append(failed(proposal.spec, failure(Outcome.HANG)) if cold else machine.run(proposal.spec))
    assert sum(record.spec.feed.cold for record in history) == 1
    assert Counter(names(history))["warm"] == 3


def test_a_mistake_in_the_data_ends_the_study() -> None:
    first = StallsPlan(template()).ask([])
    assert first is not None
    assert StallsPlan(template()).ask([failed(first.spec, failure(Outcome.DATA_ERROR))]) is None


def test_a_study_cut_at_any_point_goes_on_as_if_it_never_stopped() -> None:
    whole = run_loader(StallsPlan(template(), also=(PREPARED,)), FakeMachine())
    for cut in range(len(whole)):
        proposal = StallsPlan(template(), also=(PREPARED,)).ask(whole[:cut])
        assert proposal is not None
        assert proposal.spec == whole[cut].spec
        assert proposal.expected_trials == len(whole) or cut == 0
