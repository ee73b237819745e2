"""A study of switches as people read it: tables, last lines, sheet, code to copy and picture."""

import csv
import io
import math
import shlex
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest

from report.narrow import numbers_not_shown
from traindyno.analysis.switches import NOT_REACHED
from traindyno.app.context import Context
from traindyno.app.switches import switches
from traindyno.cli.switches import command
from traindyno.core.answers import Document, SwitchEffect
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.requests import Bench, SwitchesRequest
from traindyno.report.document import typed_answer
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import render_json
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.reproduce import reproduce_command
from traindyno.report.settings_text import code_text, toml
from traindyno.report.switch_code import switch_code
from traindyno.report.trials import trial_rows
from traindyno.report.views import view_of


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Document:
    request = SwitchesRequest(
        workload=WorkloadSpec(model="torchvision:resnet50"),
        bench=Bench(runner="simulated", device="auto"),
        settings=Settings(batch_size=256),
        skip=("threads",),
        trial_seconds=2.0,
    )
    return switches(request, Context(store=str(tmp_path_factory.mktemp("store") / "s.db"), name="s"))


def with_answer(document: Document, **changes: Any) -> Document:
    return msgspec.structs.replace(document, answer=msgspec.structs.replace(document.answer, **changes))


def test_switches_stand_in_the_order_of_their_speed_and_what_was_not_measured_below(measured: Document) -> None:
    effects, ladder, left_out = view_of(measured).tables(measured)
    names = [row.cells[0] for row in effects.rows]
    assert names[0] == "compile=default"
    assert names[-1] == "tf32=none"
    assert next(row for row in effects.rows if row.cells[0] == "compile=default").tone == "chosen"
    assert next(row for row in effects.rows if row.cells[0] == "precision=fp16").cells[-1] == "beyond"
    assert effects.legend[0].endswith("within the spread of seeds, or beyond")
    assert "precision=bf16 and memory_format=channels_last" in [row.cells[0] for row in ladder.rows]
    assert [row.cells for row in left_out.rows] == [
        ("optimizer_kernel=foreach", "torch chooses foreach by itself here")
    ]


def test_a_ratio_that_may_be_anything_and_switches_not_reached_are_told_in_every_text(measured: Document) -> None:
    first, second, *others = measured.answer.effects
    anything = msgspec.structs.replace(first, ratio=1.16, ci95=(0.0, math.inf))
    late = SwitchEffect(switch=second.switch, value=second.value, skipped_because=NOT_REACHED)
    cut = with_answer(measured, effects=(anything, late, *others))
    for text in (render_console(cut, width=120), render_markdown(cut)):
        assert "1.16× ± over 100 %" in text
        assert NOT_REACHED in text.partition("Not measured")[2]


def test_the_baseline_is_named_and_not_the_first_candidate(measured: Document) -> None:
    assert view_of(measured).title(measured) == "Switches of torchvision:resnet50 (train, batch 256, fp32, simulated)"


def test_where_nothing_helps_the_last_line_says_so(measured: Document) -> None:
    slow = tuple(
        msgspec.structs.replace(effect, ratio=0.9, ci95=(0.8, 1.0), adopted=False) for effect in measured.answer.effects
    )
    nothing = with_answer(measured, recommended={}, speedup=1.0, speedup_ci95=(1.0, 1.0), effects=slow)
    assert view_of(nothing).conclusion(nothing)[0].startswith("Nothing is recommended: no switch was shown")
    spoilt = with_answer(measured, recommended={}, speedup=1.0, speedup_ci95=(1.0, 1.0))
    assert view_of(spoilt).conclusion(spoilt)[0].startswith("Nothing is recommended: what looked faster cannot")
    assert render_console(nothing)
    assert render_html(nothing)


def test_the_ratio_stands_beside_what_it_was_measured_of_and_copies_have_their_own_line(measured: Document) -> None:
    pinned = SwitchEffect(switch="pin_memory", value="on", ratio=1.1, ci95=(1.09, 1.11), adopted=True, with_copies=True)
    others = tuple(effect for effect in measured.answer.effects if effect.switch != "pin_memory")
    both = with_answer(
        measured, effects=(*others, pinned), recommended={**measured.answer.recommended, "pin_memory": True}
    )
    first, _, copies, _ = view_of(both).conclusion(both)
    assert "as fast" in first
    assert "pin_memory" not in first
    assert copies == (
        "Also recommended: pin_memory=on, where batches are copied to the device, which is not in the ratio"
    )
    assert "pin_memory" not in view_of(both).headline(both).label


def test_copies_alone_have_no_ratio(measured: Document) -> None:
    pinned = SwitchEffect(switch="pin_memory", value="on", ratio=1.1, ci95=(1.09, 1.11), adopted=True, with_copies=True)
    alone = with_answer(
        measured, effects=(pinned,), recommended={"pin_memory": True}, speedup=1.0, speedup_ci95=(1.0, 1.0)
    )
    assert not any("as fast" in line for line in view_of(alone).conclusion(alone))
    assert view_of(alone).headline(alone).value == "pin_memory=on"
    assert render_html(alone)


def test_the_options_shown_are_read_back_as_the_recommended_settings(measured: Document) -> None:
    shown = next(line for line in view_of(measured).conclusion(measured) if line.startswith("Options: "))
    words = shlex.split(shown.removeprefix("Options: "))
    parsed = command.make_context("switches", ["--model", "m", *words])
    from traindyno.cli.setting_options import take_settings

    settings = take_settings(parsed.params, Bench(precision=parsed.params["precision"]))
    expected = msgspec.convert({**measured.answer.baseline, **measured.answer.recommended}, Settings)
    assert msgspec.structs.replace(settings, device="simulated") == expected


def test_settings_to_copy_come_as_toml_and_as_code(measured: Document) -> None:
    (adoption,) = view_of(measured).adoptions(measured)
    assert 'precision = "bf16"' in toml(adoption)
    assert 'memory_format = "channels_last"' in toml(adoption)
    assert 'precision = "fp32"' not in toml(adoption)
    assert 'with torch.autocast("cuda", dtype=torch.bfloat16):' in code_text(adoption)


@pytest.mark.parametrize(
    ("switches", "line"),
    [
        ({"compile": "default"}, "model = torch.compile(model)"),
        ({"compile": "reduce-overhead"}, 'model = torch.compile(model, mode="reduce-overhead")'),
        ({"cudnn_benchmark": True}, "torch.backends.cudnn.benchmark = True"),
        ({"tf32": "all"}, "torch.backends.cuda.matmul.allow_tf32 = True"),
        ({"optimizer_kernel": "fused"}, "optimizer = Optimizer(model.parameters(), fused=True)"),
        ({"threads": 4}, "torch.set_num_threads(4)"),
        ({"precision": "fp32"}, "# without torch.autocast"),
    ],
)
def test_each_switch_has_its_line_of_code(switches: dict[str, Any], line: str) -> None:
    code = switch_code(switches, "cuda:0")
    assert line in code.splitlines()
    compile(code, "switches", "exec")


def test_fp16_comes_with_everything_that_scales_the_loss() -> None:
    lines = switch_code({"precision": "fp16", "memory_format": "channels_last"}, "cuda:0").splitlines()
    code = [line.partition("#")[0].strip() for line in lines]
    order = [
        "scaler = torch.amp.GradScaler()",
        'with torch.autocast("cuda", dtype=torch.float16):',
        "scaler.scale(loss).backward()",
        "scaler.step(optimizer)",
        "scaler.update()",
    ]
    assert [line for line in code if line in order] == order


def test_inference_has_no_loss_in_its_code() -> None:
    code = switch_code({"precision": "fp16"}, "cuda:0", training=False)
    assert "with torch.inference_mode(), torch.autocast(" in code
    assert "    output = model(x)" in code.splitlines()
    assert "loss" not in code
    assert "scaler" not in code


def test_names_that_the_code_does_not_make_are_explained() -> None:
    lines = switch_code({"precision": "fp16", "optimizer_kernel": "auto"}, "cuda:0").splitlines()
    assert lines[0].startswith("# x: a batch of inputs; y: its labels; criterion: your loss function; Optimizer: ")
    assert "optimizer: " not in lines[0].replace("Optimizer: ", "")
    assert "optimizer = Optimizer(model.parameters())  # without fused and foreach: torch chooses" in lines
    assert switch_code({"cudnn_benchmark": True}, "cuda:0") == "torch.backends.cudnn.benchmark = True"


def test_a_sheet_has_every_switch_with_plain_numbers(measured: Document) -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(measured))))
    assert len(rows) == len(measured.answer.effects)
    bf16 = next(row for row in rows if row["value"] == "bf16")
    assert 0.9 < float(bf16["ratio"]) < 1.1
    assert next(row for row in rows if row["value"] == "foreach")["skipped_because"]


def test_the_picture_has_a_dot_for_every_switch_and_step_and_a_line_at_equal_speed(measured: Document) -> None:
    chart = view_of(measured).chart(measured)
    assert chart is not None
    drawn = list(chart["datasets"].values())
    alone, together = (rows for rows in drawn if "name" in rows[0])
    assert len(alone) == sum(effect.ratio is not None for effect in measured.answer.effects)
    assert len(together) == len(measured.answer.combinations) + 1
    assert together[-1]["name"] == "what is recommended, against the baseline"
    assert [{"ratio": 1.0}] in drawn


def test_an_interval_without_ends_does_not_spoil_the_picture(measured: Document) -> None:
    wild = SwitchEffect(switch="threads", value="4", ratio=1.3, ci95=(0.0, float("inf")))
    wide = SwitchEffect(switch="threads", value="8", ratio=1.1, ci95=(0.001, 900.0))
    document = with_answer(measured, effects=(wild, wide), combinations=())
    chart = view_of(document).chart(document)
    assert chart is not None
    (panel,) = chart["vconcat"]
    assert panel["layer"][1]["encoding"]["x"]["scale"]["domain"][1] < 3
    (arrows,) = [rows for rows in chart["datasets"].values() if "shape" in rows[0]]
    assert {(row["name"], row["shape"]) for row in arrows} == {
        (f"threads={threads}", f"triangle-{side}") for threads in (4, 8) for side in ("left", "right")
    }
    assert "1.30×" in render_console(document)


def test_an_interval_that_is_drawn_whole_has_no_arrow_and_one_that_is_not_known_has_two(measured: Document) -> None:
    whole = SwitchEffect(switch="threads", value="4", ratio=1.3, ci95=(1.1, 1.5))
    unknown = SwitchEffect(switch="threads", value="8", ratio=1.1)
    chart = view_of(measured).chart(with_answer(measured, effects=(whole, unknown), combinations=()))
    assert chart is not None
    (arrows,) = [rows for rows in chart["datasets"].values() if "shape" in rows[0]]
    assert [(row["name"], row["shape"]) for row in arrows] == [
        ("threads=8", "triangle-left"), ("threads=8", "triangle-right"),
    ]  # fmt: skip


def test_a_trial_of_losses_tells_its_seed(measured: Document) -> None:
    fed = {trial.fed for trial in trial_rows(measured) if trial.kind == "losses"}
    assert "seed 0, compile=default" in fed
    assert any(" on " in trial.fed for trial in trial_rows(measured) if trial.kind == "pair")


def test_without_any_ratio_there_is_no_picture(measured: Document) -> None:
    skipped = with_answer(measured, effects=(SwitchEffect(switch="tf32", value="all", skipped_because="a CPU"),))
    assert view_of(skipped).chart(skipped) is None


def test_every_format_tells_it_and_json_is_read_back(measured: Document) -> None:
    for text in (render_console(measured), render_markdown(measured), render_html(measured)):
        assert "compile=default" in text
        assert "SIMULATED" in text
    assert typed_answer(msgspec.json.decode(render_json(measured))).answer == measured.answer


def test_text_from_elsewhere_is_escaped(measured: Document) -> None:
    bad = SwitchEffect(switch="tf32", value="all", failed_because="<script>alert(1)</script>\x1b[31m")
    document = with_answer(measured, effects=(*measured.answer.effects, bad))
    assert "<script>alert" not in render_html(document)
    assert "\x1b" not in render_console(document)


def test_the_command_that_asks_again_is_understood(measured: Document, tmp_path: Path) -> None:
    words = shlex.split(reproduce_command(measured) or "")
    assert words[:2] == ["traindyno", "switches"]
    context: click.Context = command.make_context("switches", words[2:])
    assert context.params["batch_size"] == 256
    assert context.params["skip"] == ("threads",)
    assert context.params["trial_seconds"] == 2.0


@pytest.mark.parametrize("width", [40, 60, 80])
def test_every_number_of_its_tables_stands_whole_in_a_narrow_terminal(measured: Document, width: int) -> None:
    assert not numbers_not_shown(measured, width)
