"""What trials remarked, told to readers."""

import msgspec

from search.fake_learner import FakeLearner, asked, trained
from search.fake_switches import FakeBench, plan, run_study
from traindyno.analysis.cautions import cautions
from traindyno.core.loading import Loading
from traindyno.core.records import Block, Conditions, TrialRecord


def noted(record: TrialRecord, *notes: str) -> TrialRecord:
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, notes=notes))


def test_a_remark_is_told_once_with_the_sizes_it_was_made_at() -> None:
    records = [noted(record, "evaluated on 355 examples") for record in trained(asked(seeds=2), FakeLearner())]
    assert cautions(records) == ("Batch 32, 64, 128: evaluated on 355 examples.",)


def test_where_all_trials_have_one_size_it_is_not_named() -> None:
    small, *_ = trained(asked(seeds=1), FakeLearner())
    assert cautions([noted(small, "evaluated on 355 examples", "last.pt is damaged")]) == (
        "Evaluated on 355 examples.",
        "last.pt is damaged.",
    )


def test_remarks_about_single_sizes_stay_apart() -> None:
    small, middle, large = trained(asked(seeds=1), FakeLearner())
    records = [noted(small, "odd"), noted(middle), noted(large, "odd", "slow")]
    assert cautions(records) == ("Batch 32, 128: odd.", "Batch 128: slow.")


def test_examples_that_were_left_out_are_counted_once_however_many_trials_met_them() -> None:
    def loaded(record: TrialRecord, *names: str) -> TrialRecord:
        loading = Loading(bad_examples=len(names), bad_names=names)
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, loading=loading))

    one, two, none = trained(asked(seeds=1), FakeLearner())
    records = [loaded(one, "b.jpg"), loaded(two, "a.jpg", "b.jpg"), loaded(none)]
    assert cautions(records) == ("2 examples were left out that could not be read, such as a.jpg.",)


def beside(record: TrialRecord, share: float | None, runs: int | None = None) -> TrialRecord:
    return msgspec.structs.replace(record, conditions=Conditions(other_cpu_share=share, runs_beside=runs))


def on_device(record: TrialRecord, device: str) -> TrialRecord:
    settings = msgspec.structs.replace(record.spec.settings, device=device)
    return msgspec.structs.replace(record, spec=msgspec.structs.replace(record.spec, settings=settings))


def test_work_of_others_on_the_cpus_is_told_with_its_share() -> None:
    one, two, three = trained(asked(seeds=1), FakeLearner())
    (told,) = cautions([beside(one, 0.62), beside(two, 0.04), beside(three, None)])
    assert told.startswith("Other processes took up to 62 % of the CPUs beside 1 of 3 trials: threads that wait")
    (on_gpu,) = cautions([beside(on_device(one, "cuda:0"), 0.25)])
    assert on_gpu.startswith(
        "Other processes took up to 25 % of the CPUs beside 1 of 1 trial: loading data and launching"
    )


def test_runs_of_the_same_study_are_no_work_of_others() -> None:
    assert cautions([beside(record, 0.5, runs=1) for record in trained(asked(seeds=1), FakeLearner())]) == ()


def test_a_pair_of_which_one_arm_was_not_steady_was_not() -> None:
    """Either of them spoils what the pair says."""

    def with_steady(record: TrialRecord, baseline: bool, candidate: bool) -> TrialRecord:
        told = record.measurement
        assert told is not None
        assert told.pair is not None
        pair = msgspec.structs.replace(told.pair, baseline=msgspec.structs.replace(told.pair.baseline, steady=baseline))
        turns = (Block(steps=5, seconds=0.5),) * 6
        measurement = msgspec.structs.replace(told, pair=pair, steady=candidate, blocks=turns)
        return msgspec.structs.replace(record, measurement=measurement)

    pairs = [record for record in run_study(plan("precision"), FakeBench()) if record.spec.kind == "pair"][:3]
    states = [(True, True), (False, True), (True, False)]
    told = cautions([with_steady(record, *state) for record, state in zip(pairs, states, strict=True)])
    assert told[0].startswith("2 of 3 trials did not become steady")


def unsteady(record: TrialRecord, blocks: int) -> TrialRecord:
    told = record.measurement
    assert told is not None
    timed = (Block(steps=3, seconds=3.0), *[Block(steps=1, seconds=1.0)] * blocks)
    measurement = msgspec.structs.replace(told, steady=False, blocks=timed, steps=blocks - blocks // 2)
    return msgspec.structs.replace(
        record, spec=msgspec.structs.replace(record.spec, kind="speed"), measurement=measurement
    )


def test_steps_too_slow_to_tell_whether_they_became_steady_are_not_said_to_be_disturbed() -> None:
    one, two, three = trained(asked(seeds=1), FakeLearner())
    disturbed, few = cautions([unsteady(one, 20), unsteady(two, 4), unsteady(three, 2)])
    assert disturbed.startswith("1 of 3 trials did not become steady: other work on this machine, or heat.")
    assert few == (
        "2 of 3 trials had too few blocks of steps to tell whether they became steady, as trials of slow steps have. "
        "Give them more time with --trial-seconds."
    )


def test_a_loader_of_the_user_s_own_that_no_trial_was_like_is_named_with_the_options_that_make_one() -> None:
    def loaded(record: TrialRecord, size: int, workers: int) -> TrialRecord:
        loading = Loading(own_batch_size=size, own_workers=workers)
        return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, loading=loading))

    records = [loaded(record, 16, 1) for record in trained(asked(seeds=1), FakeLearner())]
    (told,) = cautions(records)
    assert told.startswith("The job's own DataLoader has batch_size=16 and num_workers=1, and no trial had both")
    assert told.endswith("add --batch-size 16 --workers 1.")
    own = records[0].spec.settings
    assert cautions([loaded(record, own.batch_size, own.num_workers) for record in records]) == ()
