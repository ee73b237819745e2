import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.codec import decode, encode, plain
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.core.records import Block, Settings, TrialSpec, WorkloadSpec
from traindyno.core.rounds import Draw


def spec(**changes: object) -> TrialSpec:
    whole = TrialSpec(kind="fit", workload=WorkloadSpec(model="torchvision:resnet18"), settings=Settings(batch_size=8))
    return msgspec.structs.replace(whole, **changes)


@given(st.floats())
def test_every_number_survives_being_written_and_read(value: float) -> None:
    back = decode(encode(Block(steps=1, seconds=value)), Block).seconds
    assert back == value or (math.isnan(back) and math.isnan(value))


def test_strict_json_has_null_for_what_is_not_a_number() -> None:
    assert plain({"a": [math.nan, 1.0, math.inf]}) == {"a": [None, 1.0, None]}


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError):
        decode('{"steps": 1, "seconds": 2.0, "surprise": 3}', Block)


def test_the_key_of_a_trial_tells_different_measurements_apart_and_only_those() -> None:
    different = [spec(), spec(repeat=1), spec(seed=1), spec(kind="speed"), spec(margin=0.05), spec(evaluate=True)]
    assert len({each.key for each in different}) == len(different)
    assert spec().key == spec().key


def test_a_trial_on_several_devices_is_another_one() -> None:
    assert spec(settings=Settings(batch_size=8)).key == spec(settings=Settings(batch_size=8, devices=1)).key
    assert spec(settings=Settings(batch_size=8)).key != spec(settings=Settings(batch_size=8, devices=2)).key


def test_pairs_measured_before_there_were_several_devices_keep_their_keys() -> None:
    pair = TrialSpec(
        kind="pair",
        workload=WorkloadSpec(model="mlp:64"),
        settings=Settings(batch_size=8, threads=2),
        against=Settings(batch_size=8),
    )
    assert pair.key == "cd7362474d8787592e584e07aef509fc"


def test_a_changed_source_file_makes_another_trial() -> None:
    before = spec(workload=WorkloadSpec(model="job.py:f", source_sha256="a"))
    after = spec(workload=WorkloadSpec(model="job.py:f", source_sha256="b"))
    assert before.key != after.key


def test_every_failure_has_a_remedy_of_one_sentence() -> None:
    assert set(REMEDIES) == set(Outcome) - {Outcome.OK}
    assert all(remedy.endswith(".") for remedy in REMEDIES.values())


@pytest.mark.parametrize(
    ("model", "own"), [("torchvision:resnet50", False), ("ir:50", False), ("job.py:f", True), ("a/b.py", True)]
)
def test_a_users_file_is_told_from_a_known_name(model: str, own: bool) -> None:
    assert WorkloadSpec(model=model).runs_user_code is own


def test_trials_of_a_round_can_stand_in_a_set_and_are_told_apart_there() -> None:
    def of_round(width: int, index: int) -> TrialSpec:
        workload = WorkloadSpec(model="own.py:net", arguments={"width": width})
        return spec(workload=workload, draw=Draw(phase="search", arm="a", index=index, values={"width": width}))

    specs = [of_round(1, 0), of_round(2, 0), of_round(1, 1), of_round(1, 0)]
    assert len(set(specs)) == 3
    assert len({each.key for each in specs}) == 3
