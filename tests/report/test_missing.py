"""Answers with as much missing as the records allow: everything renders, nothing crashes."""

import math
from typing import Any

import msgspec
import pytest

from report.anatomy_documents import anatomy_answer, anatomy_size
from report.documents import (
    ALL,
    compare_document,
    max_batch_answer,
    plan_document,
    throughput_answer,
    throughput_document,
)
from report.loader_documents import loader_answer, point, run, stalls_answer
from traindyno.core.answers import CompareAnswer, CompareRow, CurvePoint, Document, PhaseCost, PlanAnswer, Utilization
from traindyno.core.errors import TraindynoError
from traindyno.report.renderers import RENDERERS, rendered
from traindyno.report.views import view_of

TEXTS = ("console", "markdown", "csv", "json", "html")
UNKNOWN = (math.nan, math.nan)


def bare(answer: Any, command: str = "throughput", **more: Any) -> Document:
    return Document(command=command, study=None, answer=answer, **more)


def bare_point() -> CurvePoint:
    return CurvePoint(
        batch_size=4, examples_per_second=math.nan, ci95=UNKNOWN, step_seconds=math.nan, peak_memory_bytes=0,
        steady=False, processes=0,
    )  # fmt: skip


def bare_search() -> Any:
    return max_batch_answer(
        max_batch=None, safe_batch=None, no_retry_batch=None, first_failed_batch=None, memory_model=None,
        memory_limit_bytes=None, limited_by=None, verdicts=(),
    )  # fmt: skip


def bare_plan() -> PlanAnswer:
    answer: PlanAnswer = plan_document().answer
    rows = tuple(
        msgspec.structs.replace(row, training_seconds=math.inf, ci95=UNKNOWN, cost=None) for row in answer.rows[:1]
    )
    return PlanAnswer(examples=10, epochs=0.5, rows=rows, fastest=999, verdicts=())


def bare_worker_point() -> Any:
    return point(
        1, math.nan, ci95=UNKNOWN, start_up_seconds=None, steady=False, median_batch_seconds=None,
        p95_batch_seconds=None, longest_batch_seconds=None, predicted_examples_per_second=math.nan,
    )  # fmt: skip


def bare_phase() -> PhaseCost:
    return PhaseCost(
        seconds=math.nan, ci95=UNKNOWN, share=math.nan, seconds_per_example=math.nan, host_seconds=math.nan
    )


BARE = {
    "nothing": bare(None),
    "empty curve": bare(throughput_answer(curve=(), memory_model=None, memory_limit_bytes=None)),
    "unknown point": bare(throughput_answer(curve=(bare_point(),), best_batch=4, chosen_batch=4)),
    "unknown point among others": bare(throughput_answer(curve=(*throughput_answer().curve, bare_point()))),
    "search": bare(bare_search(), "max-batch"),
    "searches": bare((bare_search(), bare_search()), "max-batch"),
    "plan": bare(bare_plan(), "plan"),
    "plan without rows": bare(msgspec.structs.replace(bare_plan(), rows=()), "plan"),
    "comparison": bare(
        CompareAnswer(
            a="", b="", unlike=(),
            rows=(CompareRow(key="batch 1", a=None, b=math.nan, ratio=None, ci95=None, verdict=""),),
        ),
        "compare",
    ),
    "comparison without rows": bare(CompareAnswer(a="x", b="y", unlike=(), rows=()), "compare"),
    "loader without points": bare(loader_answer(points=(), stages=(), effects=(), cpu_scaling=()), "loader"),
    "loader": bare(
        loader_answer(
            points=(bare_worker_point(),), grid=(bare_worker_point(),), examples_per_second=math.nan, ci95=UNKNOWN,
            start_up_seconds=math.nan, epoch_examples=None, start_up_seconds_per_epoch=None, share_of_resident=None,
            resident_examples_per_second=math.nan,
        ),
        "loader",
    ),
    "stalls without runs": bare(stalls_answer(runs={}, causes=(), stages=(), remedies=()), "stalls"),
    "stalls": bare(
        stalls_answer(
            runs={"warm": run("warm", math.nan, math.nan, examples_per_second=math.nan, ci95=UNKNOWN)},
            stall_share=math.nan, stall_share_ci95=UNKNOWN,
        ),
        "stalls",
    ),
    "anatomy without sizes": bare(anatomy_answer(phases={}, sizes=()), "anatomy"),
    "anatomy": bare(
        anatomy_answer(
            phases={"forward": bare_phase()}, step_seconds=math.nan, ci95=UNKNOWN, coverage=math.nan,
            instrument_cost=math.nan, instrument_cost_ci95=UNKNOWN, utilization=Utilization(), host_share=None,
            host_wait_seconds=math.nan, stall_seconds=math.nan, idle_share=None, batch_size=4, trace=None,
            sizes=(
                anatomy_size(
                    4, math.nan, phases={"forward": bare_phase()}, transfers=(), ci95=UNKNOWN, idle_share=None,
                    host_share=math.nan, utilization=Utilization(), examples_per_second=math.nan,
                ),
            ),
        ),
        "anatomy",
    ),
    "odd trials": throughput_document(trials=({}, {"settings": None, "measurement": None, "outcome": None})),
    "odd machine": msgspec.structs.replace(compare_document(), machine={"A": None, "B": {"gpus": [{}]}}),
}  # fmt: skip


@pytest.mark.parametrize("form", TEXTS)
@pytest.mark.parametrize("name", BARE)
def test_it_renders(name: str, form: str) -> None:
    assert rendered(BARE[name], form)


@pytest.mark.parametrize("name", BARE)
def test_it_draws_or_says_that_there_is_nothing_to_draw(name: str) -> None:
    if view_of(BARE[name]).chart(BARE[name]) is not None:
        assert rendered(BARE[name], "svg").startswith(b"<svg")
        return
    with pytest.raises(TraindynoError, match="nothing to draw"):
        rendered(BARE[name], "svg")


@pytest.mark.parametrize("form", ["console", "markdown"])
@pytest.mark.parametrize("name", ["unknown point", "search", "plan", "comparison", "loader", "stalls", "anatomy"])
def test_what_is_missing_reads_as_not_available(name: str, form: str) -> None:
    text = rendered(BARE[name], form).decode()
    assert "n/a" in text
    assert "nan" not in text.lower()
    assert "None" not in text


def test_every_registered_format_is_tried_here_or_drawn_or_of_find_alone() -> None:
    assert set(RENDERERS) == {*TEXTS, "png", "svg", "toml"}
    assert len(ALL) >= 13
