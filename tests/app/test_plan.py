"""Plans as use cases: what is stored, what is measured, and what survives a failed validation."""

import json
from pathlib import Path

import msgspec
import pytest

from traindyno.app.compare import compare
from traindyno.app.context import Context
from traindyno.app.plan import plan
from traindyno.app.throughput import throughput
from traindyno.core.codec import plain
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Failure, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, PlanRequest, ThroughputRequest
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.store.ledger import Ledger


def curve(runner: str = "simulated", **bench: object) -> ThroughputRequest:
    return ThroughputRequest(
        workload=WorkloadSpec(model="torchvision:resnet18"),
        bench=Bench(device="auto", runner=runner, **bench),  # type: ignore[arg-type]
        sizes=(64, 128),
        repeats=1,
    )


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return Context(store=str(tmp_path / "traindyno.db"), name="it")


def test_the_stored_request_says_where_it_was_measured_so_that_resuming_means_the_same(context: Context) -> None:
    plan(PlanRequest(examples=1000, epochs=1, curve=curve()), context)
    with Ledger.open(context.store) as ledger:
        request = ledger.study("it").request
    assert isinstance(request, PlanRequest)
    assert request.curve is not None
    assert request.curve.bench.device == "simulated"


def test_evaluation_is_measured_when_only_its_examples_are_given(context: Context) -> None:
    document = plan(PlanRequest(examples=1000, epochs=1, eval_examples=100, curve=curve()), context)
    assert not any("one third" in verdict for verdict in document.answer.verdicts)


def test_a_failed_validation_costs_the_proof_and_not_the_plan(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    failure = Failure(outcome=Outcome.TIMEOUT, message="it took too long", remedy="Give it more time.")

    def run(self: SimulatedRunner, spec: TrialSpec, watcher: Watcher, log_path: Path | None) -> TrialRecord:
        if spec.kind != "train":
            return simulated(self, spec, watcher, log_path)
        return TrialRecord(spec=spec, outcome=Outcome.TIMEOUT, seconds=1.0, failure=failure)

    simulated = SimulatedRunner.run
    monkeypatch.setattr(SimulatedRunner, "run", run)
    document = plan(PlanRequest(examples=1000, epochs=1, curve=curve(), validate=True), context)
    assert [row.batch_size for row in document.answer.rows] == [64, 128]
    assert document.answer.validation is None
    assert any("could not be validated: it took too long" in verdict for verdict in document.answer.verdicts)
    with Ledger.open(context.store) as ledger:
        assert ledger.study("it").state == "done"


def test_a_plan_from_a_study_keeps_what_was_measured_there_and_on_which_machine(context: Context) -> None:
    source = throughput(curve(precision="bf16"), context)
    document = plan(PlanRequest(examples=1000, epochs=1, from_study="it"), context)
    assert document.request is not None
    assert document.request["curve"] is None
    assert document.request["source"] == {"request": source.request, "machine": source.machine}
    assert document.machine == source.machine


def test_a_validated_plan_from_a_study_keeps_its_source_in_the_store(context: Context) -> None:
    source = throughput(curve(), context)
    request = PlanRequest(examples=1000, epochs=1, from_study="it", validate=True)
    plan(request, Context(store=context.store, name="plan"))
    with Ledger.open(context.store) as ledger:
        stored = ledger.study("plan").request
    assert isinstance(stored, PlanRequest)
    assert stored.source is not None
    assert plain(stored.source) == {"request": source.request, "machine": source.machine}


def test_plans_from_curves_of_other_models_and_precisions_are_told_apart(context: Context, tmp_path: Path) -> None:
    for name, model, precision in (("a", "torchvision:resnet18", "fp32"), ("b", "torchvision:vgg16", "bf16")):
        asked = msgspec.structs.replace(curve(precision=precision), workload=WorkloadSpec(model=model))
        throughput(asked, Context(store=context.store, name=name))
        document = plan(PlanRequest(examples=1000, epochs=1, from_study=name), context)
        (tmp_path / f"{name}.json").write_text(json.dumps(plain(document)))
    answer = compare(str(tmp_path / "a.json"), str(tmp_path / "b.json"), context.store).answer
    assert answer.unlike == (
        "model: torchvision:resnet18 against torchvision:vgg16",
        "precision: fp32 against bf16",
    )


def test_the_budget_of_the_curve_does_not_bound_its_validation(context: Context) -> None:
    throughput(curve("simulated:sleep=0.2", time_budget_seconds=0.3), context)
    request = PlanRequest(examples=1000, epochs=1, from_study="it", validate=True)
    document = plan(request, Context(store=context.store, name="plan"))
    assert document.answer.validation is not None
    assert document.state == "done"
