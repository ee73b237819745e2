"""The command that asks a study's question again, rebuilt from its stored request."""

import shlex
from typing import Any

import msgspec

from traindyno.analysis.anatomy_commands import feeding_words
from traindyno.analysis.commands import settings_words
from traindyno.analysis.recipe_words import recipe_words
from traindyno.analysis.target_settling import batch_contender
from traindyno.core.answers import Document
from traindyno.core.base import Record
from traindyno.core.contender_text import format_contender
from traindyno.core.requests import (
    AccuracyRequest,
    AdoptRequest,
    AnatomyRequest,
    Bench,
    FindRequest,
    LoaderRequest,
    MaxBatchRequest,
    NoiseScaleRequest,
    PlanRequest,
    Request,
    RoundRequest,
    ScaleRequest,
    SoakRequest,
    StallsRequest,
    SwitchesRequest,
    TargetRequest,
    ThroughputRequest,
    TrainRequest,
    VerifyRequest,
)
from traindyno.core.scaling import USUAL_BUCKET_MIB

_UNITS = {"_seconds": "s", "_bytes": ""}
_NAMES = {
    "trial_seconds": "trial-seconds",
    "validate_seconds": "validate-for",
    "eval_every_epochs": "eval-every",
}
_UNNAMED = frozenset({"model", "source_sha256", "arguments"})


def reproduce_command(document: Document) -> str | None:
    """What to type to run the study again; null for answers that measured nothing of their own."""
    try:
        request = msgspec.convert(document.request, Request)
    except msgspec.ValidationError:
        return None
    return request_command(request)


def request_command(request: Request) -> str:
    """What to type to ask this."""
    return shlex.join(["traindyno", *_words(request)])


def _words(request: Request) -> list[str]:
    if isinstance(request, MaxBatchRequest):
        models = [word for workload in request.workloads for word in ("--model", workload.model)]
        shared = _options(request.workloads[0]) if request.workloads else []
        return ["max-batch", *models, *shared, *_options(request.bench), *_options(request)]
    if isinstance(request, PlanRequest):
        curve = [] if request.curve is None else _curve(request.curve)
        source = [] if request.from_study is None else ["--from", request.from_study]
        needed = ["--examples", str(request.examples), "--epochs", f"{request.epochs:.12g}"]
        return [
            "plan",
            *needed,
            *source,
            *curve,
            *_options(request, skip=("from_study", "examples", "epochs")),
        ]
    if isinstance(request, LoaderRequest):
        return ["loader", *_loader(request)]
    if isinstance(request, StallsRequest):
        return ["stalls", *_stalls(request)]
    if isinstance(request, AnatomyRequest):
        return ["anatomy", *_anatomy(request)]
    if isinstance(request, SwitchesRequest):
        return ["switches", *_switches(request)]
    if isinstance(request, SoakRequest):
        return ["soak", *_soak(request)]
    if isinstance(request, FindRequest):
        return ["find", *_find(request)]
    if isinstance(request, VerifyRequest):
        return ["verify", *_verify(request)]
    if isinstance(request, TrainRequest):
        return ["train", *_train(request)]
    if isinstance(request, AccuracyRequest):
        return ["accuracy", *_accuracy(request)]
    if isinstance(request, NoiseScaleRequest):
        return ["noise-scale", *_noise_scale(request)]
    if isinstance(request, TargetRequest):
        return ["target", *_target(request)]
    if isinstance(request, ScaleRequest):
        return ["scale", *_scale(request)]
    if isinstance(request, RoundRequest):
        return ["round", "run", f"{request.round.name}.toml", *round_bench_words(request.bench)]
    if isinstance(request, AdoptRequest):
        return ["round", "adopt", request.round_study, "--seeds", str(request.looks[-1]), *_adopt(request)]
    return ["throughput", *_curve(request)]


def round_bench_words(bench: Bench) -> list[str]:
    """The options of a round's bench; its file says the precision."""
    return _options(bench, skip=("precision",))


def _adopt(request: AdoptRequest) -> list[str]:
    own = ["--model", request.workload.model] if request.workload.runs_user_code else []
    arms = [word for arm in request.arms for word in ("--arm", arm)]
    return [*arms, *(["--despite-checks"] if request.failed_checks else []), *own]


def _curve(request: ThroughputRequest) -> list[str]:
    sweep = _sweep(request)
    own = _options(request, skip=("sizes", "largest", "smallest"))
    workload = ["--model", request.workload.model, *_options(request.workload)]
    return [*workload, *_options(request.bench), *sweep, *own]


def _loader(request: LoaderRequest) -> list[str]:
    model = ["--model", request.workload.model] if request.with_model else []
    lists = (("--batch-size", request.sizes or (request.batch_size,)), ("--workers", request.workers))
    spans = [word for name, numbers in (*lists, ("--cpus", request.cpus)) for word in _list(name, numbers)]
    own = _options(request, skip=("batch_size", "with_model"))
    return [*model, *_options(request.workload), *_options(request.bench), *spans, *own]


def _stalls(request: StallsRequest) -> list[str]:
    settings = ["--batch-size", str(request.settings.batch_size)]
    settings += settings_words(request.settings, always_workers=True)
    also = [word for source in request.also for word in ("--also", source)]
    workload = ["--model", request.workload.model, *_options(request.workload)]
    return [*workload, *_options(request.bench), *settings, *also, *_options(request)]


def _anatomy(request: AnatomyRequest) -> list[str]:
    sizes = _list("--batch-size", tuple(sorted({request.settings.batch_size, *request.sizes})))
    workload = ["--model", request.workload.model, *_options(request.workload)]
    fed, own = feeding_words(request), _options(request, skip=("from_loader",))
    return [*workload, *_options(request.bench), *sizes, *settings_words(request.settings), *fed, *own]


def _soak(request: SoakRequest) -> list[str]:
    length = ["--minutes", f"{request.run_seconds / 60:.12g}"]
    settings = ["--batch-size", str(request.settings.batch_size), *settings_words(request.settings)]
    workload = ["--model", request.workload.model, *_options(request.workload)]
    fed, own = feeding_words(request), _options(request, skip=("run_seconds", "from_loader"))
    return [*workload, *_options(request.bench), *length, *settings, *fed, *own]


def _scale(request: ScaleRequest) -> list[str]:
    counts = [*_list("--devices", request.devices), *_list("--batch-per-device", request.batches_per_device)]
    counts += _list("--global-batch", request.global_batches)
    buckets = ",".join(f"{size:.12g}" for size in request.bucket_mib)
    counts += [] if request.bucket_mib == (USUAL_BUCKET_MIB,) else ["--bucket-mb", buckets]
    counts += [] if request.accumulations == (1,) else _list("--accumulation-steps", request.accumulations)
    at = "" if request.rate_batch is None else f"@{request.rate_batch}"
    rate = [] if request.learning_rate is None else ["--lr", f"{request.learning_rate:.12g}{at}"]
    rate += [] if request.rate_rule == "linear" else ["--lr-rule", request.rate_rule]
    workload = ["--model", request.workload.model, *_options(request.workload)]
    own = _options(request, skip=("from_loader", "learning_rate", "rate_batch", "rate_rule"))
    settings = [*settings_words(request.settings), *feeding_words(request)]
    return [*workload, *_options(request.bench), *counts, *settings, *rate, *own]


def _switches(request: SwitchesRequest) -> list[str]:
    settings = ["--batch-size", str(request.settings.batch_size), *settings_words(request.settings)]
    named = (("--only", request.only), ("--skip", request.skip))
    names = [word for option, switches in named if switches for word in (option, ",".join(switches))]
    workload = ["--model", request.workload.model, *_options(request.workload)]
    return [*workload, *_options(request.bench), *settings, *names, *_options(request)]


def _find(request: FindRequest) -> list[str]:
    """The baseline in options, whether they came from a file or not."""
    settings = ["--batch-size", str(request.settings.batch_size), *settings_words(request.settings)]
    kept = ["--keep", ",".join(request.keep)] if request.keep else []
    spans = [] if request.batch_range is None else ["--batch-range", "{}..{}".format(*request.batch_range)]
    also = [word for source in request.also for word in ("--also", source)]
    workload = ["--model", request.workload.model, *_options(request.workload)]
    return [*workload, *_options(request.bench), *settings, *kept, *spans, *also, *_options(request)]


def _verify(request: VerifyRequest) -> list[str]:
    code = ["--model", request.workload.model] if request.workload.runs_user_code else []
    own = _options(request, skip=("file", *(name for name in request.__struct_fields__ if name.startswith("promise"))))
    code += [word for source in request.data for word in ("--data", source)]
    return [request.file or "SETTINGS", *code, *_options(request.bench, skip=("precision",)), *own]


def _accuracy(request: AccuracyRequest) -> list[str]:
    rate = f"{request.recipe.learning_rate:.12g}@{request.reference_batch}"
    rule = [] if request.rule == "gain" else ["--lr-rule", request.rule]
    recipe = recipe_words(request.recipe, rate)
    workload = ["--model", request.workload.model, *_options(request.workload)]
    own = [*_list("--batch-size", request.sizes), *rule, *_options(request, skip=("rule", "reference_batch"))]
    return [*workload, *_options(request.bench), *own, *recipe, *settings_words(request.settings)]


def _noise_scale(request: NoiseScaleRequest) -> list[str]:
    settings = ["--batch-size", str(request.settings.batch_size), *settings_words(request.settings)]
    sizes = _list("--curve-sizes", request.sizes)
    workload = ["--model", request.workload.model, *_options(request.workload)]
    own = [*_options(request.plan), *sizes, *_options(request)]
    return [*workload, *_options(request.bench), *settings, *recipe_words(request.recipe), *own]


def _train(request: TrainRequest) -> list[str]:
    settings = ["--batch-size", str(request.settings.batch_size), *settings_words(request.settings)]
    settings += [] if request.settings.devices == 1 else ["--devices", str(request.settings.devices)]
    workload = ["--model", request.workload.model, *_options(request.workload)]
    return [*workload, *_options(request.bench), *settings, *recipe_words(request.recipe), *_options(request)]


def _target(request: TargetRequest) -> list[str]:
    """Contenders that differ from the common settings in their batch alone are batch sizes."""
    settings = request.settings or request.contenders[0].settings
    by_size = [each for each in request.contenders if each == batch_contender(settings, each.settings.batch_size)]
    named = [format_contender(each, settings) for each in request.contenders if each not in by_size]
    rate = f"{request.recipe.learning_rate:.12g}"
    rate = rate if request.reference_batch is None else f"{rate}@{request.reference_batch}"
    aim = ["--metric", request.target.metric] if request.target.metric != "accuracy" else []
    aim += ["--value", f"{request.target.value:.12g}"]
    sizes = _list("--batch-size", tuple(each.settings.batch_size for each in by_size))
    ways = [*sizes, *(word for text in named for word in ("--contender", text))]
    rule = [] if request.rule == "gain" else ["--lr-rule", request.rule]
    own = [*aim, *ways, *rule, *_options(request, skip=("rule", "reference_batch"))]
    workload = ["--model", request.workload.model, *_options(request.workload)]
    return [*workload, *_options(request.bench), *own, *recipe_words(request.recipe, rate), *settings_words(settings)]


def _list(name: str, numbers: tuple[int, ...] | None) -> list[str]:
    return [name, ",".join(map(str, numbers))] if numbers else []


def _sweep(request: ThroughputRequest) -> list[str]:
    if request.sizes is not None:
        return ["--batch-size", ",".join(str(size) for size in request.sizes)]
    if (request.smallest, request.largest) == (1, None):
        return []
    return ["--batch-size", f"{request.smallest}..{request.largest or 'max'}"]


def _options(record: Record, skip: tuple[str, ...] = ()) -> list[str]:
    """Every field that is not at its default, as an option of the same name."""
    words: list[str] = []
    if isinstance(record, Bench):
        record = msgspec.structs.replace(record.asked, device=record.device)
    for field in msgspec.structs.fields(type(record)):
        value = getattr(record, field.name)
        if field.name in skip or field.name in _UNNAMED or isinstance(value, Record | tuple):
            continue
        if _is_told(field.name, value, field.default):
            words += _option(field.name, value)
    return words


def _is_told(name: str, value: Any, default: Any) -> bool:
    """A device is always named, because its default depends on the machine."""
    if name == "device":
        return value not in ("auto", "simulated")
    return value not in (None, "auto", default)


def _option(name: str, value: Any) -> list[str]:
    suffix = next((ending for ending in _UNITS if name.endswith(ending)), "")
    flag = _NAMES.get(name) or name.removesuffix(suffix).replace("_", "-")
    if isinstance(value, bool):
        return [f"--{flag}" if value else f"--no-{flag}"]
    number = f"{value:.12g}" if isinstance(value, float) else str(value)
    return [f"--{flag}", number + _UNITS.get(suffix, "")]
