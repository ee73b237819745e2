"""Searches on the simulated device: a ResNet-50 on JPEG files, at a batch of 256 with the loader's own defaults."""

from collections.abc import Callable
from typing import Any

import msgspec

from traindyno.analysis.find.answer import conclude_find
from traindyno.core.answers.find import FindAnswer
from traindyno.core.records import Budget, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.requests import Bench, FindRequest
from traindyno.core.setups import Setup
from traindyno.runner.profile import parse_profile
from traindyno.runner.protocol import Watcher
from traindyno.runner.simulated import SimulatedRunner
from traindyno.search.find.goal import Goal
from traindyno.search.find.plan import FindPlan
from traindyno.search.switches import find_candidates
from traindyno.search.switches.switch import Situation

BASELINE = Settings(batch_size=256, device="simulated")
WORKLOAD = WorkloadSpec(model="torchvision:resnet50", data="folder:/data")
TEMPLATE = TrialSpec(kind="feed", workload=WORKLOAD, settings=BASELINE, budget=Budget(seconds=3.0))
COMPUTE_BOUND = "fetch_seconds=1e-6,decode_seconds=1e-6,augment_seconds=1e-6,collate_seconds=1e-7,transfer_seconds=1e-7"
"""A loader that costs next to nothing."""

Tamper = Callable[[TrialRecord], TrialRecord]


def goal_of(settings: Settings = BASELINE, cpus: int = 8, **changes: Any) -> Goal:
    situation = Situation(
        workload=WORKLOAD,
        baseline=settings,
        usable_cpus=cpus,
        physical_cores=cpus,
        has_cpp_compiler=True,
        max_autotune=False,
    )
    plain: dict[str, Any] = {
        "baseline": Setup(data=WORKLOAD.data, settings=settings),
        "has_data": True,
        "usable_cpus": cpus,
        "candidates": find_candidates(situation),
        "decoders": ("pil", "torchvision", "simplejpeg"),
    }
    return Goal(**plain | changes)


def plan_of(goal: Goal) -> FindPlan:
    return FindPlan(msgspec.structs.replace(TEMPLATE, settings=goal.baseline.settings), goal)


def search(goal: Goal, profile: str = "", tamper: Tamper = lambda record: record) -> list[TrialRecord]:
    """Every trial of the search, run to its end."""
    plan, history = plan_of(goal), list[TrialRecord]()
    runner = SimulatedRunner(parse_profile(f"cpus={int(goal.usable_cpus)},{profile}"))
    while (proposal := plan.ask(history)) is not None:
        history.append(tamper(runner.run(proposal.spec, Watcher(), None)))
        assert len(history) < 100, "the search does not end"
    return history


def answer_of(goal: Goal, history: list[TrialRecord], **asked: Any) -> FindAnswer:
    request = FindRequest(
        workload=WORKLOAD,
        bench=Bench(device="simulated"),
        settings=goal.baseline.settings,
        keep=goal.keep,
        batch_range=goal.batch_range,
        **asked,
    )
    findings = plan_of(goal).findings(history)
    return conclude_find(request, findings, history=history, seconds=1.0, simulated=True)
