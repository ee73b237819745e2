from typing import Any

import msgspec
import pytest

from analysis.making import curve
from traindyno.analysis.comparison import conclude_comparison, difference
from traindyno.analysis.likeness import unlike
from traindyno.analysis.plan import TrainingJob, conclude_plan
from traindyno.core.answers import CompareAnswer, Document, MaxBatchAnswer, ThroughputAnswer
from traindyno.core.codec import plain
from traindyno.core.errors import UsageError
from traindyno.core.machine import GpuFacts, MachineFacts
from traindyno.core.records import Precision, WorkloadSpec
from traindyno.core.requests import (
    Bench,
    CurveSource,
    LoaderRequest,
    MaxBatchRequest,
    PlanRequest,
    ThroughputRequest,
)


def machine(gpu: str = "NVIDIA H200", torch: str = "2.11.0", driver: str = "570") -> dict[str, Any]:
    facts = MachineFacts(
        hostname="node1",
        system="Linux",
        python="3.12",
        traindyno="0.1.0",
        torch=torch,
        cuda="12.8",
        gpus=(
            GpuFacts(index=0, name="spare", uuid="0", memory_bytes=2**30),
            GpuFacts(index=1, name=gpu, uuid="1", memory_bytes=140 * 2**30, driver=driver),
        ),
    )
    found: dict[str, Any] = plain(facts)
    return found


def request(**workload: Any) -> ThroughputRequest:
    spec = WorkloadSpec(**{"model": "torchvision:resnet50", "image_size": 224, **workload})
    return ThroughputRequest(workload=spec, bench=Bench(device="cuda:1"))


def throughput(rates: dict[int, float], half_width: float = 0.01, simulated: bool = False, **options: Any) -> Document:
    best = max(rates, key=lambda size: rates[size])
    answer = ThroughputAnswer(
        model="torchvision:resnet50",
        mode="train",
        curve=curve(rates, half_width=half_width),
        best_batch=best,
        recommended_batch=best,
        fastest_batch=best,
        largest_batch=max(rates),
        chosen_batch=best,
        choose="recommended",
        saturated_from=None,
        verdicts=(),
        simulated=simulated,
    )
    return Document(
        command="throughput",
        study="s",
        answer=plain(answer),
        machine=options.get("machine", machine()),
        request=plain(options.get("request", request())),
    )


def max_batch(*found: tuple[str, int | None, int | None]) -> Document:
    answers = [
        MaxBatchAnswer(
            model=model,
            mode="train",
            max_batch=largest,
            safe_batch=safe,
            no_retry_batch=safe,
            first_failed_batch=None,
            probes=5,
            out_of_memory_probes=1,
            memory_model=None,
            seconds=10,
            margin=0.05,
            tolerance=0.01,
        )
        for model, safe, largest in found
    ]
    asked = MaxBatchRequest(workloads=tuple(WorkloadSpec(model=model) for model, _, _ in found), bench=Bench())
    return Document(command="max-batch", study="m", answer=[plain(answer) for answer in answers], request=plain(asked))


def compare(a: Document, b: Document) -> CompareAnswer:
    return conclude_comparison("here", a, "there", b)


def test_common_sizes_are_compared_with_interval_and_words() -> None:
    answer = compare(throughput({32: 100.0, 64: 200}), throughput({64: 388.0, 128: 400}))
    row, best = answer.rows
    assert (row.key, row.a, row.b) == ("batch 64", 200, 388)
    assert row.ratio == pytest.approx(1.94)
    assert row.ci95 is not None
    assert row.ci95[0] == pytest.approx(1.94 * 0.986, abs=0.01)
    assert row.verdict == "B is 1.94× faster"
    assert (best.key, best.verdict) == ("best (64 and 128)", "B is 2.00× faster")
    assert answer.verdicts[0] == "Best (64 and 128): B is 2.00× faster."


@pytest.mark.parametrize(
    ("ratio", "interval", "more_is_faster", "words"),
    [
        (1.01, (0.99, 1.03), True, "no difference shown"),
        (1.042, (1.03, 1.05), True, "B is 4.2 % faster"),
        (0.5, (0.49, 0.51), True, "A is 2.00× faster"),
        (0.5, (0.49, 0.51), False, "B is 2.00× faster"),
        (2.0, (1.9, 2.1), False, "A is 2.00× faster"),
        (3.0, (0.0, float("inf")), True, "no difference shown"),
    ],
)
def test_differences_in_words(ratio: float, interval: tuple[float, float], more_is_faster: bool, words: str) -> None:
    assert difference(ratio, interval, more_is_faster) == words


def test_studies_without_a_common_size_still_compare_their_best() -> None:
    answer = compare(throughput({32: 100.0}), throughput({64: 100.0}))
    assert [row.key for row in answer.rows] == ["best (32 and 64)"]
    assert "No batch size was measured on both sides." in answer.verdicts


def test_an_unbounded_interval_written_as_null_is_read_back() -> None:
    document = throughput({64: 100.0})
    document.answer["curve"][0]["ci95"] = [0.0, None]
    answer = compare(document, throughput({64: 300.0}))
    assert answer.rows[0].verdict == "no difference shown"


def test_equal_conditions_are_not_unlike() -> None:
    assert unlike(throughput({64: 1.0}), throughput({64: 1.0})) == ()


def test_every_difference_is_named() -> None:
    a = throughput({64: 1.0})
    b = throughput(
        {64: 1.0},
        machine=machine(gpu="NVIDIA A100", torch="2.10.0", driver="550"),
        request=request(image_size=112, mode="infer"),
    )
    assert unlike(a, b) == (
        "GPU: NVIDIA H200 against NVIDIA A100",
        "driver: 570 against 550",
        "torch: 2.11.0 against 2.10.0",
        "mode: train against infer",
        "image size: 224 against 112",
    )
    assert compare(a, b).verdicts[-1] == ("The two also differ in GPU, driver, torch, mode and image size.")


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"margin": 0.3}, "margin: 0.05 against 0.3"),
        ({"repeats": 5}, "repeats: 3 against 5"),
        ({"trial_seconds": 10.0}, "time per trial: 5 s against 10 s"),
        ({"sizes": (64,)}, "batch sizes: not given against 64"),
        ({"largest": 256}, "largest batch size: not given against 256"),
        ({"refine": False}, "refined: yes against no"),
        ({"bench": Bench(device="cuda:1", memory_limit_bytes=2**34)}, "memory limit: not given against 16GiB"),
        ({"bench": Bench(device="cuda:1", step_timeout_seconds=9)}, "step timeout: not given against 9 s"),
        ({"bench": Bench(device="cuda:1", seed=3)}, "seed: 0 against 3"),
        ({"bench": Bench(device="cuda:1", runner="spawn")}, "runner: measured against measured, spawn"),
    ],
)
def test_settings_of_the_measurement_are_named(changes: dict[str, Any], told: str) -> None:
    other = msgspec.structs.replace(request(), **changes)
    assert unlike(throughput({64: 1.0}), throughput({64: 1.0}, request=other)) == (told,)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"skip_bad": True}, "damaged examples skipped: no against yes"),
        ({"arguments": {"depth": 3, "act": "relu"}}, "arguments: not given against act=relu, depth=3"),
        ({"optimizer": "adam"}, "optimizer: sgd against adam"),
        ({"image_size": None}, "image size: 224 against the model's own"),
    ],
)
def test_parts_of_the_workload_are_named(changes: dict[str, Any], told: str) -> None:
    assert unlike(throughput({64: 1.0}), throughput({64: 1.0}, request=request(**changes))) == (told,)


def test_a_limit_of_memory_and_a_margin_of_a_largest_batch_are_named() -> None:
    a, b = max_batch(("m", 100, 110)), max_batch(("m", 80, 110))
    workloads = (WorkloadSpec(model="m"),)
    limited = MaxBatchRequest(workloads=workloads, bench=Bench(memory_limit_bytes=2**34))
    wide = MaxBatchRequest(workloads=workloads, bench=Bench(), margin=0.3)
    a, b = (msgspec.structs.replace(each, request=plain(asked)) for each, asked in ((a, limited), (b, wide)))
    assert unlike(a, b) == ("memory limit: 16GiB against not given", "margin: 0.05 against 0.3")


def test_what_later_models_of_a_study_have_of_their_own_is_named() -> None:
    def of(source: str) -> Document:
        workloads = (WorkloadSpec(model="a"), WorkloadSpec(model="b.py:f", source_sha256=source))
        asked = MaxBatchRequest(workloads=workloads, bench=Bench())
        return msgspec.structs.replace(max_batch(("a", 1, 1), ("b.py:f", 1, 1)), request=plain(asked))

    assert unlike(of("1"), of("2")) == ("model source: not given, 1 against not given, 2",)


def test_what_a_loader_was_asked_is_named() -> None:
    def of(**options: Any) -> Document:
        asked = LoaderRequest(workload=WorkloadSpec(model="m"), bench=Bench(), batch_size=64, **options)
        return Document(command="loader", study="l", answer={}, request=plain(asked))

    assert unlike(of(), of(local_ranks=8)) == ("local ranks: 1 against 8",)
    assert unlike(of(workers=(2, 4)), of(workers=(2,))) == ("workers: 2, 4 against 2",)
    assert unlike(of(with_model=False), of()) == ("model fed: no against yes",)


def test_another_simulation_is_named() -> None:
    def of(runner: str) -> Document:
        other = msgspec.structs.replace(request(), bench=Bench(device="simulated", runner=runner))
        return throughput({64: 1.0}, simulated=True, request=other)

    told = "runner: simulated against simulated:beta_seconds=0.1"
    assert unlike(of("simulated"), of("simulated:beta_seconds=0.1")) == (told,)


def test_what_only_one_side_recorded_is_unknown_on_the_other() -> None:
    bare = Document(command="throughput", study=None, answer=throughput({64: 1.0}).answer)
    found = unlike(throughput({64: 1.0}), bare)
    assert "GPU: NVIDIA H200 against unknown" in found
    assert "torch: 2.11.0 against unknown" in found


def test_a_simulated_study_is_flagged_before_anything_else() -> None:
    answer = compare(throughput({64: 1.0}), throughput({64: 1.0}, simulated=True))
    assert answer.simulated
    assert answer.verdicts[0] == "there was simulated: its numbers are invented."
    assert "runner: measured against simulated" in answer.unlike


def test_single_models_are_compared_whatever_their_names() -> None:
    answer = compare(max_batch(("a", 100, 110)), max_batch(("b", 150, 110)))
    assert [(row.key, row.ratio, row.ci95, row.verdict) for row in answer.rows] == [
        ("safe batch", 1.5, None, "B fits 1.50× as many"),
        ("max batch", 1.0, None, "the same"),
    ]
    assert "model: a against b" in answer.unlike


def test_several_models_are_paired_by_name() -> None:
    answer = compare(max_batch(("a", 100, 110), ("b", 8, 9)), max_batch(("b", 4, 9), ("c", None, None)))
    assert [(row.key, row.verdict) for row in answer.rows] == [
        ("a (train) safe batch", "only in A"),
        ("a (train) max batch", "only in A"),
        ("b (train) safe batch", "A fits 2.00× as many"),
        ("b (train) max batch", "the same"),
        ("c (train) safe batch", "unknown on both sides"),
        ("c (train) max batch", "unknown on both sides"),
    ]


def test_plans_compare_training_times() -> None:
    def plan(rate: float, epochs: float) -> Document:
        answer = conclude_plan(curve({64: rate}), TrainingJob(examples=10**5, epochs=epochs))
        asked = PlanRequest(examples=10**5, epochs=epochs, curve=request())
        return Document(command="plan", study="p", answer=answer, request=plain(asked))

    answer = compare(plan(100, 1), plan(200, 2))
    assert answer.rows[0].verdict == "no difference shown"
    assert answer.unlike == ("epochs: 1 against 2",)
    assert compare(plan(100, 1), plan(200, 1)).rows[0].verdict == "B is 2.00× faster"


def planned(**options: Any) -> Document:
    answer = conclude_plan(curve({64: 100.0}), TrainingJob(examples=10**6, epochs=1))
    asked = PlanRequest(**{"examples": 10**6, "epochs": 1.0, "curve": request(), **options})
    return Document(command="plan", study="p", answer=answer, machine=machine(), request=plain(asked))


def test_evaluation_that_one_plan_counts_is_named() -> None:
    assert unlike(planned(eval_every_epochs=1.0, eval_examples=50000), planned()) == (
        "examples per evaluation: 50000 against none",
        "epochs between evaluations: 1 against none",
    )


def test_evaluation_that_follows_from_less_than_was_given_is_the_same() -> None:
    assert unlike(planned(eval_every_epochs=1.0), planned(eval_examples=10**5)) == ()


def test_a_plan_from_an_earlier_curve_has_the_conditions_of_that_curve() -> None:
    def of(precision: Precision, gpu: str) -> Document:
        found = msgspec.structs.replace(request(), bench=Bench(device="cuda:1", precision=precision))
        return planned(curve=None, from_study="x", source=CurveSource(request=found, machine=machine(gpu=gpu)))

    assert unlike(of("fp32", "A100"), of("bf16", "H200")) == ("GPU: A100 against H200", "precision: fp32 against bf16")
    assert unlike(of("fp32", "NVIDIA H200"), planned()) == ()


def test_unlike_questions_cannot_be_compared() -> None:
    with pytest.raises(UsageError) as caught:
        compare(throughput({64: 1.0}), max_batch(("a", 1, 1)))
    assert caught.value.message == "here is a study of throughput and there one of max-batch"


def test_a_foreign_file_is_refused_by_name() -> None:
    with pytest.raises(UsageError, match="not an answer"):
        compare(Document(command="plan", study=None, answer={"rows": 3}), throughput_as_plan())


def throughput_as_plan() -> Document:
    return Document(command="plan", study=None, answer=throughput({64: 1.0}).answer)
