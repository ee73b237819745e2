"""Search for the loader's settings: a probe in one process, a few trials of worker counts, then single knobs.

The probe's parts go into an event simulation that foretells every worker count. Where that leaves the choice open, the
loader is tried alone; then training is fed by the count that should be the best, and by another if that may be better
still. Prefetching and pinning are compared afterwards where they can matter. What is left of the trials goes to fresh
processes of the settings that won, and restricted CPUs are tried last.
"""

from collections.abc import Sequence

import msgspec

from traindyno.analysis.loader_budget import LoaderRoom, refuse_loader, with_data
from traindyno.analysis.loader_effects import read_comparison, settle_knobs
from traindyno.analysis.loader_trials import (
    REPEATED,
    LoaderTrials,
    chosen_settings,
    decodes,
    known_from,
    read_loader_trials,
)
from traindyno.analysis.probes import counts as counts_for_something
from traindyno.analysis.worker_choice import fewest_near_best, next_count, worker_counts
from traindyno.analysis.worker_estimates import Known, estimate_counts, forecast_alone
from traindyno.core.loading import Decoder, Feed
from traindyno.core.outcomes import Outcome
from traindyno.core.records import Settings, TrialKind, TrialRecord, TrialSpec
from traindyno.search.strategy import Proposal

MOST_TRIALS = 5
"""For the worker count: the probe, and up to four others of which at least one is of what is asked for."""

ENOUGH_PROCESSES = 3
"""Fresh processes of the settings that won, over which their interval is taken."""

_TOO_MUCH = (Outcome.OUT_OF_SHARED_MEMORY, Outcome.OUT_OF_HOST_MEMORY)


class LoaderSearch:
    """The strategy behind `loader`.

    The template says workload, batch size, device, budget and the knobs' first values. `workers` limits the counts
    considered, `decoders` are compared by probes of their own first, `cpus` are counts to restrict trials to.
    """

    def __init__(
        self,
        template: TrialSpec,
        usable_cpus: float,
        *,
        with_model: bool = True,
        workers: Sequence[int] | None = None,
        decoders: Sequence[Decoder] = (),
        cpus: Sequence[int] = (),
        room: LoaderRoom | None = None,
    ) -> None:
        self._template = template
        self._usable_cpus = usable_cpus
        self._with_model = with_model
        self._counts = tuple(sorted(set(workers))) if workers is not None else worker_counts(usable_cpus)
        self._decoders = tuple(decoders) or (template.settings.decoder,)
        self._cpus = tuple(sorted({count for count in cpus if count <= usable_cpus}))
        self._room = room or LoaderRoom()

    def ask(self, history: Sequence[TrialRecord]) -> Proposal | None:
        records = [record for record in history if record.spec.workload == self._template.workload]
        if any(_is_users(record) for record in records):
            return None
        trials = read_loader_trials(records, self._template.settings.batch_size, self._with_model)
        found = self._probe(trials) or self._after_probe(trials)
        if found is None:
            return None
        spec, reason, still = found
        return Proposal(spec=spec, reason=reason, expected_trials=len(records) + still)

    def _probe(self, trials: LoaderTrials) -> tuple[TrialSpec, str, int] | None:
        tried = {record.spec.settings.decoder for record in trials.probes}
        left = [decoder for decoder in self._decoders if decoder not in tried]
        if not left or (trials.probe is not None and not _decodes(trials.probe)):
            return None
        settings = msgspec.structs.replace(self._template.settings, num_workers=0, decoder=left[0])
        feed = Feed(supply="resident" if self._with_model else "loader")
        spec = msgspec.structs.replace(self._template, kind="probe", settings=settings, feed=feed)
        return spec, "what each stage costs in one process", len(left) + ENOUGH_PROCESSES + len(self._cpus)

    def _after_probe(self, trials: LoaderTrials) -> tuple[TrialSpec, str, int] | None:
        known = known_from(trials, self._usable_cpus)
        if known is None:
            return None
        return (
            self._worker_count(trials, known)
            or self._knob(trials, known)
            or self._repeat(trials, known)
            or self._restricted(trials, known)
        )

    def _worker_count(self, trials: LoaderTrials, known: Known) -> tuple[TrialSpec, str, int] | None:
        estimates = estimate_counts(known, self._fitting(trials, known), self._settings(trials, 0))
        left = MOST_TRIALS - 1 - len(trials.searched)
        load_first = known.parts.asynchronous and not known.alone and not trials.loads
        following = next_count(estimates, left, load_first)
        if following is None:
            return None
        kind: TrialKind = "load" if following.how == "load" else trials.goal_kind
        spec = self._trial(trials, following.num_workers, kind=kind)
        still = min(left, (following.how == "load") + ENOUGH_PROCESSES) + len(self._cpus)
        return spec, f"{_workers(following.num_workers)}: {following.reason}", still

    def _fitting(self, trials: LoaderTrials, known: Known) -> tuple[int, ...]:
        """The counts that data, memory and open files allow and that have not failed."""
        room = with_data(self._room, trials.probe)
        broken = {record.spec.settings.num_workers for record in trials.searched if record.measurement is None}
        overfull = [record.spec.settings.num_workers for record in trials.searched if record.outcome in _TOO_MUCH]
        limit = min(overfull, default=None)
        return tuple(
            count
            for count in self._counts
            if count not in broken
            and (limit is None or count < limit)
            and refuse_loader(self._settings(trials, count), known.parts.batch_bytes, room) is None
        )

    def _knob(self, trials: LoaderTrials, known: Known) -> tuple[TrialSpec, str, int] | None:
        chosen = chosen_settings(trials)
        if chosen is None:
            return None
        for comparison in settle_knobs(chosen, known.parts, trials, self._room)[1]:
            state = read_comparison(comparison, trials)
            if state.next_repeat is not None:
                settings = comparison.changed if state.next_is_changed else comparison.without
                spec = msgspec.structs.replace(
                    self._template,
                    kind=trials.goal_kind,
                    settings=settings,
                    feed=Feed(supply="loader"),
                    repeat=state.next_repeat,
                )
                words = "with" if state.next_is_changed else "without"
                reason = f"{words} {comparison.knob} {comparison.value}, taking turns"
                return spec, reason, 2 + len(self._cpus)
        return None

    def _repeat(self, trials: LoaderTrials, known: Known) -> tuple[TrialSpec, str, int] | None:
        """The settings that won once more: one process tells nothing about how far others differ from it."""
        chosen = chosen_settings(trials)
        left = MOST_TRIALS - 1 - len(trials.searched) - len(trials.repeated)
        if chosen is None or left <= 0 or any(record.measurement is None for record in trials.repeated):
            return None
        settled = settle_knobs(chosen, known.parts, trials, self._room)[0]
        lacking = min(left, ENOUGH_PROCESSES - len(trials.processes_at(settled)))
        if lacking <= 0:
            return None
        feed, repeat = Feed(supply="loader"), REPEATED + len(trials.repeated)
        spec = msgspec.structs.replace(
            self._template, kind=trials.goal_kind, settings=settled, feed=feed, repeat=repeat
        )
        return spec, "the settings that won, in a fresh process", lacking + len(self._cpus)

    def _restricted(self, trials: LoaderTrials, known: Known) -> tuple[TrialSpec, str, int] | None:
        """For each number of CPUs, the loader alone at the worker count that should be best there."""
        tried = {record.spec.feed.cpus for record in trials.restricted}
        left = [count for count in self._cpus if count not in tried]
        if not left:
            return None
        allowed = self._fitting(trials, known)
        counts = [count for count in worker_counts(left[0]) if count in allowed] or [min(allowed, default=0)]
        estimates = forecast_alone(known.parts, counts, self._settings(trials, 0), cpus=left[0])
        spec = self._trial(trials, fewest_near_best(estimates).num_workers, kind="load", cpus=left[0])
        return spec, f"the loader on {left[0]} CPUs", len(left)

    def _settings(self, trials: LoaderTrials, workers: int) -> Settings:
        settings = self._template.settings if trials.probe is None else trials.probe.spec.settings
        return msgspec.structs.replace(settings, num_workers=workers)

    def _trial(self, trials: LoaderTrials, workers: int, kind: TrialKind, cpus: int | None = None) -> TrialSpec:
        feed = Feed(supply="loader", cpus=cpus)
        return msgspec.structs.replace(self._template, kind=kind, settings=self._settings(trials, workers), feed=feed)


def _is_users(record: TrialRecord) -> bool:
    """Whether code or data must be mended first: what a probe cannot be made with, no other decoder makes good."""
    return record.outcome.stops_study and (record.spec.kind == "probe" or counts_for_something(record))


def _decodes(probe: TrialRecord) -> bool:
    told = probe.measurement.loading if probe.measurement else None
    return told is not None and decodes(told.stages)


def _workers(count: int) -> str:
    return f"{count} worker{'' if count == 1 else 's'}"
