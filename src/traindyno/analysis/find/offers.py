"""What the user did not allow and would gain, by the simulation."""

from collections.abc import Iterator

import msgspec

from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.forecast import parts_of, supplier_of, waiting_gain
from traindyno.analysis.find.rates import rate_of
from traindyno.analysis.loader_trials import decodes
from traindyno.core.answers import Remedy
from traindyno.core.loading import GPU_DECODER
from traindyno.core.requests import FindRequest
from traindyno.core.setups import Setup

PREPARED_AUGMENT = 0.2
"""Rule of thumb: what augmenting costs when crops are taken from stored pixels of a smaller size."""

_UNPREPARED = ("folder:", "shards:")
_WORTH_NAMING = 1.03
_FAR = 1.5
"""What was foretold so many times too fast, or too slow, says nothing of another way to load."""


def offers(request: FindRequest, findings: Findings, setup: Setup) -> tuple[Remedy, ...]:
    return tuple(offer for offer in _preparing(request, findings, setup) if offer.predicted_speedup >= _WORTH_NAMING)


def _preparing(request: FindRequest, findings: Findings, setup: Setup) -> Iterator[Remedy]:
    """By what the baseline's decoder leaves to load where the GPU decodes, for that has nothing to do with pixels."""
    own = findings.baseline.settings.decoder if setup.settings.decoder == GPU_DECODER else setup.settings.decoder
    plain = msgspec.structs.replace(setup, settings=msgspec.structs.replace(setup.settings, decoder=own))
    now, parts, probe = parts_of(findings, setup), parts_of(findings, plain), findings.probes.get(supplier_of(plain))
    told = probe.measurement.loading if probe is not None and probe.measurement is not None else None
    if request.prepare is not None or now is None or parts is None or told is None or not decodes(told.stages):
        return
    if not request.workload.data.startswith(_UNPREPARED):
        return
    shares = {"decode": 0.0, "augment": PREPARED_AUGMENT}
    total = sum(stage.seconds for stage in told.stages)
    left = sum(stage.seconds * shares.get(stage.stage, 1.0) for stage in told.stages)
    prepared = msgspec.structs.replace(parts, load_seconds=parts.load_seconds * left / total, decode_seconds=0.0)
    workers = setup.settings.num_workers
    counts = range(workers, max(workers, int(findings.usable_cpus)) + 1)
    before = now.forecast(setup.settings, alone=False).step_seconds
    if _is_far_from(before, findings, setup):
        return
    ways = (msgspec.structs.replace(plain.settings, num_workers=count) for count in counts)
    after = min(prepared.forecast(way, alone=False).step_seconds for way in ways)
    yield Remedy(
        action="let the data be prepared once with --prepare FOLDER (crops then come from the stored size)",
        predicted_speedup=min(waiting_gain(findings, setup), before / after),
        command=None,
    )


def _is_far_from(foretold: float, findings: Findings, setup: Setup) -> bool:
    """Whether the simulation missed this way to train by so much that it says nothing of another."""
    records = findings.runs(setup)
    return bool(records) and not 1 / _FAR < rate_of(records).step_seconds / foretold < _FAR
