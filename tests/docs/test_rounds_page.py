"""The guide to tuning rounds names every key of the file and every check, and its examples are rounds that run."""

import typing
from collections.abc import Iterator
from pathlib import Path

import pytest

from docs.markdown import DOCS, code_blocks, code_spans, section, table_rows
from keepers import Keepers
from traindyno.analysis.rounds import boundary_checks, feasibility, gate, points, spread
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.core.round_file import parse_round
from traindyno.core.round_lints import lint_round
from traindyno.core.round_parameters import _KEYS as PARAMETER_KEYS
from traindyno.core.round_rules import RULES
from traindyno.core.round_tables import AT_TOP, TABLES
from traindyno.core.rounds import GoalKind, RoundBudget, RoundMetric, Seeds
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

PAGE = (DOCS / "rounds.md").read_text()
CURVE_CHECKS = {"overfitting", "run length", "best step", "late swings", "curves"}


def keys_by_table() -> dict[str, set[str]]:
    """Table → its keys, from the second table of the section; empty first cells go on with the one above."""
    found: dict[str, set[str]] = {}
    name = ""
    for row in table_rows(section(PAGE, "The round's file").body):
        if len(row) == 4:
            name = row[0].strip("`[]").partition(".")[0] or name
            found.setdefault(name, set()).update(code_spans(row[1]))
    return found


def test_every_key_above_the_tables_is_described() -> None:
    rows = [row for row in table_rows(section(PAGE, "The round's file").body) if len(row) == 3]
    assert [code_spans(row[0])[0] for row in rows] == list(AT_TOP)


def test_every_table_and_its_keys_are_described() -> None:
    keys = keys_by_table()
    common = keys.pop("all three") | keys.pop("nuisance, fixed")
    assert set(keys) == set(TABLES)
    for table, record in (("metric", RoundMetric), ("budget", RoundBudget), ("seeds", Seeds)):
        assert keys[table] == set(record.__struct_fields__), table
    for role, own in PARAMETER_KEYS.items():
        assert keys[role] | common == {*own, "sets", "under"}, role
    goals = next(row for row in table_rows(section(PAGE, "The round's file").body) if row[0] == "`[goal]`")
    assert set(typing.get_args(GoalKind)) <= set(code_spans(goals[3]))


def test_every_check_is_described() -> None:
    described = [name for row in table_rows(section(PAGE, "The checks").body) for name in code_spans(row[0])]
    others = {module.NAME for module in (gate, feasibility, points, boundary_checks, spread)}
    assert set(described) == others | CURVE_CHECKS


def test_the_rules_of_thumb_are_described_with_their_usual_roles() -> None:
    rows = table_rows(section(PAGE, "Roles and ranges by rules of thumb").body)
    roles = {name: row[1] for row in rows for name in code_spans(row[0])}
    assert set(roles) == set(RULES) - {"data"}
    for name, told in roles.items():
        assert RULES[name].usual[0] in told, name


@pytest.mark.parametrize("text", code_blocks(PAGE, "toml"), ids=lambda text: text.splitlines()[0])
def test_a_round_s_file_that_is_shown_is_accepted(text: str) -> None:
    round_ = parse_round(text, "shown.toml")
    assert round_.target is not None
    assert not any("tied" in lint or "never show" in lint for lint in lint_round(round_))


@pytest.fixture
def runner(keepers: Keepers) -> Iterator[LocalRunner]:
    runner = keepers.runner(Deadlines())
    yield runner
    runner.close()


def test_the_training_job_that_is_shown_learns_and_reports(runner: LocalRunner, tmp_path: Path) -> None:
    (job,) = code_blocks(PAGE, "python")
    (tmp_path / "train.py").write_text(job)
    workload = WorkloadSpec(model=f"{tmp_path}/train.py:run", arguments={"rate": 0.1, "width": 64, "epochs": 5})
    record = runner.run(TrialSpec(kind="job", workload=workload, settings=Settings(batch_size=1)), Watcher(), None)
    assert record.outcome is Outcome.OK, record.failure
    assert record.measurement is not None
    told = record.measurement.job
    assert told is not None
    assert [point.step for point in told.points] == [1, 2, 3, 4, 5]
    assert told.value == pytest.approx(told.points[-1].value)
    assert set(told.others) == {"accuracy", "loss"}
