"""Settings to copy into a project: as TOML, and as the line of code they stand for."""

from traindyno.report.view import Adoption
from traindyno.report.wording import one_line


def toml(adoption: Adoption) -> str:
    """A `[settings]` table; the model is a comment, for it names the file's workload and not a knob."""
    lines = [f"# {one_line(adoption.model)}", "[settings]", f"batch_size = {adoption.batch_size}"]
    lines += [f"precision = {_text(adoption.run.precision)}"] if adoption.run.precision else []
    lines += [f"device = {_text(adoption.run.device)}"] if adoption.run.device else []
    if adoption.accumulation_steps is not None and adoption.accumulation_steps > 1:
        total = adoption.batch_size * adoption.accumulation_steps
        lines.append(f"# step the optimizer every {adoption.accumulation_steps} batches: {total} examples a step")
    return "\n".join(lines)


def loader_line(adoption: Adoption) -> str:
    """The equivalent `DataLoader`; training drops the short last batch, which was not measured."""
    how = "shuffle=True, drop_last=True" if adoption.training else "shuffle=False"
    return f"loader = DataLoader(dataset, batch_size={adoption.batch_size}, {how})"


def _text(value: str) -> str:
    escaped = one_line(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
