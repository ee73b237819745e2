import importlib
import shlex

import click
import msgspec
import pytest

from report.documents import bench, compare_document, plan_document, throughput_document
from report.loader_documents import grid_document, loader_document, stalls_document
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import (
    AnatomyRequest,
    Bench,
    FindRequest,
    LoaderRequest,
    MaxBatchRequest,
    PlanRequest,
    Request,
    StallsRequest,
    SwitchesRequest,
    ThroughputRequest,
    VerifyRequest,
)
from traindyno.core.setups import Setup
from traindyno.report.reproduce import reproduce_command

PLAIN = WorkloadSpec(model="torchvision:resnet50")


def command_of(request: Request) -> str | None:
    return reproduce_command(throughput_document(request=msgspec.to_builtins(request)))


def test_defaults_are_left_out() -> None:
    assert reproduce_command(throughput_document()) == (
        "traindyno throughput --model torchvision:resnet50 --device cuda:0"
    )


def test_everything_else_is_written_out() -> None:
    request = ThroughputRequest(
        workload=WorkloadSpec(model="ir:50", mode="infer", image_size=112, classes=10, optimizer="adam"),
        bench=bench(precision="bf16", seed=7, time_budget_seconds=600.0, memory_limit_bytes=2**30),
        smallest=16,
        refine=False,
        repeats=5,
        choose="fastest",
        trial_seconds=2.5,
    )
    assert command_of(request) == (
        "traindyno throughput --model ir:50 --mode infer --image-size 112 --classes 10 --optimizer adam "
        "--device cuda:0 --precision bf16 --seed 7 --time-budget 600s --memory-limit 1073741824 "
        "--batch-size 16..max --no-refine --repeats 5 --choose fastest --trial-seconds 2.5s"
    )


def test_what_was_not_asked_for_but_found_is_not_written_but_for_the_device() -> None:
    found = bench(device="cpu", memory_limit_bytes=12271804416, settled=("device", "memory_limit_bytes"))
    request = ThroughputRequest(workload=PLAIN, bench=found)
    assert command_of(request) == "traindyno throughput --model torchvision:resnet50 --device cpu"


def test_the_sweep_is_written_as_people_write_it() -> None:
    sizes = ThroughputRequest(workload=PLAIN, bench=bench(), sizes=(16, 32))
    span = ThroughputRequest(workload=PLAIN, bench=bench(), smallest=8, largest=64)
    assert "--batch-size 16,32" in (command_of(sizes) or "")
    assert "--batch-size 8..64" in (command_of(span) or "")


def test_several_models_are_all_named() -> None:
    request = MaxBatchRequest(workloads=(PLAIN, WorkloadSpec(model="ir:50")), bench=bench(), exact=True)
    assert command_of(request) == (
        "traindyno max-batch --model torchvision:resnet50 --model ir:50 --device cuda:0 --exact"
    )


def test_a_plan_names_its_curve_or_its_study() -> None:
    assert reproduce_command(plan_document()) == (
        "traindyno plan --examples 1281167 --epochs 90 --model torchvision:resnet50 --device cuda:0 "
        "--price-per-hour 3.5"
    )
    request = PlanRequest(examples=10, epochs=1.5, from_study="brisk-otter", eval_every_epochs=0.5, validate=True)
    assert command_of(request) == (
        "traindyno plan --examples 10 --epochs 1.5 --from brisk-otter --eval-every 0.5 --validate"
    )


def test_a_loader_study_names_its_data_and_its_model_if_it_has_one() -> None:
    assert reproduce_command(loader_document()) == (
        "traindyno loader --model torchvision:resnet50 --data folder:/data/imagenet/train --device cuda:0 "
        "--batch-size 64 --cpus 4,8,16"
    )
    assert reproduce_command(grid_document()) == (
        "traindyno loader --data folder:/data/places365 --device cpu --batch-size 16,64,256 --grid"
    )


def test_a_stalls_study_names_the_loader_s_settings_and_the_other_sources() -> None:
    assert reproduce_command(stalls_document()) == (
        "traindyno stalls --model torchvision:resnet50 --data folder:/data/imagenet/train --device cuda:0 "
        "--batch-size 256 --workers 12 --pin-memory --decoder simplejpeg --also prepared:/data/imagenet-256"
    )


def test_a_hostile_model_name_stays_one_word_of_the_shell() -> None:
    request = ThroughputRequest(workload=WorkloadSpec(model="a.py:f; rm -rf ~"), bench=bench())
    assert shlex.split(command_of(request) or "")[3] == "a.py:f; rm -rf ~"


def test_answers_without_a_request_have_no_command() -> None:
    assert reproduce_command(compare_document()) is None
    assert reproduce_command(throughput_document(request={"command": "unheard-of"})) is None


def full_bench() -> Bench:
    return bench(
        precision="fp16", seed=1, runner="simulated", time_budget_seconds=1.0, memory_limit_bytes=1,
        step_timeout_seconds=1.0, trial_timeout_seconds=1.0,
    )  # fmt: skip


FULL: dict[str, Request] = {
    "throughput": ThroughputRequest(
        workload=WorkloadSpec(model="ir:50", mode="infer", image_size=1, classes=2, conv1_stride=2),
        bench=full_bench(), repeats=1, refine=False, choose="largest", margin=0.5, trial_seconds=3.0,
        smallest=2,
    ),
    "max_batch": MaxBatchRequest(
        workloads=(PLAIN,), bench=full_bench(), tolerance=0.5, exact=True, limit=3, margin=0.5,
        effective_batch=9,
    ),
    "loader": LoaderRequest(
        workload=WorkloadSpec(model="ir:50", data="folder:x", skip_bad=True), bench=full_bench(), batch_size=8,
        workers=(0, 2), sizes=(8, 16), grid=True, cpus=(1, 2), decoder="nvjpeg", epoch_examples=9, trial_seconds=1.0,
    ),
    "stalls": StallsRequest(
        workload=WorkloadSpec(model="ir:50", data="folder:x", skip_bad=True), bench=full_bench(),
        settings=Settings(
            batch_size=8, num_workers=3, prefetch_factor=4, pin_memory=True, decoder="nvjpeg", tf32="all"
        ),
        also=("memory:", "prepared:y"), cold=False, repeats=1, trial_seconds=1.0,
    ),
    "anatomy": AnatomyRequest(
        workload=WorkloadSpec(model="ir:50", data="folder:x", skip_bad=True), bench=full_bench(),
        settings=Settings(batch_size=8, num_workers=3, prefetch_factor=4, pin_memory=True, compile="default"),
        sizes=(1, 2), from_loader=False, repeats=1, trial_seconds=1.0, trace="t.json",
    ),
    "switches": SwitchesRequest(
        workload=WorkloadSpec(model="ir:50", data="folder:x", skip_bad=True), bench=full_bench(),
        settings=Settings(batch_size=8, num_workers=3, pin_memory=True, compile="default"), only=("tf32", "compile"),
        skip=("tf32",), max_autotune=True, combine=False, check_losses=False, repeats=1, trial_seconds=1.0,
    ),
    "find": FindRequest(
        workload=WorkloadSpec(model="ir:50", data="folder:x", skip_bad=True, image_size=112), bench=full_bench(),
        settings=Settings(batch_size=8, precision="fp16", num_workers=3, pin_memory=True, compile="default"),
        keep=("precision", "data", "tf32"), batch_range=(4, 16), also=("memory:", "prepared:y"), prepare="z",
        margin=0.5, epochs=1.5, epoch_examples=9, learning_rate=0.1, repeats=2, trial_seconds=1.0, local_ranks=2,
    ),
    "verify": VerifyRequest(
        workload=WorkloadSpec(model="a.py:f", source_sha256="0"), bench=full_bench(),
        baseline=Setup(data="folder:x", settings=Settings(batch_size=8)),
        recommended=Setup(data="folder:x", settings=Settings(batch_size=8, num_workers=2)),
        promised_speedup=2.0, promised_ci95=(1.9, 2.1), repeats=2, trial_seconds=1.0, file="mine.toml",
    ),
    "plan": PlanRequest(
        examples=1, epochs=2.0, from_study="x", eval_every_epochs=1.0, eval_examples=2,
        price_per_hour=1.0, validate=True, validate_seconds=5.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("module", FULL)
def test_the_command_line_knows_every_option(module: str) -> None:
    words = shlex.split(command_of(FULL[module]) or "")
    command: click.Command = importlib.import_module(f"traindyno.cli.{module}").command
    assert command.name == words[1]
    known = {name for option in command.params for name in (*option.opts, *option.secondary_opts)}
    assert {word for word in words if word.startswith("--")} <= known


def test_the_command_of_a_find_asks_for_the_same_again() -> None:
    asked = FULL["find"]
    command = importlib.import_module("traindyno.cli.find")
    words = shlex.split(command_of(asked) or "")[2:]
    with command.command.make_context("find", words) as context:
        again = command._request(context.params.pop("model"), context.params)
    assert again == asked


def test_a_verify_names_its_file_and_the_user_s_code() -> None:
    words = shlex.split(command_of(FULL["verify"]) or "")
    assert words[:5] == ["traindyno", "verify", "mine.toml", "--model", "a.py:f"]
    assert "--precision" not in words
