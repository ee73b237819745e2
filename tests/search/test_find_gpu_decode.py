"""Searches around a GPU that decodes: where its decoding is the limit, and where the baseline has it already."""

import msgspec
import pytest

from search.imagined_gpu import searched
from search.simulated_find import WORKLOAD, answer_of, goal_of, plan_of
from search.test_find_minutes import COMMON, DECODERS, common
from traindyno.analysis.find.forecast import parts_of
from traindyno.analysis.find.simpler import near_equals
from traindyno.core.loading import GPU_DECODER
from traindyno.core.setups import Setup

SLOWLY = 60.0
"""Milliseconds for a batch that the fastest step takes 38 for."""


def test_where_the_gpu_decodes_too_slowly_prepared_data_are_offered() -> None:
    """With what they gain beside the step as it is; they may let it be compiled, too."""
    goal = common(8, cpus=8)
    answer = answer_of(goal, searched(goal, decoded_on_gpu_milliseconds=SLOWLY))
    assert answer.recommended.settings["decoder"] == GPU_DECODER
    (offer,) = [each for each in answer.offered if "--prepare" in each.action]
    allowed = common(8, cpus=8, prepare="prepared:/store")
    prepared = answer_of(allowed, searched(allowed, decoded_on_gpu_milliseconds=SLOWLY))
    assert 1.08 < offer.predicted_speedup < prepared.speedup / answer.speedup


def test_beside_a_gpu_that_decodes_pixels_are_read_with_the_baselines_decoder() -> None:
    goal = common(8, cpus=8, also=("prepared:/store",), pixels=("prepared:/store",))
    history = searched(goal, decoded_on_gpu_milliseconds=SLOWLY)
    held = {each.spec.settings.decoder for each in history if each.spec.workload.data == WORKLOAD.data}
    assert GPU_DECODER in held
    read = {each.spec.settings.decoder for each in history if each.spec.workload.data == "prepared:/store"}
    assert read == {COMMON.decoder}
    assert answer_of(goal, history).recommended.data == "prepared:/store"


def test_of_a_baseline_that_decodes_on_the_gpu_other_decoders_images_are_moved_too() -> None:
    """What it takes to move finished images is not part of such a baseline, and must not count as nothing."""
    baseline = msgspec.structs.replace(COMMON, decoder=GPU_DECODER)
    goal = goal_of(baseline, cpus=16, decoders=DECODERS, budget_seconds=600)
    history = searched(goal, decoded_on_gpu_milliseconds=200.0)
    on_host = [each for each in history if each.spec.kind == "probe" and each.spec.settings.decoder != GPU_DECODER]
    assert on_host
    settings = msgspec.structs.replace(baseline, decoder=on_host[0].spec.settings.decoder)
    parts = parts_of(plan_of(goal).findings(history), Setup(data=WORKLOAD.data, settings=settings))
    assert parts is not None
    assert parts.transfer_seconds > 0
    assert answer_of(goal, history).recommended.settings["decoder"] != GPU_DECODER


@pytest.mark.parametrize("cpus", [8, 16])
def test_no_rounds_are_spent_on_a_gpu_that_decodes_without_a_worker(cpus: int) -> None:
    goal = common(10, cpus=cpus)
    findings = plan_of(goal).findings(searched(goal, slower=0.01))
    assert findings.held.settings.decoder == GPU_DECODER
    assert all(entry.setup.settings.num_workers > 0 for entry in near_equals(findings, True))
