"""Settings in a file that people can write and read: TOML, for `find --baseline`, `verify` and `traindyno.apply`.

The device is no part of it: a file from one machine is used on others, and each chooses the device where it is used.
Nor is the number of devices: these are the settings of one process, however many train together.
"""

import math
import tomllib
from collections.abc import Mapping
from typing import Any, get_type_hints

import msgspec

from traindyno.core.errors import UsageError
from traindyno.core.file_tables import checked_table, checked_tables
from traindyno.core.learning import Objective
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.settings_comments import baseline_beside, gain_comment, head_lines
from traindyno.core.settings_text import WHERE_DEVICES
from traindyno.core.setups import SettingsFile, Setup
from traindyno.core.toml_text import toml_lines

LEAST = {"batch_size": 1, "num_workers": 0, "prefetch_factor": 1, "accumulation_steps": 1, "threads": 1, "devices": 1}
LEAST_OF_WORKLOAD = {"image_size": 1, "classes": 1, "conv1_stride": 1}
GAIN = {
    "speedup": float,
    "ci95": tuple[float, float],
    "confirmed": bool,
    "simulated": bool,
    "study": str,
    "objective": Objective,
    "learning_gain": float,
    "others_cpu_share": float,
}
SOURCE = {"data": str}
SYNTHETIC = "synthetic:"
TABLES = ("settings", "source", "workload", "baseline", "gain")


def parse_settings_file(text: str, name: str) -> SettingsFile:
    """The content of a settings file; `name` is the file's, for errors."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{name} is not valid TOML: {error}", 'write lines such as precision = "bf16"') from None
    tables = checked_tables(_with_settings(content, name), TABLES, name, _home_of, Settings.__struct_fields__)
    settings = check_settings_table(tables["settings"], f"{name}, [settings]")
    source = checked_table(tables["source"], SOURCE, f"{name}, [source]", _home_of)
    gain = _checked_gain(checked_table(tables["gain"], GAIN, f"{name}, [gain]", _home_of), f"{name}, [gain]")
    data, job = source.get("data"), _checked_workload(tables["workload"], f"{name}, [workload]")
    implied = _implied_data(job) if data is None else data
    baseline = _baseline(tables["baseline"], settings, implied, f"{name}, [baseline]")
    workload = _workload(job, baseline.data if baseline else data)
    return SettingsFile(
        settings=settings,
        data=data,
        workload=workload,
        baseline=baseline,
        speedup=gain.get("speedup"),
        speedup_ci95=gain.get("ci95"),
        confirmed=gain.get("confirmed"),
        simulated=gain.get("simulated"),
        study=gain.get("study"),
        objective=gain.get("objective"),
        learning_gain=gain.get("learning_gain"),
        others_cpu_share=gain.get("others_cpu_share"),
    )


def _checked_gain(gain: dict[str, Any], where: str) -> dict[str, Any]:
    """A gain is a positive number, and its interval has a lower and an upper end."""
    ends = gain.get("ci95")
    for name in ("speedup", "learning_gain"):
        if (value := gain.get(name)) is not None and not 0 < value < math.inf:
            raise UsageError(f"{where}: a {name} of {value} cannot be", "write a number above 0, such as 1.5")
    if ends is not None and not 0 <= ends[0] <= ends[1]:
        raise UsageError(f"{where}: {list(ends)} is no interval", "write its lower end first, such as [1.4, 1.6]")
    if (share := gain.get("others_cpu_share")) is not None and not 0 <= share <= 1:
        raise UsageError(f"{where}: an others_cpu_share of {share} cannot be", "write a share of all CPUs, such as 0.3")
    return gain


def check_settings_table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Settings by name with every name and value checked, and without the device."""
    return _of_one_process(checked_table(values, get_type_hints(Settings), where, _home_of, LEAST), where)


def _of_one_process(settings: dict[str, Any], where: str) -> dict[str, Any]:
    devices = settings.get("devices", 1)
    if devices != 1:
        raise UsageError(
            f"{where}: these are settings of one process, and devices is {devices}",
            f"leave devices away and start your script with torchrun --nproc-per-node {devices}; {WHERE_DEVICES}",
        )
    return _without_device(settings)


def settings_of(file: SettingsFile, base: Settings) -> Settings:
    """The file's settings, filled up from `base`, from which also the device comes."""
    return msgspec.convert({**msgspec.to_builtins(base), **_without_device(file.settings)}, Settings)


def format_settings_file(file: SettingsFile) -> str:
    """The file as text, with comments: what it is for, and what the baseline has where they differ."""
    parts = [
        "\n".join(f"# {line}" for line in head_lines(file)),
        _table("settings", _in_order(_without_device(file.settings)), None, baseline_beside(file)),
        _table("source", _source_fields(file), "Where the examples come from."),
        _table("workload", _named(file, _fields(file.workload)), _workload_comment(file), _workload_beside(file)),
        _table("baseline", _named(file, _baseline_fields(file.baseline)), "What they were compared with."),
        _table("gain", _gain_fields(file), gain_comment(file)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _source_fields(file: SettingsFile) -> dict[str, Any]:
    return _named(file, {"data": file.data})


def _named(file: SettingsFile, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields without data of the user's own code, which comes with the code and has no name of its own."""
    return {name: value for name, value in fields.items() if name != "data" or not _is_own(file, value)}


def _is_own(file: SettingsFile, data: str | None) -> bool:
    is_unnamed = data == SYNTHETIC and file.data in (None, SYNTHETIC)
    return is_unnamed and file.workload is not None and file.workload.runs_user_code


def _workload_comment(file: SettingsFile) -> str:
    own = file.workload is not None and _is_own(file, file.workload.data)
    return f"What the settings were found for{', with its own data' if own else ''}; another may want others."


def _workload_beside(file: SettingsFile) -> dict[str, str]:
    """Whether a job of the user's own has an optimiser shows only where it is built."""
    own = file.workload is not None and file.workload.runs_user_code
    return {"optimizer": "unless the job brings its own"} if own else {}


def _implied_data(workload: dict[str, Any]) -> str | None:
    """Of a job that brings its own data, which are not named."""
    return SYNTHETIC if workload and WorkloadSpec(**workload).runs_user_code else None


def _with_settings(content: dict[str, Any], name: str) -> dict[str, Any]:
    """The content with the settings that stand at its top moved to the table `[settings]`."""
    top = {key: value for key, value in content.items() if key in Settings.__struct_fields__}
    table = content.get("settings", {})
    if not isinstance(table, dict):
        return content
    if twice := top.keys() & table.keys():
        raise UsageError(f"{name} has {min(twice)} at its top and in [settings]", "write it once")
    others = {key: value for key, value in content.items() if key not in top}
    return {**others, "settings": {**top, **table}}


def _baseline(table: dict[str, Any], settings: dict[str, Any], data: str | None, where: str) -> Setup | None:
    """Its settings and `data` stand in one table; without a batch or data of its own it has those of the file."""
    if not table:
        return None
    own = _of_one_process(checked_table(table, {**get_type_hints(Settings), **SOURCE}, where, _home_of, LEAST), where)
    found, batch_size = own.pop("data", data), own.pop("batch_size", settings.get("batch_size"))
    for name, value, example in (("data", found, '"folder:PATH"'), ("batch_size", batch_size, "256")):
        if value is None:
            raise UsageError(f"{where}: {name} is missing", f"add a line such as {name} = {example}")
    return Setup(data=found, settings=Settings(batch_size=batch_size, **own))


def _checked_workload(table: dict[str, Any], where: str) -> dict[str, Any]:
    """Its model may imply the data that others would miss, so that a missing model is told first."""
    own = checked_table(table, get_type_hints(WorkloadSpec), where, _home_of, LEAST_OF_WORKLOAD)
    if own and "model" not in own:
        raise UsageError(f"{where}: model is missing", 'add a line such as model = "torchvision:resnet50"')
    return own


def _workload(own: dict[str, Any], data: str | None) -> WorkloadSpec | None:
    return WorkloadSpec(**({} if data is None else {"data": data}) | own) if own else None


def _home_of(name: str) -> str | None:
    """In which table a name stands, for one that was written into the wrong one."""
    known = {**dict.fromkeys(get_type_hints(WorkloadSpec), "workload"), **dict.fromkeys(GAIN, "gain")}
    known |= {**dict.fromkeys(SOURCE, "source"), **dict.fromkeys(Settings.__struct_fields__, "settings")}
    return known.get(name)


def _without_device(settings: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in settings.items() if name not in ("device", "devices")}


def _in_order(settings: dict[str, Any]) -> dict[str, Any]:
    """As the record has them, wherever they were kept meanwhile."""
    known = {name: settings[name] for name in Settings.__struct_fields__ if name in settings}
    return {**known, **settings}


def _gain_fields(file: SettingsFile) -> dict[str, Any]:
    return {
        "speedup": file.speedup,
        "ci95": file.speedup_ci95,
        "confirmed": file.confirmed,
        "simulated": file.simulated,
        "study": file.study,
        "objective": file.objective,
        "learning_gain": file.learning_gain,
        "others_cpu_share": file.others_cpu_share,
    }


def _baseline_fields(setup: Setup | None) -> dict[str, Any]:
    return {} if setup is None else {"data": setup.data, **_without_device(_fields(setup.settings))}


def _fields(record: msgspec.Struct | None) -> dict[str, Any]:
    fields: dict[str, Any] = {} if record is None else msgspec.to_builtins(record)
    return fields


def _table(name: str, values: dict[str, Any], comment: str | None = None, beside: dict[str, str] | None = None) -> str:
    """A table with its comment; nothing where it has no values."""
    lines = toml_lines(values, beside)
    head = [f"# {comment}"] if comment else []
    return "\n".join([*head, f"[{name}]", *lines]) if lines else ""
