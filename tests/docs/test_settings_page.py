"""The page on settings names every setting with its values and default, and its examples work."""

import typing
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from torch import nn
from torch.utils.data import TensorDataset

from docs.markdown import DOCS, code_blocks, code_spans, section, table_rows
from traindyno.core.records import Settings
from traindyno.core.settings_file import TABLES, parse_settings_file
from traindyno.core.toml_text import toml_value
from traindyno.worker.applying import Applied, apply

PAGE = (DOCS / "reference" / "settings.md").read_text()


def test_every_setting_stands_there_with_its_choices_and_its_default() -> None:
    rows = {code_spans(row[0])[0]: row for row in table_rows(section(PAGE, "Every setting").body)}
    assert tuple(rows) == Settings.__struct_fields__
    plain, kinds = Settings(batch_size=1), typing.get_type_hints(Settings)
    for name, (_, values, default, _) in rows.items():
        if typing.get_origin(kinds[name]) is Literal:
            assert tuple(code_spans(values)) == typing.get_args(kinds[name])
        expected = None if name == "batch_size" else getattr(plain, name)
        assert default == ("" if expected is None else f"`{toml_value(expected).strip(chr(34))}`"), name


def test_every_table_of_the_file_is_described() -> None:
    rows = table_rows(section(PAGE, "The file").body)
    assert [code_spans(row[0])[0] for row in rows] == [f"[{name}]" for name in TABLES]


def test_every_argument_and_result_of_apply_is_described() -> None:
    body = section(PAGE, "`traindyno.apply`").body
    named = [name.partition("(")[0] for row in table_rows(body) for name in code_spans(row[0])]
    arguments = [name for name in typing.get_type_hints(apply) if name != "return"]
    results = [name for name in (*vars(Applied), *Applied.__dataclass_fields__) if not name.startswith("_")]
    assert sorted(named) == sorted([*arguments, *results])


def test_the_examples_of_files_are_settings_files() -> None:
    by_hand, written = (parse_settings_file(block, "example") for block in code_blocks(PAGE, "toml"))
    assert by_hand.settings == {"batch_size": 256, "num_workers": 4}
    assert written.baseline is not None
    assert written.baseline.settings == Settings(batch_size=256, num_workers=4)
    assert (written.speedup, written.speedup_ci95, written.study) == (3.1, (3.05, 3.16), "find-resnet50")


def test_the_script_trains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "settings.toml").write_text("batch_size = 4\n")
    (script,) = code_blocks(PAGE, "python")
    bound: dict[str, Any] = {"model": nn.Linear(2, 3), "dataset": TensorDataset(torch.randn(8, 2), torch.arange(8) % 3)}
    exec(compile(script, "settings.md", "exec"), bound)
    assert bound["loss"].isfinite()
