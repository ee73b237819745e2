"""What the probes of a search for the largest batch have shown so far."""

from collections.abc import Sequence

from traindyno.core.outcomes import Outcome
from traindyno.core.records import Record, TrialRecord

BATCH_NORM_SINGLE_VALUE = "batch_norm_single_value"
"""`failure.details["code"]` of a model whose batch normalisation cannot train on a single example."""


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
    """Whether a trial's end says something about its size."""
    return record.outcome is not Outcome.INTERRUPTED and not needs_two_examples(record)


def needs_two_examples(record: TrialRecord) -> bool:
    """Whether the trial only failed because batch normalisation cannot train on one example."""
    code = record.failure.details.get("code") if record.failure is not None else None
    return record.batch_size == 1 and code == BATCH_NORM_SINGLE_VALUE


def ran_out(record: TrialRecord) -> bool:
    """Whether the trial ran out of memory or of time, as larger ones then would too."""
    return record.outcome.out_of_memory or record.outcome in (Outcome.TIMEOUT, Outcome.HANG)


def allocator_retries(record: TrialRecord) -> int | None:
    return record.measurement.memory.allocator_retries if record.measurement is not None else None


def _sizes(records: Sequence[TrialRecord]) -> tuple[int, ...]:
    return tuple(sorted({record.batch_size for record in records}))
