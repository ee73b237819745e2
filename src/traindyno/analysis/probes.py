"""What the probes of a search for the largest batch have shown so far."""

from collections.abc import Sequence

from traindyno.core.base import Record
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord

BATCH_NORM_SINGLE_VALUE = "batch_norm_single_value"
"""`failure.details["code"]` of a model whose batch normalisation cannot train on a single example."""

LARGER_THAN_DATA = "larger_than_data"
"""`failure.details["code"]` of a batch of which the data has not enough; "examples_in_data" says how many it has."""

NOTHING_TO_LOAD = "nothing_to_load"
"""`failure.details["code"]` of a workload whose batches are made up on the device, where a loader was asked for."""

MOST_WORKERS = "most_workers"
"""In `failure.details` of a loader that was refused for having more workers than may share the data."""

NOT_APPLICABLE = ("does_not_apply", "compile_failed")
"""`failure.details["code"]` of settings that this model cannot take, or that torch.compile failed at."""


class Probes(Record, frozen=True):
    """Sizes by how they ended, each ascending.

    `ran` holds every size that ran, held back or not; `failed` those that did not although nothing was held
    back. `safe_ran` and `safe_failed` are the probes with an evaluation step and the margin enforced.
    `plain_tried` are the sizes tried without either.
    """

    ran: tuple[int, ...]
    failed: tuple[int, ...]
    safe_ran: tuple[int, ...]
    safe_failed: tuple[int, ...]
    plain_tried: tuple[int, ...]
    without_retries: tuple[int, ...]
    reports_retries: bool

    @property
    def largest_ran(self) -> int | None:
        return self.ran[-1] if self.ran else None

    @property
    def smallest_failed_above(self) -> int | None:
        """The upper end of the bracket. Failures below the largest that ran (a wavering limit) are not."""
        above = [size for size in self.failed if size > (self.largest_ran or 0)]
        return above[0] if above else None


def read_probes(records: Sequence[TrialRecord]) -> Probes:
    """Sort trials of kind "fit" by their ends; interrupted ones never ended."""
    ended = [record for record in records if record.spec.kind == "fit" and counts(record)]
    ran = [record for record in ended if record.ok]
    failed = [record for record in ended if not record.ok]
    return Probes(
        ran=_sizes(ran),
        failed=_sizes([record for record in failed if record.spec.margin == 0]),
        safe_ran=_sizes([record for record in ran if record.spec.evaluate]),
        safe_failed=_sizes([record for record in failed if record.spec.evaluate]),
        plain_tried=_sizes([record for record in ended if not record.spec.evaluate]),
        without_retries=_sizes([record for record in ran if allocator_retries(record) == 0]),
        reports_retries=any(allocator_retries(record) is not None for record in ran),
    )


def counts(record: TrialRecord) -> bool:
    """Whether a trial's end says something about what the device does at its size."""
    interrupted = record.outcome is Outcome.INTERRUPTED
    return not (interrupted or needs_two_examples(record) or larger_than_data(record))


def needs_two_examples(record: TrialRecord) -> bool:
    """Whether the trial only failed because batch normalisation cannot train on one example."""
    return record.batch_size == 1 and _code(record) == BATCH_NORM_SINGLE_VALUE


def larger_than_data(record: TrialRecord) -> bool:
    """Whether the trial only failed because the data has too few examples for one batch."""
    return _code(record) == LARGER_THAN_DATA


def nothing_to_load(record: TrialRecord) -> bool:
    """Whether the trial only failed because the workload has no data; it can run without a loader."""
    return _code(record) == NOTHING_TO_LOAD


def not_applicable(record: TrialRecord) -> bool:
    """Whether the trial only failed because of a setting that this workload cannot take; others can go on."""
    return _code(record) in NOT_APPLICABLE


def examples_in_data(records: Sequence[TrialRecord]) -> int | None:
    """How many examples the workload's own data has, as soon as any trial has told; null where it is made up."""
    told = [record.measurement.examples_in_data for record in records if record.measurement is not None]
    refused = [record.failure.details for record in records if record.failure is not None and larger_than_data(record)]
    counts = [count for count in told if count is not None] + [int(each["examples_in_data"]) for each in refused]
    return min(counts, default=None)


def image_size(records: Sequence[TrialRecord]) -> int | None:
    """The side of the images that were trained on, as soon as any trial has told; null where they are no images."""
    told = (record.measurement.image_size for record in records if record.measurement is not None)
    return next((size for size in told if size is not None), None)


def ran_out(record: TrialRecord) -> bool:
    """Whether the trial ran out of memory or of time, as larger ones then would too."""
    return record.outcome.out_of_memory or record.outcome in (Outcome.TIMEOUT, Outcome.HANG)


def allocator_retries(record: TrialRecord) -> int | None:
    return record.measurement.memory.allocator_retries if record.measurement is not None else None


def _code(record: TrialRecord) -> str | None:
    return record.failure.details.get("code") if record.failure is not None else None


def _sizes(records: Sequence[TrialRecord]) -> tuple[int, ...]:
    return tuple(sorted({record.batch_size for record in records}))
