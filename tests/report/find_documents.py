"""Documents of `find` and `verify`: JPEG files on a GPU, one that gained nothing, and one that was cut short."""

from typing import Any

import msgspec

from report.machines import GIB, bench, machine
from traindyno.core.answers import (
    Attempt,
    Document,
    Finalist,
    FindAnswer,
    Headroom,
    Remedy,
    StepShare,
    TimeSpent,
    TrainingTime,
    VerifyAnswer,
)
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import FindRequest, VerifyRequest
from traindyno.core.setups import Setup

FOLDER, PREPARED = "folder:/data/imagenet/train", "prepared:/fast/imagenet"
WORKLOAD = WorkloadSpec(model="torchvision:resnet50", data=FOLDER)
OWN = Settings(batch_size=256, device="cuda:0", num_workers=4)
FAST = msgspec.structs.replace(
    OWN, precision="bf16", num_workers=15, prefetch_factor=4, pin_memory=True, persistent_workers=True,
    memory_format="channels_last", compile="default", cudnn_benchmark=True,
)  # fmt: skip
GROUNDS = {
    "data": "run, 2.21×",
    "batch_size": "resident run, simulation",
    "precision": "pairs, 1.84× with memory_format",
    "num_workers": "run, 3.42× with pin_memory",
    "prefetch_factor": "run, 3.42× with num_workers",
    "pin_memory": "run, 3.42× with num_workers",
    "persistent_workers": "rule: workers do not start anew",
    "memory_format": "pairs, 1.84× with precision",
    "compile": "pairs, 1.12×",
    "cudnn_benchmark": "pairs, 1.02×",
}
RETUNE = (
    "the batch changes from 256 to 512: multiply the learning rate by 2 (linear rule for SGD), and tune momentum and "
    "regularisation again"
)


def finalist(name: str, data: str, settings: Settings, rate: float, **more: Any) -> Finalist:
    setup, baseline = Setup(data=data, settings=settings), Setup(data=FOLDER, settings=OWN)
    speedup, changes = rate / 858.0, setup.changes(baseline)
    fields: dict[str, Any] = {
        "name": name,
        "data": data,
        "settings": msgspec.to_builtins(settings),
        "changes": changes,
        "batch_size": settings.batch_size,
        "examples_per_second": rate,
        "ci95": (rate * 0.992, rate * 1.009),
        "step_seconds": settings.batch_size / rate,
        "speedup": speedup,
        "speedup_ci95": (speedup * 0.988, speedup * 1.011),
        "confirmed": True,
        "processes": 3,
        "peak_memory_bytes": int(0.083 * GIB * settings.batch_size),
        "rests_on": {change: GROUNDS[change] for change in changes if change in GROUNDS},
    }
    return Finalist(**fields | more)


def baseline(**more: Any) -> Finalist:
    return finalist("baseline", FOLDER, OWN, 858.0, **{"speedup_ci95": (1.0, 1.0), "processes": 4} | more)


def recommended(**more: Any) -> Finalist:
    usual = {"peak_memory_bytes": int(12.4 * GIB), "predicted_examples_per_second": 6390.0}
    return finalist("at_own_batch", PREPARED, FAST, 6500.0, **usual | more)


def free_batch(**more: Any) -> Finalist:
    larger = msgspec.structs.replace(FAST, batch_size=512)
    usual = {"learning_rate_factor": 2.0, "learning_rate": 0.2, "warnings": (RETUNE,)}
    return finalist("with_free_batch", PREPARED, larger, 6718.0, **usual | more)


def near_equals() -> tuple[Finalist, ...]:
    fewer = msgspec.structs.replace(FAST, num_workers=8)
    plain = msgspec.structs.replace(FAST, compile="none", cudnn_benchmark=False)
    return (
        finalist("near_equal", PREPARED, fewer, 6462.0, cheaper_in=("CPUs",), peak_memory_bytes=int(12.4 * GIB)),
        finalist(
            "near_equal",
            PREPARED,
            plain,
            6391.0,
            cheaper_in=("memory", "changes of code"),
            peak_memory_bytes=int(11.1 * GIB),
        ),
    )


def attempts() -> tuple[Attempt, ...]:
    prepared = "data=prepared:/fast/imagenet"
    return (
        Attempt(side="data", change="num_workers=15, pin_memory=on", outcome="adopted",
                adopted=True, ratio=3.42, ci95=(3.37, 3.48), trials=2, seconds=21.0),
        Attempt(side="data", change="decoder=simplejpeg", outcome="not faster than the prepared data",
                ratio=0.59, ci95=(0.57, 0.61), trials=2, seconds=19.4),
        Attempt(side="data", change=prepared, outcome="nothing is decoded any more",
                adopted=True, ratio=2.21, ci95=(2.16, 2.25), trials=2, seconds=96.0),
        Attempt(side="data", change=f"{prepared}, num_workers=4", ratio=0.71, predicted=True,
                outcome="ruled out by the simulation, compared with the best supplier"),
        Attempt(side="data", change="decoder=nvjpeg", outcome="not tried: the prepared data needs no decoder"),
        Attempt(side="step", change="precision=bf16 and memory_format=channels_last", outcome="adopted",
                adopted=True, ratio=1.84, ci95=(1.82, 1.86), trials=3, seconds=44.0),
        Attempt(side="step", change="precision=fp16", outcome="the loss differs beyond the spread of seeds",
                ratio=1.79, ci95=(1.76, 1.81), trials=3, seconds=41.0),
        Attempt(side="step", change="compile=default", outcome="adopted", adopted=True, ratio=1.12, ci95=(1.10, 1.14),
                trials=2, seconds=88.0),
        Attempt(side="step", change="compile=max-autotune", outcome="not tried: the time budget does not reach"),
        Attempt(side="step", change="optimizer_kernel=fused", outcome="not faster",
                ratio=1.004, ci95=(0.996, 1.012), trials=1, seconds=14.0),
        Attempt(side="batch", change="batch_size=512", outcome="faster, but not your batch", ratio=1.034,
                ci95=(1.021, 1.046), trials=1, seconds=12.0),
        Attempt(side="batch", change="batch_size=2048", outcome="failed: out of memory", trials=1, seconds=9.0),
    )  # fmt: skip


def shares(step_seconds: float, batch_size: int, **parts: float) -> tuple[StepShare, ...]:
    return tuple(
        StepShare(
            phase=name, seconds=share * step_seconds, share=share, seconds_per_example=share * step_seconds / batch_size
        )
        for name, share in parts.items()
    )


def find_answer(**changes: Any) -> FindAnswer:
    best = recommended()
    answer = FindAnswer(
        model=WORKLOAD.model,
        mode="train",
        data=FOLDER,
        batch_size=256,
        baseline=baseline(),
        recommended=best,
        speedup=best.speedup,
        speedup_ci95=best.speedup_ci95,
        near_equal=near_equals(),
        bound_before="data: decode",
        bound_after="compute",
        headroom=Headroom(
            resident_examples_per_second=6742.0, share_of_resident=0.964, share_of_resident_ci95=(0.955, 0.972),
            flops_share=0.38, bytes_share=0.61,
        ),
        trials=41,
        seconds=563.0,
        at_own_batch=best,
        with_free_batch=free_batch(),
        finalists=(baseline(), best, free_batch(), *near_equals()),
        step_before=shares(256 / 858, 256, load=0.705, transfer=0.021, forward=0.088, backward=0.168, optimizer=0.018),
        step_after=shares(256 / 6500, 256, load=0.032, transfer=0.008, forward=0.31, backward=0.59, optimizer=0.06),
        attempts=attempts(),
        spent=(
            TimeSpent(part="baseline and where its time goes", trials=6, seconds=71.0),
            TimeSpent(part="data", trials=11, seconds=176.0),
            TimeSpent(part="step", trials=12, seconds=187.0),
            TimeSpent(part="batch", trials=3, seconds=32.0),
            TimeSpent(part="last rounds", trials=9, seconds=97.0),
        ),
        constraints=("what is recommended keeps your batch of 256", "5 % of the memory stays free"),
        offered=(
            Remedy(action="put the prepared data into RAM", predicted_speedup=1.03,
                   command="traindyno find --model torchvision:resnet50 --also memory:/fast/imagenet"),
        ),
        training_time=TrainingTime(
            epochs=90.0, examples=1281167, baseline_seconds=134_600.0, baseline_ci95=(133_100.0, 135_900.0),
            seconds=17_830.0, ci95=(17_640.0, 17_990.0), epoch_seconds=198.1,
        ),
        verdicts=(
            "Training is 7.58 times as fast as the baseline (7.48 to 7.66): 858 → 6,500 examples/s.",
            "It was bound by data: decode, and is now bound by compute.",
            "With a batch of 512 it is 7.83 times as fast as the baseline (7.74 to 7.92).",
            "It reaches 96 % of the rate that the same step has with its data resident on the device.",
            "Over a short run its loss lies within the spread of the baseline's seeds.",
        ),
    )  # fmt: skip
    return msgspec.structs.replace(answer, **changes)


def find_document(**changes: Any) -> Document:
    request = FindRequest(
        workload=WORKLOAD, bench=bench(time_budget_seconds=600.0), settings=OWN, prepare="/fast/imagenet",
        epochs=90.0, learning_rate=0.1,
    )  # fmt: skip
    document = Document(
        command="find",
        study="keen-heron",
        answer=find_answer(),
        warnings=("Another process used the GPU during 2 trials.",),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-02T09:00:00Z",
        state="done",
        hint="traindyno verify traindyno-keen-heron.toml",
        report="traindyno-keen-heron.html",
    )
    return msgspec.structs.replace(document, **changes)


def with_answer(**changes: Any) -> Document:
    return find_document(answer=find_answer(**changes))


def nothing_gained() -> Document:
    """A gain of 1.0: what was tried is not faster than what the user has."""
    own = baseline()
    answer = find_answer(
        recommended=own, at_own_batch=own, with_free_batch=None, near_equal=(), finalists=(own,), speedup=1.0,
        speedup_ci95=(1.0, 1.0), bound_before="compute", bound_after="compute", offered=(),
        attempts=tuple(each for each in attempts() if not each.adopted), training_time=None,
        step_after=(), verdicts=(
            "Nothing that was tried was shown to be faster than the baseline: a gain of 1.00, and nothing to change.",
            "The baseline is bound by compute.",
        ),
    )  # fmt: skip
    return find_document(answer=answer, hint=None)


def only_another_batch() -> Document:
    """Nothing is faster at the user's batch; a larger one is."""
    own = baseline()
    answer = find_answer(
        recommended=own, at_own_batch=own, near_equal=(), finalists=(own, free_batch()), speedup=1.0,
        speedup_ci95=(1.0, 1.0), bound_after="data: decode", training_time=None, step_after=(), verdicts=(
            "Nothing that was tried was shown to be faster than the baseline at your batch of 256: a gain of 1.00, and "
            "nothing to change.",
            "The baseline is bound by data: decode.",
        ),
    )  # fmt: skip
    return find_document(answer=answer, hint=None)


def cut_short() -> Document:
    """Ctrl-C before the last rounds: the best so far rests on single processes."""
    best = recommended(confirmed=False, processes=1, predicted_examples_per_second=None)
    answer = find_answer(
        recommended=best, at_own_batch=best, with_free_batch=None, near_equal=(), step_after=(),
        finalists=(baseline(processes=1), best), baseline=baseline(processes=1),
        headroom=Headroom(unknown_because="the step was not taken apart"), training_time=None, trials=19, seconds=240.0,
        verdicts=(
            "Training is 7.58 times as fast as the baseline (7.48 to 7.66): 858 → 6,500 examples/s. It rests on single "
            "runs, and was not confirmed by turns.",
            "The search was cut short: this is the best that was found by then.",
        ),
    )  # fmt: skip
    return find_document(answer=answer, state="interrupted", interrupted=True)


def free_batch_allowed() -> Document:
    """`--batch-range` lets the batch change in what is recommended."""
    best = free_batch()
    return with_answer(recommended=best, speedup=best.speedup, speedup_ci95=best.speedup_ci95)


def simulated_find() -> Document:
    return with_answer(simulated=True)


def verify_answer(**changes: Any) -> VerifyAnswer:
    answer = VerifyAnswer(
        model=WORKLOAD.model,
        mode="train",
        baseline=baseline(),
        recommended=recommended(predicted_examples_per_second=None, speedup=7.52, speedup_ci95=(7.41, 7.63)),
        speedup=7.52,
        speedup_ci95=(7.41, 7.63),
        promised_speedup=7.58,
        promised_ci95=(7.49, 7.66),
        holds=True,
        verdicts=(
            "The gain holds here: 7.52 times as fast as the baseline (7.41 to 7.63), and 7.58 times was promised.",
        ),
        trials=10,
        seconds=142.0,
    )
    return msgspec.structs.replace(answer, **changes)


def verify_document(**changes: Any) -> Document:
    request = VerifyRequest(
        workload=WORKLOAD, bench=bench(), baseline=Setup(data=FOLDER, settings=OWN),
        recommended=Setup(data=PREPARED, settings=FAST), promised_speedup=7.58, promised_ci95=(7.49, 7.66),
    )  # fmt: skip
    document = Document(
        command="verify",
        study="calm-ibex",
        answer=verify_answer(),
        machine=machine(),
        request=msgspec.to_builtins(request),
        created="2025-06-09T09:00:00Z",
        state="done",
    )
    return msgspec.structs.replace(document, **changes)


FIND = {
    "find": find_document,
    "find_nothing": nothing_gained,
    "find_other_batch": only_another_batch,
    "find_cut_short": cut_short,
    "find_free_batch": free_batch_allowed,
    "find_simulated": simulated_find,
    "verify": verify_document,
}
