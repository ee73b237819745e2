"""The data side: which source and decoder, and how many workers, so that the step as it is now waits least.

Decoders and sources are probed in one process each and the rest is simulated; the supplier that should be the best is
then tried end to end at a few worker counts. A GPU that decodes does so beside the step and leaves little to workers:
where more workers alone would not do and its probe says that it would, it comes first. A set that has yet to be
prepared is tried only while training waits, and should go on to wait with the best of the others, unless it is soon
prepared.
"""

from traindyno.analysis.find.attempts import lacks_time, not_tried, ruled_out, unprobed
from traindyno.analysis.find.forecast import (
    BOUND_BY_DATA,
    FASTER_STEP,
    best_seconds,
    forecast_seconds,
    preparing_seconds,
    supplier_of,
    waiting_gain,
)
from traindyno.core.loading import GPU_DECODER
from traindyno.core.setups import Setup
from traindyno.core.units import format_seconds
from traindyno.search.find.hunt import Hunt
from traindyno.search.find.trials import changed
from traindyno.search.find.ways import Ways
from traindyno.search.find.worker_trials import MOST_TRIALS, WORTH_ADOPTING, WorkerTrials, allowed_counts
from traindyno.search.replaying import Trying, Wanted

WAITS = 1.03
"""Training that would gain less than this without waiting does not wait for data."""

DISAPPOINTS = 1.1
"""What is so many times slower than another should be was foretold wrongly, and the other is tried as well."""

NEARLY_AS_FAST = 1.05
"""What should be at most so many times slower than what is held, with the step as it will stay, may be faster."""

FEW_WORKERS = 2
"""Of a GPU that decodes, as long as nothing is known of them."""

SOON_PREPARED = 0.1
"""A set that takes no more than this share of the budget to prepare need not wait until everything else was tried."""


class SupplySearch:
    """Improves what is held by its loader. Everything found goes into the findings."""

    def __init__(self, hunt: Hunt) -> None:
        self._goal, self._trials, self._findings, self._purse = hunt.goal, hunt.trials, hunt.findings, hunt.purse
        self._ways, self._workers = Ways(hunt), WorkerTrials(hunt)

    def improve(self, brief: bool = False, kept_seconds: float = 0.0) -> Trying[None]:
        """`brief` is enough for a step that is about to become faster: until the one that there is hardly waits, each
        way tried once, as it would be used for a faster one. Runs end to end leave the seconds that are kept for it.
        """
        self._workers.kept_seconds = kept_seconds
        enough, most, faster = (BOUND_BY_DATA, 1, FASTER_STEP) if brief else (WAITS, MOST_TRIALS, 1.0)
        if brief and self._is_soon_prepared() and self._goes_on_to_wait(self._findings.held, enough, faster):
            yield from self._prepare(most, faster)
            if not self._waits(enough):
                return
        gpu_first = self._goes_on_to_wait(self._findings.held, enough, faster)
        if gpu_first and (on_gpu := self._ways.decoded_on_gpu()) is not None:
            yield from self._probe_all((on_gpu,))
            if self._ways.is_probed(on_gpu) and not self._goes_on_to_wait(on_gpu, enough, faster):
                yield from self._workers.run(on_gpu, most, faster)
                if self._findings.held.settings.decoder == GPU_DECODER and not self._waits(enough):
                    return
        best = self._ways.pinned(self._findings.held)
        for others in (self._ways.decoders, self._ways.sources):
            best = yield from self._fastest((best, *others(best)), faster)
        goes_on_to_wait = self._goes_on_to_wait(best, enough)
        if goes_on_to_wait:
            yield from self._prepare(most, faster)
        if self._waits(enough):
            more = any(not self._ways.is_probed(each) for each in self._later())
            yield from self._workers.run(best, 1 if goes_on_to_wait and more else most, faster)
            nearly = NEARLY_AS_FAST if not brief and self._waits(enough) else 0.0
            if self._has_run(best) and (other := self._rather(best, nearly)) is not None:
                yield from self._workers.run(other, most, faster)
        if self._waits(enough):
            yield from self._prepare(most, faster)
        if not gpu_first:
            yield from self._decode_on_gpu(enough, most, faster)

    def look_at_held(self) -> Trying[None]:
        """Run what is held end to end, if there is time: what it should give is foretold so far."""
        yield from self._workers.run_held()

    def take_up_again(self) -> bool:
        """Whether there was no time for something, which is forgotten: it may be asked for again."""
        untried = [each for each in self._findings.attempts if each.side == "data" and lacks_time(each)]
        self._findings.attempts = [each for each in self._findings.attempts if each not in untried]
        self._workers.ran_short = False
        return bool(untried)

    def _waits(self, enough: float) -> bool:
        return waiting_gain(self._findings, self._findings.held) > enough

    def _goes_on_to_wait(self, setup: Setup, enough: float, faster: float = 1.0) -> bool:
        """Whether training should wait with all the workers that may help, and a step that is so much faster."""
        counts = allowed_counts(self._goal, self._findings, setup)
        then = best_seconds(self._findings, setup, counts, faster)
        resident = self._findings.resident_seconds(self._findings.held.settings)
        return then is None or resident is None or then > enough * faster * resident

    def _has_run(self, setup: Setup) -> bool:
        """Whether there was time for a run end to end from there."""
        return any(supplier_of(each) == supplier_of(setup) for each in self._findings.feeds)

    def _rather(self, tried: Setup, nearly: float) -> Setup | None:
        """A supplier other than the one tried that should be clearly faster than what is held has turned out to be, or
        `nearly` as fast as that should be.
        """
        held = self._findings.held
        own = self._ways.pinned(changed(held, {"decoder": self._goal.baseline.settings.decoder}))
        ways = {own, *self._ways.decoders(held), *self._ways.sources(held)}
        counts = {each: allowed_counts(self._goal, self._findings, each) for each in ways}
        known = {supplier_of(each) for each in (held, tried)}
        foretold = {
            each: seconds
            for each in sorted(ways, key=supplier_of)
            if supplier_of(each) not in known
            and self._findings.is_usable(supplier_of(each))
            and (seconds := best_seconds(self._findings, each, counts[each])) is not None
        }
        best = min(foretold, key=lambda each: foretold[each], default=None)
        if best is None or self._findings.rate(held) is None:
            return None
        own_foretold = forecast_seconds(self._findings, held)
        is_near = own_foretold is not None and foretold[best] < nearly * own_foretold
        return best if is_near or self._disappoints(foretold[best]) else None

    def _disappoints(self, other_seconds: float) -> bool:
        """Whether what is held is clearly slower than another way should be, which takes so long per step."""
        measured = self._findings.rate(self._findings.held)
        return measured is not None and measured.step_seconds >= DISAPPOINTS * other_seconds

    def _decode_on_gpu(self, enough: float, most: int, faster: float) -> Trying[None]:
        if self._waits(enough) and (on_gpu := self._ways.decoded_on_gpu()) is not None:
            yield from self._try_later(on_gpu, most, faster)

    def _prepare(self, most: int, faster: float) -> Trying[None]:
        if (prepared := self._ways.prepared()) is None:
            return
        if self._affords_preparing():
            yield from self._try_later(prepared, most, faster)
        else:
            self._note_unprepared()

    def loaders(self, with_later: bool) -> dict[Setup, tuple[int, ...]]:
        """The sources and decoders that are known, each with the rest as it is held, and their worker counts.

        Where there was no time to try any, what is held. A decoder that lost to them may win once the step is far
        faster, and takes its part of the GPU.
        """
        held = self._findings.held
        if self._workers.ran_short:
            return {held: (held.settings.num_workers,)}
        known = [held, *self._ways.decoders(held), *self._ways.sources(held), *(self._later() if with_later else ())]
        return {each: allowed_counts(self._goal, self._findings, each) for each in known}

    @property
    def has_more(self) -> bool:
        """Whether there is a way to load of which nothing is known yet, and which may be as fast as any step."""
        if self._workers.ran_short:
            return False
        known = {*self._findings.probes, *self._findings.unusable}
        ways = (*self._later(), *self._ways.sources(self._findings.held))
        return any(supplier_of(each) not in known for each in ways)

    def _later(self) -> list[Setup]:
        """What costs more to try, as far as there is time for it."""
        ways = (self._ways.decoded_on_gpu(), self._ways.prepared() if self._affords_preparing() else None)
        return [each for each in ways if each is not None]

    def _affords_preparing(self) -> bool:
        seconds = preparing_seconds(self._findings)
        if self._is_made or self._purse.budget_seconds is None:
            return True
        return seconds is not None and self._purse.affords("probe", extra_seconds=seconds)

    def _is_soon_prepared(self) -> bool:
        budget, seconds = self._purse.budget_seconds, preparing_seconds(self._findings)
        soon = budget is not None and seconds is not None and seconds <= SOON_PREPARED * budget
        return self._ways.prepared() is not None and (self._is_made or soon)

    @property
    def _is_made(self) -> bool:
        """Whether the prepared set was there before, or has been made for a trial."""
        return self._goal.is_prepared or any(source == self._goal.prepare for source, _ in self._findings.probes)

    def _note_unprepared(self) -> None:
        seconds = preparing_seconds(self._findings)
        told = f"preparing the data would take about {format_seconds(seconds)}, and the time budget does not reach"
        why = "how long preparing the data takes is not known" if seconds is None else told
        self._findings.note_untried(not_tried("data", f"data={self._goal.prepare}", why))

    def _try_later(self, setup: Setup, most: int, faster: float) -> Trying[None]:
        """Its probe may say that it would be slower than what is held, with the workers that each of them needs; unless
        that has turned out to be slower than foretold.
        """
        yield from self._probe_all((setup,))
        if not self._ways.is_probed(setup):
            return
        held = self._findings.held
        both = [(each, allowed_counts(self._goal, self._findings, each)) for each in (setup, held)]
        own, other = (best_seconds(self._findings, each, counts, faster) for each, counts in both)
        now = best_seconds(self._findings, *both[0])
        disappoints = now is not None and self._disappoints(now)
        if own is None or other is None or own < other or disappoints or supplier_of(setup) == supplier_of(held):
            yield from self._workers.run(setup, most, faster)
        else:
            self._findings.note_untried(ruled_out(setup, held, other, own))

    def _probe_all(self, setups: tuple[Setup, ...]) -> Trying[None]:
        for setup in setups:
            supplier = supplier_of(setup)
            if supplier in self._findings.probes or supplier in self._findings.unusable:
                continue
            if not self._affords_probe(setup):
                continue
            # Of a baseline that decodes on the GPU it is not known what moving finished images takes.
            with_model = GPU_DECODER in (setup.settings.decoder, self._goal.baseline.settings.decoder)
            reason = f"what an example costs from {setup.data}, decoded by {setup.settings.decoder}"
            record = yield Wanted(spec=self._trials.probe(setup, with_model=with_model), reason=reason)
            if record.measurement is None:
                self._findings.unusable.add(supplier)
                self._findings.attempts.append(unprobed(setup, self._findings.held, record))
            else:
                self._findings.probes[supplier] = record

    def _affords_probe(self, setup: Setup) -> bool:
        """A probe is only worth its time if a run end to end can follow; where the GPU decodes that has few workers."""
        run, seconds = setup, forecast_seconds(self._findings, setup)
        if setup.settings.decoder == GPU_DECODER and seconds is None:
            run = changed(setup, {"num_workers": FEW_WORKERS})
            seconds = self._findings.resident_seconds(setup.settings)
        if self._purse.affords_feed(run, seconds, self._purse.prices.cost("probe")):
            return True
        self._findings.note_untried(unprobed(setup, self._findings.held, None))
        return False

    def _fastest(self, setups: tuple[Setup, ...], faster: float) -> Trying[Setup]:
        """The supplier that should be the fastest with the workers it needs; in doubt the first.

        Which that is may be asked for a step that is about to become `faster`; what is told of the others is of the
        step as it is.
        """
        yield from self._probe_all(setups)
        setups = (setups[0], *(each for each in setups[1:] if self._findings.is_usable(supplier_of(each))))
        counts = {setup: allowed_counts(self._goal, self._findings, setup) for setup in setups}
        best_of = {setup: best_seconds(self._findings, setup, counts[setup], faster) for setup in setups}
        foretold = {setup: seconds for setup, seconds in best_of.items() if seconds is not None}
        if setups[0] not in foretold:
            return setups[0]
        best = min(foretold, key=lambda setup: foretold[setup])
        best = best if foretold[setups[0]] > WORTH_ADOPTING * foretold[best] else setups[0]
        now = {setup: best_seconds(self._findings, setup, counts[setup]) or foretold[setup] for setup in foretold}
        for setup, seconds in now.items():
            attempt = ruled_out(setup, self._findings.held, now[best], seconds)
            self._findings.forget_prediction(attempt.change)
            if setup not in (best, setups[0]):
                self._findings.attempts.append(attempt)
        return best
