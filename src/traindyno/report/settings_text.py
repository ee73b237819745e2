"""Settings to copy into a project: as TOML, and as the line of code they stand for."""

from traindyno.core.answers import LoaderSettings
from traindyno.report.code_text import own_loader_lines
from traindyno.report.switch_code import switch_code
from traindyno.report.view import Adoption
from traindyno.report.wording import one_line


def toml(adoption: Adoption) -> str:
    """A `[settings]` table; the model is a comment, for it names the file's workload and not a knob."""
    lines = [f"# {one_line(adoption.model)}", "[settings]", f"batch_size = {adoption.batch_size}"]
    switches = dict(adoption.switches or {})
    precision = switches.pop("precision", adoption.run.precision)
    lines += [f"precision = {_text(precision)}"] if precision else []
    lines += [f"device = {_text(adoption.run.device)}"] if adoption.run.device else []
    lines += [
        f"{name} = {_text(value) if isinstance(value, str) else _value(value)}" for name, value in switches.items()
    ]
    if adoption.loader is not None:
        lines += [f"{name} = {_value(value)}" for name, value in _knobs(adoption.loader)]
        lines += [f"decoder = {_text(adoption.loader.decoder)}"] if adoption.loader.decoder else []
    if adoption.accumulation_steps is not None and adoption.accumulation_steps > 1:
        total = adoption.batch_size * adoption.accumulation_steps
        lines.append(f"# step the optimizer every {adoption.accumulation_steps} batches: {total} examples a step")
    return "\n".join(lines)


def loader_line(adoption: Adoption) -> str:
    """The equivalent `DataLoader`; training drops the short last batch, which was not measured."""
    how = "shuffle=True, drop_last=True" if adoption.training else "shuffle=False"
    knobs = [] if adoption.loader is None else [f"{name}={value}" for name, value in _knobs(adoption.loader)]
    return f"loader = DataLoader({', '.join(['dataset', f'batch_size={adoption.batch_size}', how, *knobs])})"


def code_text(adoption: Adoption) -> str:
    """The lines of code that the settings stand for: the switches where those were measured, else the loader."""
    if adoption.switches is None:
        own = own_loader_lines(adoption.training) if adoption.own_data else []
        return "\n".join([*own, loader_line(adoption)])
    return switch_code(adoption.switches, adoption.run.device, training=adoption.training)


def measured_code(adoptions: tuple[Adoption, ...]) -> tuple[str, ...]:
    """Lines to copy where the loader's knobs or switches are the answer, or part of it."""
    return tuple(code_text(each) for each in adoptions if each.loader is not None or each.switches)


def _knobs(loader: LoaderSettings) -> list[tuple[str, int | bool]]:
    """Arguments of `DataLoader`; without workers it takes neither a prefetch factor nor persistent workers."""
    knobs: list[tuple[str, int | bool]] = [("num_workers", loader.num_workers)]
    if loader.num_workers and loader.prefetch_factor is not None:
        knobs.append(("prefetch_factor", loader.prefetch_factor))
    knobs.append(("pin_memory", loader.pin_memory))
    return [*knobs, ("persistent_workers", loader.persistent_workers)] if loader.num_workers else knobs


def _value(value: int | bool) -> str:
    return str(value).lower()


def _text(value: str) -> str:
    escaped = one_line(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
