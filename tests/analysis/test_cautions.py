"""What trials remarked, told to readers."""

import msgspec

from search.fake_learner import FakeLearner, asked, trained
from traindyno.analysis.cautions import cautions
from traindyno.core.loading import Loading
from traindyno.core.records import TrialRecord


def noted(record: TrialRecord, *notes: str) -> TrialRecord:
    return msgspec.structs.replace(record, measurement=msgspec.structs.replace(record.measurement, notes=notes))


def test_a_remark_is_told_once_with_the_sizes_it_was_made_at() -> None:
    records = [noted(record, "evaluated on 355 examples") for record in trained(asked(seeds=2), FakeLearner())]
    assert cautions(records) == ("Batch 32, 64, 128: evaluated on 355 examples.",)


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
