"""The documentation says what is true: held against the records, the options, the outcomes, and run."""

import contextlib
import importlib
import inspect
import io
import re
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec
import pytest

from cli import command_line as terminal
from docs.markdown import DOCS, anchors, code_blocks, code_spans, links, pages, prose, section, sections, table_rows
from docs.transcripts import TRANSCRIPT, comparable, plain_terminal, run
from keepers import Keepers
from traindyno.cli.main import COMMANDS
from traindyno.cli.round import COMMANDS as ROUND_COMMANDS
from traindyno.core import (
    anatomy,
    answers,
    learning,
    loading,
    machine,
    records,
    requests,
    rounds,
    scaling,
    setups,
    soaking,
)
from traindyno.core.outcomes import REMEDIES, Outcome
from traindyno.report.document import trial_entry
from traindyno.runner.local import LocalRunner
from traindyno.runner.profile import Profile
from traindyno.runner.protocol import Deadlines, Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.store.schema import metadata

ANSWERS = (DOCS / "reference" / "answers.md").read_text()
COMMANDS_PAGE = (DOCS / "commands.md").read_text()
METHOD = (DOCS / "method.md").read_text()
OWN_MODEL = (DOCS / "own-model.md").read_text()
STORE = (DOCS / "reference" / "store.md").read_text()

OTHER_RECORDS = (
    records.Pair, records.Arm,
    records.Settings, records.Measurement, records.Block, records.Memory, records.Failure, records.Conditions,
    records.WorkloadSpec, requests.Bench, requests.MaxBatchRequest, requests.ThroughputRequest, requests.PlanRequest,
    requests.CurveSource,
    requests.LoaderRequest, requests.StallsRequest, requests.AnatomyRequest, requests.SwitchesRequest,
    anatomy.Anatomy, anatomy.Phase, anatomy.Transfer, anatomy.Work, loading.Feed, loading.StageCost, loading.Loading,
    loading.BatchIntervals, requests.SoakRequest, requests.FindRequest, requests.VerifyRequest, setups.Setup,
    requests.Surroundings,
    soaking.Soak, soaking.SoakBlock, soaking.EpochEdge, soaking.Series, soaking.Reading,
    machine.MachineFacts, machine.GpuFacts, machine.DoctorAnswer, machine.DoctorFacts, machine.Finding,
    machine.DriverFacts, machine.UsableCpus, machine.HostMemory, machine.GpuSample, machine.DiskSpace,
    requests.TargetRequest, requests.Contender, learning.Target,
    requests.TrainRequest, learning.Recipe, learning.Learning, learning.Evaluation,
    requests.NoiseScaleRequest, learning.NoisePlan, learning.Noise, learning.NoiseReading,
    requests.AccuracyRequest,
    requests.ScaleRequest, scaling.Group, scaling.Scaling, scaling.RankReading, scaling.ExchangeReading, scaling.Turn,
    requests.RoundRequest, requests.AdoptRequest, requests.Candidate,
    rounds.Round, rounds.Goal, rounds.RoundJob, rounds.RoundMetric, rounds.RoundBudget, rounds.Seeds,
    rounds.Parameter, rounds.Range, rounds.Draw, rounds.RoundTrial, rounds.CurvePlace,
    rounds.JobResult, rounds.JobPoint,
)  # fmt: skip
"""Records besides the answers that stand in a document."""


def answer_records() -> list[type[msgspec.Struct]]:
    """The records that the modules of core/answers define."""
    kinds = [kind for kind in vars(answers).values() if inspect.isclass(kind) and issubclass(kind, msgspec.Struct)]
    return [kind for kind in kinds if kind.__module__.startswith(f"{answers.__name__}.")]


def documented_fields(record: str) -> dict[str, str]:
    """Field name → the cell of its type, from the one section whose title names the record."""
    found = [part for part in sections(ANSWERS) if f"`{record}`" in part.title or f"({record})" in part.title]
    assert len(found) == 1, f"{record} has {len(found)} sections in answers.md"
    own = re.split(r"^#", found[0].body, maxsplit=1, flags=re.MULTILINE)[0]
    return {code_spans(row[0])[0]: row[1] for row in table_rows(own)}


@pytest.mark.parametrize("record", [*answer_records(), *OTHER_RECORDS], ids=lambda record: record.__name__)
def test_every_field_of_a_record_is_documented_and_no_other(record: type[msgspec.Struct]) -> None:
    documented = documented_fields(record.__name__)
    config = record.__struct_config__
    tags = {config.tag_field} if config.tag_field else set()
    assert set(documented) == set(record.__struct_fields__) | tags
    hints = typing.get_type_hints(record)
    for name in record.__struct_fields__:
        optional = types.NoneType in typing.get_args(hints[name])
        if hints[name] is not typing.Any:
            assert ("null" in documented[name]) == optional, f"{record.__name__}.{name} may be null: {optional}"


def test_every_field_of_a_trial_is_documented() -> None:
    spec = records.TrialSpec(
        kind="speed",
        workload=records.WorkloadSpec(model="torchvision:resnet18"),
        settings=records.Settings(batch_size=8),
    )
    runs = SimulatedRunner(Profile()).run(spec, Watcher(), None)
    fails = SimulatedRunner(Profile(limit=1)).run(spec, Watcher(), None)
    long_run = msgspec.structs.replace(spec, kind="soak", budget=records.Budget(seconds=3.0))
    soaks = SimulatedRunner(Profile()).run(long_run, Watcher(), None)
    pairs = SimulatedRunner(Profile()).run(
        msgspec.structs.replace(spec, kind="pair", against=spec.settings), Watcher(), None
    )
    recipe = learning.Recipe(learning_rate=0.1, steps=5)
    learns = SimulatedRunner(Profile()).run(msgspec.structs.replace(spec, kind="learn", recipe=recipe), Watcher(), None)
    draw = rounds.Draw(phase="search", arm="", index=0, values={})
    workload = msgspec.structs.replace(spec.workload, arguments={"width": 64})
    drawn = SimulatedRunner(Profile()).run(
        msgspec.structs.replace(spec, kind="learn", workload=workload, recipe=recipe, draw=draw), Watcher(), None
    )
    group = msgspec.structs.replace(spec, kind="scale", group=scaling.Group(devices=2))
    scales = SimulatedRunner(Profile()).run(group, Watcher(), None)
    entries = [trial_entry(record) for record in (runs, fails, soaks, pairs, learns, drawn, scales)]
    assert set(documented_fields("trials")) == {name for entry in entries for name in entry}


def documented_options(text: str) -> dict[str, str]:
    """Option → its table row, for tables whose first column names options."""
    rows = [row for row in table_rows(text) if row[0].startswith("`-")]
    return {option: row[1] for row in rows for option in re.findall(r"(?<![\w-])--?[a-z][a-z0-9-]*", row[0])}


def described_commands() -> dict[str, click.Command]:
    """The title of a section of the page → what it describes; every command of `round` has one of its own."""
    plain = {name: importlib.import_module(module).command for name, (module, _) in COMMANDS.items()}
    group = plain.pop("round")
    return plain | {f"round {name}": group.load(name) for name in ROUND_COMMANDS}


@pytest.mark.parametrize("name", described_commands())
def test_a_command_s_page_names_exactly_its_options_with_their_defaults(name: str) -> None:
    command = described_commands()[name]
    own = section(COMMANDS_PAGE, name)
    documented = documented_options(own.body)
    groups = {link.removeprefix("#") for link in links(own.body) if link.endswith("-options")}
    for part in sections(COMMANDS_PAGE):
        if part.title.lower().replace(" ", "-") in groups:
            documented |= documented_options(part.body)
    parts = list(command.commands.values()) if isinstance(command, click.Group) else [command]
    options = [parameter for part in parts for parameter in part.params if isinstance(parameter, click.Option)]
    assert set(documented) == {word for option in options for word in (*option.opts, *option.secondary_opts)}
    for option in options:
        if option.show_default and isinstance(option.default, str | int) and not isinstance(option.default, bool):
            assert f"`{option.default}`" in documented[option.opts[-1]]


def test_the_commands_page_counts_and_lists_all_commands() -> None:
    assert f"has {len(COMMANDS)} commands" in COMMANDS_PAGE
    first_table = COMMANDS_PAGE.partition("\n## ")[0]
    assert re.findall(r"^\| \[`([a-z-]+)`\]", first_table, re.MULTILINE) == list(COMMANDS)


@pytest.mark.parametrize("page", pages(), ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in links(page.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target.read_text()), f"{page.name} links to {link}"


def test_the_table_of_outcomes_is_complete_and_has_the_remedies_word_for_word() -> None:
    rows = table_rows(section(METHOD, "How a trial can end").body)
    table = {code_spans(row[0])[0]: row[2] for row in rows}
    assert list(table) == [outcome.value for outcome in Outcome]
    assert table == {outcome.value: REMEDIES.get(outcome, "") for outcome in Outcome}


@pytest.mark.parametrize("command", ["loader", "train --lr 0.1"])
def test_the_exit_code_of_a_batch_larger_than_the_data_is_documented(command: str, tmp_path: Path) -> None:
    meanings = dict(table_rows(section(COMMANDS_PAGE, "Exit codes").body))
    (code,) = (code for code, meaning in meanings.items() if "the batch is larger than the data" in meaning)
    asked = [*command.split(), "--model", "mlp:4", "--data", "digits:", "--batch-size", "5000", "--device", "cpu"]
    assert terminal.run(tmp_path, *asked).returncode == int(code)


def test_every_table_and_column_of_the_ledger_is_documented() -> None:
    for table in metadata.sorted_tables:
        documented = {code_spans(row[0])[0] for row in table_rows(section(STORE, f"`{table.name}`").body)}
        assert documented == set(table.columns.keys()), table.name


def test_every_command_s_transcript_is_what_it_prints_now(tmp_path: Path) -> None:
    transcripts = list(TRANSCRIPT.finditer(COMMANDS_PAGE))
    without = {"doctor", "resume", "data", "agent"}
    assert {found["arguments"].split()[0] for found in transcripts} == set(COMMANDS) - without
    with plain_terminal(tmp_path):
        for found in transcripts:
            printed = comparable(run(found["arguments"]))
            assert printed == comparable(found["output"]), "renew them: python tests/docs/transcripts.py"


def test_the_project_file_shown_is_accepted(tmp_path: Path) -> None:
    (example,) = code_blocks(COMMANDS_PAGE, "toml")
    (tmp_path / "traindyno.toml").write_text(example)
    (tmp_path / "runs").mkdir()
    with plain_terminal(tmp_path):
        assert "batch sizes: doubling from 16 to the largest that fits, each in 5" in run("throughput --dry-run")
        assert "torchvision:vit_b_16" in run("max-batch --dry-run")


def test_the_python_examples_of_the_api_run(tmp_path: Path) -> None:
    blocks = code_blocks((DOCS / "python-api.md").read_text(), "python")
    assert blocks
    with plain_terminal(tmp_path), contextlib.redirect_stdout(io.StringIO()):
        shared: dict[str, object] = {}
        for block in blocks:
            exec(compile(block, "python-api.md", "exec"), shared)


def example_files() -> dict[str, str]:
    """File name, from the comment in its first line → content."""
    blocks = code_blocks(OWN_MODEL, "python")
    return {block.splitlines()[0].removeprefix("# "): block for block in blocks}


def examples() -> list[str]:
    """Every `file.py:function` that a command on the page names."""
    return [name for block in code_blocks(OWN_MODEL, "bash") for name in re.findall(r"--model (\S+)", block)]


def test_every_example_file_is_named_by_a_command() -> None:
    assert {name.partition(":")[0] for name in examples()} == set(example_files())


@pytest.fixture(scope="module")
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


@pytest.mark.parametrize("mode", ["train", "infer"])
@pytest.mark.parametrize("example", sorted(set(examples())))
def test_an_example_of_an_own_model_runs_in_a_real_trial(
    example: str, mode: records.Mode, runner: LocalRunner, tmp_path: Path
) -> None:
    for name, content in example_files().items():
        (tmp_path / name).write_text(content)
    image_size = 32 if example == "plain.py:model" else None
    spec = records.TrialSpec(
        kind="fit",
        workload=records.WorkloadSpec(model=f"{tmp_path}/{example}", mode=mode, image_size=image_size),
        settings=records.Settings(batch_size=4),
        budget=records.Budget(steps=2),
        evaluate=True,
    )
    record = runner.run(spec, Watcher(), None)
    assert record.outcome is Outcome.OK, record.failure


def test_no_page_has_a_stray_code_fence() -> None:
    for page in pages():
        assert "```" not in prose(page.read_text()), page.name
