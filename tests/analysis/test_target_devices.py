"""Which number of devices is best, in sentences."""

from collections.abc import Mapping

from traindyno.analysis.target_devices import device_verdicts
from traindyno.analysis.target_standing import FIRST, NOT_TOLD_APART, Standing
from traindyno.core.answers import RowComparison, TargetRow


def row(label: str, devices: int, norm_examples: int | None = None, threads: int | None = None) -> TargetRow:
    return TargetRow(
        label=label,
        settings={"devices": devices, "threads": threads},
        learning_rate=0.1,
        seeds=6,
        reached=6,
        median_seconds=1.0,
        ci95=None,
        examples=100.0,
        steps=10.0,
        cost=None,
        best_metric=0.9,
        devices=devices,
        norm_examples=norm_examples,
    )


def standing(leader: str, others: Mapping[str, str]) -> Standing:
    comparisons = tuple(
        RowComparison(first=leader, second=label, difference=1.0, ci95=None, p_value=0.01, verdict=verdict)
        for label, verdict in others.items()
    )
    wins = all(verdict == FIRST for verdict in others.values())
    return Standing(leader=leader, winner=leader if wins else None, comparisons=comparisons)


ROWS = (row("one", 1), row("small", 2), row("large", 2))


def test_a_count_wins_although_two_ways_with_it_cannot_be_told_apart() -> None:
    time = standing("small", {"large": NOT_TOLD_APART, "one": FIRST})
    examples = standing("one", {"small": NOT_TOLD_APART, "large": FIRST})
    cost = standing("one", {"small": FIRST, "large": FIRST})
    (verdict,) = device_verdicts(ROWS, time, examples, cost)
    assert "Of 1 and 2 devices, 2 is best in time, none is certainly best in examples" in verdict
    assert "1 is best in device-hours" in verdict


def test_nothing_is_said_of_devices_where_all_have_one_or_nobody_arrived() -> None:
    nobody = Standing(leader=None)
    assert device_verdicts(ROWS, nobody, nobody, nobody) == ()
    first = standing("a", {"b": FIRST})
    assert device_verdicts((row("a", 1, threads=2), row("b", 1, threads=2)), first, first, first) == ()


def test_the_threads_of_each_device_are_told() -> None:
    rows, first = (row("one", 1, threads=2), row("two", 2, threads=2)), standing("one", {"two": FIRST})
    assert any("a process with 2 threads on the CPU" in each for each in device_verdicts(rows, first, first, first))


def test_few_examples_for_batch_normalisation_are_told_by_way() -> None:
    rows, first = (row("one", 1, 32), row("four", 4, 8)), standing("one", {"four": FIRST})
    assert any("8 with four; fewer than 16" in each for each in device_verdicts(rows, first, first, first))
