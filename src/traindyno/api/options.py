"""Free options sorted into the records they belong to, and how every use case is asked."""

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from traindyno.api.checks import check_values, function_of
from traindyno.app.context import Context, ignore
from traindyno.core.answers import Document
from traindyno.core.base import Record
from traindyno.core.errors import UsageError
from traindyno.core.events import Emit
from traindyno.core.records import Mode, OptimizerName, Settings, WorkloadSpec
from traindyno.core.requests import Bench
from traindyno.core.settings_text import WHERE_DEVICES
from traindyno.core.sweeps import Sweep, parse_sweep

R = TypeVar("R", bound=Record)

_WORKLOAD_OPTIONS = ("mode", "data", "skip_bad", "image_size", "classes", "optimizer", "conv1_stride")
_BENCH_OPTIONS = tuple(name for name in Bench.__struct_fields__ if name != "settled")
_OF_BENCH = ("precision", "device")
_SETTINGS = tuple(name for name in Settings.__struct_fields__ if name not in ("batch_size", *_OF_BENCH))


def ask(
    use_case: Callable[[R, Context], Document], request: R, store: str, name: str | None, on_event: Emit | None
) -> Any:
    """Check the request, and give the use case's answer to it."""
    context = Context(store=store, name=name, emit=ignore if on_event is None else on_event)
    check_values(request, function_of(request))
    return use_case(request, context).answer


def split(
    options: dict[str, Any], asked: Callable[..., Any] | None = None, *others: str
) -> tuple[dict[str, Any], Bench]:
    """Sort free options into those of the workload and those of the bench; unknown names are refused.

    What `asked` has for parameters, and the `others` that were taken already, may be what was meant by such a name.
    """
    workload = {name: value for name, value in options.items() if name in _WORKLOAD_OPTIONS}
    rest = {name: value for name, value in options.items() if name not in workload}
    unknown = sorted(set(rest) - set(_BENCH_OPTIONS))
    if unknown:
        if "devices" in unknown:
            raise UsageError("this runs on one device", WHERE_DEVICES)
        named = [] if asked is None else list(inspect.signature(asked).parameters)
        known = (*_WORKLOAD_OPTIONS, *_BENCH_OPTIONS, *others)
        near = difflib.get_close_matches(unknown[0], [*named, *known, *_SETTINGS], n=1)
        hint = f"did you mean {near[0]}?" if near else f"known options: {', '.join(known)}"
        raise UsageError(f"there is no option {', '.join(unknown)}", hint)
    return workload, Bench(**{"device": "auto", **rest})


def bench_of(options: dict[str, Any], function: str) -> Bench:
    """The bench that `function` was given, where the workload and its precision are known already."""
    unknown = sorted(name for name in options if name not in _BENCH_OPTIONS or name == "precision")
    if unknown:
        known = ", ".join(name for name in _BENCH_OPTIONS if name != "precision")
        raise UsageError(f"there is no option {', '.join(unknown)} here", f"known options: {known}")
    bench = split(options)[1]
    check_values(bench, function)
    return bench


def sweep_of(batch_size: str | int | list[int]) -> Sweep:
    """Batch sizes as the command line reads them, or as numbers."""
    sizes = [batch_size] if isinstance(batch_size, int) else batch_size
    return parse_sweep(sizes if isinstance(sizes, str) else ",".join(map(str, sizes)))


def take_settings(options: dict[str, Any], batch_size: int) -> Settings:
    """The settings of a run among free options: `num_workers`, `memory_format`, `compile` and so on."""
    return Settings(**given_settings(options, batch_size))


def given_settings(options: dict[str, Any], batch_size: int | None) -> dict[str, Any]:
    """Those settings among free options that were given, by name."""
    chosen = {name: value for name, value in options.items() if name in (*_SETTINGS, "precision")}
    return chosen if batch_size is None else {"batch_size": batch_size, **chosen}


def without_settings(options: dict[str, Any]) -> dict[str, Any]:
    """What is left of free options for the workload and the bench."""
    return {name: value for name, value in options.items() if name not in _SETTINGS}


def workload_of(
    model: Any,
    mode: Mode = "train",
    image_size: int | None = None,
    classes: int | None = None,
    optimizer: OptimizerName = "sgd",
    conv1_stride: int | None = None,
    data: Any = None,
    skip_bad: bool = False,
) -> WorkloadSpec:
    from traindyno.app.sources import hash_source

    if not isinstance(model, str):
        raise UsageError(
            "a model object cannot be rebuilt in a fresh process",
            "write a function that builds it to a file and pass 'file.py:function'",
        )
    if data is not None and not isinstance(data, str):
        raise UsageError(
            f"data of type {type(data).__name__} cannot be rebuilt in a fresh process",
            "name stored data, such as 'folder:PATH', or let the function that 'file.py:function' names return a "
            "traindyno.Workload with your dataset",
        )
    return WorkloadSpec(
        model=model,
        mode=mode,
        data="synthetic:" if data is None else data,
        image_size=image_size,
        classes=classes,
        optimizer=optimizer,
        conv1_stride=conv1_stride,
        source_sha256=hash_source(model),
        skip_bad=skip_bad,
    )


def one_or_several(texts: str | Iterable[str] | None) -> tuple[str, ...]:
    """A single text is one, and not its letters."""
    return (texts,) if isinstance(texts, str) else tuple(texts or ())
