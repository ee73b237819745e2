"""The loader: how many workers, with which knobs, how fast they then load, and where the time goes."""

from traindyno.core.answers import Document, LoaderAnswer, LoaderSettings, WorkerPoint
from traindyno.report.charts.loader import loader_chart
from traindyno.report.conditions import brings_own_data, run_settings, setting_words
from traindyno.report.view import Adoption, Headline, Number, Sheet, Table, View
from traindyno.report.views.loader_tables import (
    UNSTEADY,
    cpus_table,
    effects_table,
    grid_tables,
    is_recommended,
    worker_tables,
)
from traindyno.report.views.stages import stages_table
from traindyno.report.wording import batch, count, duration, of_ranks, one_line, rate_interval, share

SHEET_COLUMNS = (
    "data", "part", "num_workers", "batch_size", "end_to_end", "cpus", "examples_per_second",
    "examples_per_second_ci95_low", "examples_per_second_ci95_high", "predicted_examples_per_second",
    "start_up_seconds", "median_batch_seconds", "p95_batch_seconds", "longest_batch_seconds", "epoch_seconds",
    "steady", "recommended",
)  # fmt: skip
METHOD = (
    "A probe timed fetching, decoding, augmenting and collating one after the other in one process. From these parts "
    "an event simulation of the loader (workers in turn, prefetching, hand-off, copy, step, CPUs shared by all) said "
    "which worker counts were worth a trial. In a trial of the loader, somebody always asks for the next batch; what "
    "was prefetched before the clock started is discarded, and start-up is reported apart. The recommendation is the "
    "fewest workers within 1 % of the best measured rate, or within 2 % if their interval reaches it. Prefetching and "
    "pinning, where they could matter, were each tried alone in fresh processes, against the same settings without. "
    "Trials that were left went to fresh processes of the settings that won. Persistent workers were judged by what "
    "starting workers costs in an epoch, and decoders that were compared by one probe each, on the CPU."
)


def title(document: Document) -> str:
    answer: LoaderAnswer = document.answer
    words = setting_words(document, f"batch {batch(answer.batch_size)}", None if answer.end_to_end else "no model")
    return f"Loader of {one_line(answer.data)} ({words})"


def headline(document: Document) -> Headline:
    answer: LoaderAnswer = document.answer
    beside = [
        ("throughput", f"{_speed(answer)}{_mark(answer)}"),
        *([("of resident data", share(answer.share_of_resident))] if answer.share_of_resident is not None else []),
        ("start-up", duration(answer.start_up_seconds)),
        *_knobs(answer.recommended),
        ("usable CPUs", f"{answer.usable_cpus:g}{of_ranks((document.request or {}).get('local_ranks', 1))}"),
        ("trials", count(answer.trials)),
    ]
    return Headline(value=str(answer.recommended.num_workers), label="recommended workers", beside=tuple(beside))


def tables(document: Document) -> tuple[Table, ...]:
    answer: LoaderAnswer = document.answer
    return (
        *stages_table(answer.stages),
        *worker_tables(answer),
        *effects_table(answer.effects),
        *cpus_table(answer.cpu_scaling),
        *grid_tables(answer),
    )


def conclusion(document: Document) -> tuple[str, ...]:
    answer: LoaderAnswer = document.answer
    of_resident = "" if answer.share_of_resident is None else f", {share(answer.share_of_resident)} of resident data"
    first = f"Recommended: {settings_words(answer.recommended)}: {_speed(answer)}{of_resident}{_mark(answer)}"
    others = (_start_up(answer), _bad(answer))
    return (first, *(line for line in others if line is not None))


def settings_words(settings: LoaderSettings) -> str:
    """`4 workers, prefetch 2, pinned memory, persistent workers, decoded by simplejpeg`."""
    number = settings.num_workers
    parts = (
        f"{number} worker{'' if number == 1 else 's'}",
        f"prefetch {settings.prefetch_factor}" if number and settings.prefetch_factor is not None else None,
        "pinned memory" if settings.pin_memory else None,
        "persistent workers" if number and settings.persistent_workers else None,
        f"decoded by {settings.decoder}" if settings.decoder else None,
    )
    return ", ".join(part for part in parts if part)


def verdicts(document: Document) -> tuple[str, ...]:
    answer: LoaderAnswer = document.answer
    return tuple(one_line(verdict, 400) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    answer: LoaderAnswer = document.answer
    parts = (("search", answer.points), ("grid", answer.grid))
    rows = tuple(_sheet_row(answer, part, point) for part, points in parts for point in points)
    return Sheet(columns=SHEET_COLUMNS, rows=rows)


def adoptions(document: Document) -> tuple[Adoption, ...]:
    answer: LoaderAnswer = document.answer
    workload = (document.request or {}).get("workload") or {}
    return (
        Adoption(
            model=f"loader of {one_line(answer.data)}",
            batch_size=answer.batch_size,
            training=workload.get("mode", "train") == "train",
            run=run_settings(document),
            loader=answer.recommended,
            own_data=brings_own_data(document, workload.get("model") or ""),
        ),
    )


def _speed(answer: LoaderAnswer) -> str:
    return f"{rate_interval(answer.examples_per_second, answer.ci95)} examples/s"


def _mark(answer: LoaderAnswer) -> str:
    return "" if answer.steady else f" {UNSTEADY}"


def _knobs(settings: LoaderSettings) -> list[tuple[str, str]]:
    known = [("pinned memory", _yes(settings.pin_memory))]
    if settings.num_workers:
        known = [
            ("prefetch factor", batch(settings.prefetch_factor)),
            *known,
            ("persistent workers", _yes(settings.persistent_workers)),
        ]
    return [*known, ("decoder", settings.decoder)] if settings.decoder else known


def _yes(value: bool) -> str:
    return "yes" if value else "no"


def _start_up(answer: LoaderAnswer) -> str | None:
    """What starting costs, spread over the user's epoch where its length is known."""
    if answer.start_up_seconds_per_epoch is None or answer.epoch_examples is None:
        return f"Start-up: {duration(answer.start_up_seconds)} until the first batch, not in the rate"
    spread = f"{duration(answer.start_up_seconds_per_epoch)} of each epoch of {count(answer.epoch_examples)} examples"
    return f"Start-up: {duration(answer.start_up_seconds)} until the first batch, {spread}, not in the rate"


def _bad(answer: LoaderAnswer) -> str | None:
    return f"Skipped: {count(answer.bad_examples)} examples that could not be read" if answer.bad_examples else None


def _sheet_row(answer: LoaderAnswer, part: str, point: WorkerPoint) -> tuple[Number, ...]:
    return (
        answer.data, part, point.num_workers, point.batch_size, point.end_to_end, point.cpus,
        point.examples_per_second, *point.ci95, point.predicted_examples_per_second, point.start_up_seconds,
        point.median_batch_seconds, point.p95_batch_seconds, point.longest_batch_seconds, point.epoch_seconds,
        point.steady, is_recommended(answer, point),
    )  # fmt: skip


LOADER = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=loader_chart,
    adoptions=adoptions,
    method=METHOD,
)
