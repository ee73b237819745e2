"""A settings file says the same when it is read back, and answers every mistake with the fix."""

import tomllib
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindyno.core.errors import UsageError
from traindyno.core.loading import Decoder
from traindyno.core.records import (
    CompileMode,
    Determinism,
    MemoryFormat,
    OptimizerKernel,
    Precision,
    Settings,
    Tf32,
    WorkloadSpec,
)
from traindyno.core.settings_file import (
    check_settings_table,
    format_settings_file,
    parse_settings_file,
    settings_of,
)
from traindyno.core.setups import SettingsFile, Setup
from traindyno.machine.settings_files import read_settings_file

COUNTS = st.integers(min_value=1, max_value=1 << 40)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
GAINS = st.floats(min_value=0, exclude_min=True, allow_nan=False, allow_infinity=False)
SETTINGS = st.builds(
    Settings,
    batch_size=COUNTS,
    precision=st.sampled_from(get_args(Precision)),
    num_workers=st.integers(min_value=0, max_value=512),
    prefetch_factor=COUNTS,
    pin_memory=st.booleans(),
    persistent_workers=st.booleans(),
    decoder=st.sampled_from(get_args(Decoder)),
    memory_format=st.sampled_from(get_args(MemoryFormat)),
    compile=st.sampled_from(get_args(CompileMode)),
    cudnn_benchmark=st.booleans(),
    determinism=st.sampled_from(get_args(Determinism)),
    tf32=st.sampled_from(get_args(Tf32)),
    optimizer_kernel=st.sampled_from(get_args(OptimizerKernel)),
    accumulation_steps=COUNTS,
    threads=st.none() | COUNTS,
)
WORKLOADS = st.builds(
    WorkloadSpec,
    model=TEXTS,
    data=TEXTS,
    image_size=st.none() | COUNTS,
    classes=st.none() | COUNTS,
    skip_bad=st.booleans(),
)
FILES = st.builds(
    SettingsFile,
    settings=SETTINGS.map(lambda settings: written(settings)),
    data=st.none() | TEXTS,
    workload=st.none() | WORKLOADS,
    baseline=st.none() | st.builds(Setup, data=TEXTS, settings=SETTINGS),
    speedup=st.none() | GAINS,
    speedup_ci95=st.none() | st.tuples(GAINS, GAINS).map(lambda ends: (min(ends), max(ends))),
    confirmed=st.none() | st.booleans(),
    simulated=st.none() | st.booleans(),
    study=st.none() | TEXTS,
    objective=st.none() | st.sampled_from(["throughput", "time-to-accuracy"]),
    learning_gain=st.none() | GAINS,
    others_cpu_share=st.none() | st.floats(0, 1),
)


def written(settings: Settings) -> dict[str, Any]:
    """All that a file can say of settings: neither devices nor what is null."""
    fields: dict[str, Any] = msgspec.to_builtins(settings)
    return {name: value for name, value in fields.items() if name not in ("device", "devices") and value is not None}


def mistake(text: str) -> UsageError:
    with pytest.raises(UsageError) as raised:
        parse_settings_file(text, "my.toml")
    assert raised.value.message.startswith("my.toml")
    return raised.value


@given(FILES)
def test_what_is_written_is_read_back(file: SettingsFile) -> None:
    assert parse_settings_file(format_settings_file(file), "my.toml") == file


def test_data_of_a_job_s_own_code_have_no_name_in_its_file() -> None:
    own = Setup(data="synthetic:", settings=Settings(batch_size=64))
    workload = WorkloadSpec(model="train.py:workload")
    file = SettingsFile(settings=written(own.settings), workload=workload, baseline=own)
    text = format_settings_file(file)
    assert "synthetic" not in text
    assert "# What the settings were found for, with its own data; another may want others." in text
    assert 'optimizer = "sgd"  # unless the job brings its own' in text.splitlines()
    assert parse_settings_file(text, "my.toml") == file


@given(FILES)
def test_the_text_is_toml_in_utf_8(file: SettingsFile) -> None:
    text = format_settings_file(file)
    assert tomllib.loads(text.encode().decode())["settings"] == file.settings


@given(SETTINGS, SETTINGS)
def test_a_full_file_decides_everything_but_the_device(found: Settings, base: Settings) -> None:
    base = msgspec.structs.replace(base, device="cuda:1", threads=None)
    settings = settings_of(SettingsFile(settings=msgspec.to_builtins(found)), base)
    assert settings == msgspec.structs.replace(found, device="cuda:1")


@pytest.mark.parametrize(
    "text",
    [
        "[settings]\nbatch_size = 256\nnum_workers = 4\n",
        "batch_size = 256\nnum_workers = 4\n",
        "batch_size = 256\n[settings]\nnum_workers = 4\n",
        "\ufeffbatch_size = 256\r\nnum_workers = 4\r\n",
    ],
)
def test_two_lines_by_hand_are_a_settings_file(text: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(text.encode())
    file = read_settings_file(path)
    assert file == SettingsFile(settings={"batch_size": 256, "num_workers": 4})
    base = Settings(batch_size=8, precision="bf16", device="cuda:0")
    assert settings_of(file, base) == msgspec.structs.replace(base, batch_size=256, num_workers=4)


def test_a_file_may_leave_the_batch_to_others() -> None:
    file = parse_settings_file("num_workers = 4", "my.toml")
    assert settings_of(file, Settings(batch_size=32)) == Settings(batch_size=32, num_workers=4)


def test_the_optimiser_of_a_named_model_is_the_one_in_its_file() -> None:
    file = msgspec.structs.replace(FOUND, workload=WorkloadSpec(model="torchvision:resnet50"))
    assert 'optimizer = "sgd"' in format_settings_file(file).splitlines()


def test_the_device_is_neither_written_nor_read() -> None:
    on_gpu = Settings(batch_size=8, device="cuda:3")
    file = SettingsFile(settings=msgspec.to_builtins(on_gpu), baseline=Setup(data="folder:/a", settings=on_gpu))
    assert "cuda" not in format_settings_file(file)
    assert parse_settings_file('batch_size = 8\ndevice = "cuda:3"', "my.toml").settings == {"batch_size": 8}


def test_a_reader_sees_what_the_baseline_had_and_what_was_gained() -> None:
    baseline = Setup(data="folder:/a", settings=Settings(batch_size=8, num_workers=4))
    found = msgspec.structs.replace(baseline.settings, num_workers=15)
    file = SettingsFile(
        settings=msgspec.to_builtins(found), baseline=baseline, speedup=2.5, speedup_ci95=(2.25, 2.75), study="s"
    )
    lines = format_settings_file(file).splitlines()
    assert "num_workers = 15  # baseline: 4" in lines
    assert "batch_size = 8" in lines
    assert lines[1] == "# 2.50 times as fast as the baseline (95 % interval 2.25 to 2.75)."


FOUND = SettingsFile(
    settings={"batch_size": 512},
    data="folder:/a",
    baseline=Setup(data="folder:/a", settings=Settings(batch_size=256)),
    speedup=7.83,
    speedup_ci95=(7.74, 7.92),
    confirmed=True,
    simulated=False,
    study="s",
)


def head_of(**changes: Any) -> str:
    """The comments above the first table, as one text."""
    text = format_settings_file(msgspec.structs.replace(FOUND, **changes))
    return " ".join(line.removeprefix("# ") for line in text.partition("\n\n")[0].splitlines())


def test_a_gain_that_was_not_confirmed_or_not_measured_says_so_in_the_first_lines() -> None:
    assert "NOT CONFIRMED" not in head_of()
    assert "SIMULATED" not in head_of()
    unconfirmed = head_of(confirmed=False)
    assert "(95 % interval within one process 7.74 to 7.92). NOT CONFIRMED: no repeated rounds " in unconfirmed
    assert "agree on it." in unconfirmed
    assert "single runs" not in unconfirmed
    assert "SIMULATED: made up by the simulated runner, not measured." in head_of(simulated=True)
    gain = tomllib.loads(format_settings_file(msgspec.structs.replace(FOUND, confirmed=False, simulated=True)))["gain"]
    assert (gain["confirmed"], gain["simulated"]) == (False, True)


def test_a_file_without_the_two_leaves_open_how_far_its_gain_can_be_trusted() -> None:
    file = parse_settings_file("[gain]\nspeedup = 2.0\n", "my.toml")
    assert (file.confirmed, file.simulated) == (None, None)


SOONER: dict[str, Any] = {"objective": "time-to-accuracy", "learning_gain": 6.1}


def test_a_search_for_the_time_to_a_loss_says_so_and_what_of_its_gain_is_predicted() -> None:
    told = head_of(**SOONER)
    assert told.startswith("Settings to train with, found by `traindyno find --objective time-to-accuracy`: 6.10 times")
    assert "6.10 times as fast to the same loss as the baseline, as gradient noise predicts; " in told
    assert "7.83 times its examples per second (95 % interval 7.74 to 7.92)." in told
    at_own_batch = head_of(settings={"batch_size": 256, "num_workers": 4}, **SOONER)
    assert "(95 % interval 7.74 to 7.92), and at the same batch that much sooner at the same loss." in at_own_batch
    assert "predicts" not in at_own_batch


def test_another_batch_than_the_baseline_s_says_so_in_the_first_lines() -> None:
    assert "ANOTHER BATCH: 512 instead of 256. Learning rate" in head_of()
    assert "ANOTHER BATCH" not in head_of(settings={"batch_size": 256})
    assert "ANOTHER BATCH" not in head_of(settings={"num_workers": 4})


def test_a_file_that_changes_nothing_promises_nothing_in_its_first_lines() -> None:
    told = head_of(settings={"batch_size": 256}, speedup=1.0, speedup_ci95=(1.0, 1.0))
    assert "the baseline's own, for none faster were found." in told
    assert "times as fast" not in told


def test_a_file_that_changes_nothing_says_where_no_rounds_were_run() -> None:
    assert FOUND.baseline is not None
    own = msgspec.to_builtins(FOUND.baseline.settings)
    unchanged = msgspec.structs.replace(FOUND, settings=own, data=FOUND.baseline.data, confirmed=False)
    assert "# NOT CONFIRMED: no repeated rounds were run." in format_settings_file(unchanged)


def test_no_comment_is_too_long_for_a_page() -> None:
    doubted = msgspec.structs.replace(FOUND, confirmed=False, simulated=True)
    files = (doubted, msgspec.structs.replace(doubted, **SOONER))
    text = "".join(format_settings_file(file) for file in files)
    assert max(len(line) for line in text.splitlines() if line.startswith("#")) <= 92


def test_a_baseline_by_hand_takes_batch_and_data_from_the_file() -> None:
    text = 'batch_size = 64\n[source]\ndata = "folder:/a"\n[workload]\nmodel = "ir:50"\n[baseline]\nnum_workers = 1\n'
    file = parse_settings_file(text, "my.toml")
    assert file.baseline == Setup(data="folder:/a", settings=Settings(batch_size=64, num_workers=1))
    assert file.workload == WorkloadSpec(model="ir:50", data="folder:/a")


@pytest.mark.parametrize(
    ("text", "names", "hint"),
    [
        ("num_worker = 4", "'num_worker'", "did you mean num_workers?"),
        ("[settings]\nnum-workers = 4", "'num-workers'", "did you mean num_workers?"),
        ("[setting]\nnum_workers = 4", "[setting]", "did you mean settings?"),
        ('[settings]\ndata = "folder:/a"', "'data'", "data belongs under [source]"),
        ('data = "folder:/a"', "'data'", "data belongs under [source]"),
        ("[source]\nbatch_size = 8", "'batch_size'", "batch_size belongs under [settings]"),
        ("settings = 4", "settings is a table", "write [settings] on a line"),
        ('precision = "bf17"', 'precision cannot be "bf17"', 'did you mean precision = "bf16"?'),
        ("precision = 16", "precision cannot be 16", 'write precision = "fp32" or "bf16" or "fp16"'),
        ('num_workers = "4"', 'num_workers cannot be "4"', "write num_workers = N, a whole number from 0"),
        ("num_workers = -1", "num_workers cannot be -1", "write num_workers = N, a whole number from 0"),
        ("threads = 0", "threads cannot be 0", "write threads = N, a whole number from 1"),
        ("batch_size = true", "batch_size cannot be true", "write batch_size = N, a whole number from 1"),
        ("pin_memory = 1", "pin_memory cannot be 1", "write pin_memory = true or false"),
        ("pin_memory = 2026-01-01", 'pin_memory cannot be "2026-01-01"', "write pin_memory = true or false"),
        (
            "[gain]\nothers_cpu_share = 75.0",
            "an others_cpu_share of 75.0 cannot be",
            "write a share of all CPUs, such as 0.3",
        ),
        ("[gain]\nci95 = [1.0]", "ci95 cannot be [1.0]", "write ci95 = [LOW, HIGH], two numbers"),
        ("batch_size = 8\n[settings]\nbatch_size = 8", "batch_size at its top and in [settings]", "write it once"),
        ("[baseline]\nnum_workers = 1", "data is missing", 'add a line such as data = "folder:PATH"'),
        ('[baseline]\ndata = "folder:/a"', "batch_size is missing", "add a line such as batch_size = 256"),
        ('[workload]\nmode = "train"', "model is missing", 'add a line such as model = "torchvision:resnet50"'),
        (
            'batch_size = 8\n[workload]\nmode = "train"\n[baseline]\nnum_workers = 1',
            "[workload]: model is missing",
            'add a line such as model = "torchvision:resnet50"',
        ),
        (
            '[workload]\nmodel = "m"\nimage_size = 0',
            "image_size cannot be 0",
            "write image_size = N, a whole number from 1",
        ),
        (
            '[workload]\nmodel = "m"\nimage_size = -3',
            "image_size cannot be -3",
            "write image_size = N, a whole number from 1",
        ),
        ('[workload]\nmodel = "m"\nclasses = 0', "classes cannot be 0", "write classes = N, a whole number from 1"),
        ("batch_size =", "not valid TOML", 'write lines such as precision = "bf16"'),
    ],
)
def test_a_mistake_is_named_with_its_fix(text: str, names: str, hint: str) -> None:
    error = mistake(text)
    assert names in error.message
    assert error.hint == hint


def test_an_unknown_name_without_likeness_is_answered_with_all_there_are() -> None:
    assert "batch_size, precision" in (mistake("zzz = 1").hint or "")


@pytest.mark.parametrize("name", ["missing.toml", "folder", "binary.toml"])
def test_a_file_that_cannot_be_read_is_named(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UsageError, match=rf"{name} cannot be read: ") as raised:
        read_settings_file(tmp_path / name)
    assert raised.value.hint


def test_a_name_that_no_text_can_hold_is_refused_when_it_would_be_written() -> None:
    with pytest.raises(UsageError, match="bytes that are no text"):
        format_settings_file(SettingsFile(settings={"batch_size": 1}, data="folder:/\udcff"))


def test_settings_of_a_script_are_checked_alike() -> None:
    assert check_settings_table({"batch_size": 8, "threads": None}, "the settings") == {
        "batch_size": 8,
        "threads": None,
    }
    with pytest.raises(UsageError, match="the settings: there is no 'batchsize'") as raised:
        check_settings_table({"batchsize": 8}, "the settings")
    assert raised.value.hint == "did you mean batch_size?"


@pytest.mark.parametrize("line", ["speedup = nan", "speedup = -3.0", "speedup = inf", "ci95 = [5.0, 1.0]"])
def test_a_gain_that_cannot_be_is_refused(line: str) -> None:
    with pytest.raises(UsageError, match="gain"):
        parse_settings_file(f"[gain]\n{line}\n", "my.toml")


@pytest.mark.parametrize("text", ["devices = 2", "[settings]\ndevices = 2", "[baseline]\ndevices = 2"])
def test_settings_are_of_one_process_however_many_train_together(text: str) -> None:
    error = mistake(text)
    assert "settings of one process, and devices is 2" in error.message
    assert "torchrun --nproc-per-node 2" in (error.hint or "")


def test_one_device_is_no_news() -> None:
    assert parse_settings_file("devices = 1", "my.toml").settings == {}
