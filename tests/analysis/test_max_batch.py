from analysis.making import failed, ran
from traindyno.analysis.max_batch import conclude_max_batch
from traindyno.core.answers import MaxBatchAnswer
from traindyno.core.outcomes import Outcome
from traindyno.core.records import TrialRecord

SLOPE = 10**7


def fit(size: int, retries: int | None = 0) -> TrialRecord:
    return ran(size, kind="fit", peak_bytes=10**9 + SLOPE * size, limit_bytes=10**10, retries=retries)


def safe(size: int, retries: int | None = 0) -> TrialRecord:
    peak = 10**9 + SLOPE * size
    return ran(size, kind="fit", margin=0.05, evaluate=True, peak_bytes=peak, limit_bytes=10**10, retries=retries)


def conclude(history: list[TrialRecord], **options: object) -> MaxBatchAnswer:
    defaults: dict[str, object] = {"margin": 0.05, "tolerance": 0.01}
    return conclude_max_batch("torchvision:resnet50", "train", history, **{**defaults, **options})  # type: ignore[arg-type]


IDEAL = [fit(16), fit(64), safe(840), fit(895, retries=3), failed(904, kind="fit")]


def test_the_three_limits_of_an_ideal_search() -> None:
    answer = conclude(IDEAL)
    assert (answer.max_batch, answer.safe_batch, answer.no_retry_batch) == (895, 840, 840)
    assert (answer.first_failed_batch, answer.probes, answer.out_of_memory_probes) == (904, 5, 1)
    assert answer.memory_model is not None
    assert answer.memory_model.slope_bytes == SLOPE
    assert answer.memory_limit_bytes == 10**10
    assert answer.limited_by == "memory"
    assert answer.seconds == 42.0
    assert answer.verdicts == (
        "Batch 840 is safe: it ran in a fresh process with 5 % of the memory held back, an evaluation step included.",
        "Batch 895 is the largest that ran; 904 ran out of memory.",
        "Batch 840 ran without allocator retries. At 895, the next size tried, the allocator had to free its cache and "
        "try again: such sizes run, but slowly.",
    )


def test_a_probe_that_failed_only_under_the_margin_is_no_first_failure() -> None:
    history = [
        fit(16),
        fit(64),
        failed(860, kind="fit", margin=0.05, evaluate=True),
        safe(830),
        failed(900, kind="fit"),
    ]
    answer = conclude(history)
    assert answer.first_failed_batch == 900
    assert answer.out_of_memory_probes == 2


def test_a_size_that_ran_under_the_margin_counts_as_run() -> None:
    assert conclude([fit(16), safe(840)]).max_batch == 840


def test_without_retries_reported_there_is_no_limit_for_them() -> None:
    answer = conclude([fit(16, retries=None), safe(840, retries=None)])
    assert answer.no_retry_batch is None
    assert not any("allocator" in text for text in answer.verdicts)


def test_retries_everywhere_are_said() -> None:
    answer = conclude([fit(16, retries=1), safe(840, retries=2)])
    assert answer.no_retry_batch is None
    assert any("Every size tried" in text for text in answer.verdicts)


def test_a_given_limit_that_runs_is_named_with_what_memory_would_hold() -> None:
    answer = conclude([fit(16), fit(64), safe(512)], limit=512)
    assert answer.limited_by == "limit"
    assert answer.verdicts[-1] == (
        "The search ended at the limit of 512 it was given, not at the memory's, which would hold about 900."
    )


def test_another_failure_than_memory_is_named_as_what_it_was() -> None:
    answer = conclude([fit(16), fit(64), safe(840), failed(900, Outcome.CUDA_FAULT, kind="fit")])
    assert answer.out_of_memory_probes == 0
    assert answer.limited_by == "cuda fault"
    assert "900 ended in cuda fault, which may be memory in disguise" in answer.verdicts[1]


def test_nothing_that_runs_gives_no_batch_at_all() -> None:
    answer = conclude([failed(16, kind="fit"), failed(1, kind="fit")])
    assert (answer.max_batch, answer.safe_batch, answer.first_failed_batch) == (None, None, 1)
    assert answer.verdicts == ("No batch size ran; the smallest tried was 1.",)
    assert conclude([]).verdicts == ()


def test_an_unsafe_device_says_that_nothing_is_safe() -> None:
    answer = conclude([fit(1), failed(1, kind="fit", margin=0.05, evaluate=True), failed(2, kind="fit")])
    assert answer.safe_batch is None
    assert "No batch size was shown to be safe" in answer.verdicts[0]


def test_an_effective_batch_is_split_by_the_safe_one() -> None:
    answer = conclude(IDEAL, effective_batch=4096)
    assert (answer.micro_batch, answer.accumulation_steps, answer.effective_batch) == (512, 8, 4096)
    assert "effective batch of 4096" in answer.verdicts[-1]
    prime = conclude(IDEAL, effective_batch=4099)
    assert (prime.micro_batch, prime.accumulation_steps, prime.effective_batch) == (820, 5, 4100)


def test_an_interrupted_probe_says_nothing() -> None:
    answer = conclude([fit(16), failed(64, Outcome.INTERRUPTED, kind="fit")])
    assert answer.first_failed_batch is None
