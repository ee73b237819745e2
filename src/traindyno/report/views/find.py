"""The fastest settings: the answer in one line, what it was compared with, what changes, and what it leaves."""

from traindyno.analysis.find.placed import is_gain, other_batch
from traindyno.analysis.noise_verdicts import figure
from traindyno.core.answers import Document, Finalist, FindAnswer, Headroom, Remedy
from traindyno.report.charts.find import attempts_chart, finalists_chart, find_chart, steps_chart
from traindyno.report.finalists import foretells_loss, is_predicted
from traindyno.report.found_settings import found_snippets
from traindyno.report.view import Chapter, Headline, Sheet, Table, View
from traindyno.report.views.find_attempts import attempts_table, tried_table
from traindyno.report.views.find_method import find_method
from traindyno.report.views.find_sheet import find_sheet
from traindyno.report.views.find_tables import (
    changes_table,
    finalists_table,
    offers_table,
    speed_words,
    spent_table,
)
from traindyno.report.views.find_words import (
    answer_line,
    doubt,
    gain_words,
    interval_name,
    interval_words,
    no_gain_line,
)
from traindyno.report.wording import (
    batch,
    count,
    duration,
    duration_interval,
    known,
    one_line,
    rate,
    share,
)


def title(document: Document) -> str:
    answer: FindAnswer = document.answer
    words = (answer.mode, f"batch {batch(answer.batch_size)}", answer.baseline.settings.get("device"))
    return f"Fastest settings for {one_line(answer.model)} ({', '.join(one_line(word) for word in words if word)})"


def headline(document: Document) -> Headline:
    answer: FindAnswer = document.answer
    found, other = answer.recommended, other_batch(answer)
    beside = [
        (interval_name(found), f"{interval_words(found.worth_ci95)}×" if is_gain(answer) else None),
        ("batch size", batch(found.batch_size)),
        *([] if other is None else [(other.label, _at_batch(answer, other.finalist))]),
        ("noise scale", figure(answer.noise_scale) if foretells_loss(answer) else None),
        ("search", f"{duration(answer.seconds)}, {count(answer.trials)} trials"),
    ]
    told = tuple((name, value) for name, value in beside if value is not None)
    if not is_gain(answer):
        value = f"{rate(answer.baseline.examples_per_second)} examples/s"
        return Headline(value=value, label=no_gain_line(answer), beside=told)
    return Headline(value=speed_words(found.worth), label=f"{gain_words(answer, found)}{doubt(found)}", beside=told)


def tables(document: Document) -> tuple[Table, ...]:
    answer: FindAnswer = document.answer
    return (*finalists_table(answer), *changes_table(answer), *tried_table(answer))


def conclusion(document: Document) -> tuple[str, ...]:
    """The answer in one line, and what the verdicts do not say."""
    answer: FindAnswer = document.answer
    return (
        answer_line(answer),
        *_use_lines(answer.headroom),
        *_training_lines(answer),
        *_proof_lines(answer),
        *_retuning_lines(answer),
        *_constraint_lines(answer),
        *(_offer_line(offer) for offer in answer.offered),
    )


def verdicts(document: Document) -> tuple[str, ...]:
    """The first says what the answer's line says."""
    answer: FindAnswer = document.answer
    failed = [sentence for sentence in answer.failed if sentence not in answer.verdicts]
    return tuple(one_line(verdict, 400) for verdict in (*answer.verdicts[1:], *failed))


def sheet(document: Document) -> Sheet:
    return find_sheet(document.answer)


def chapters(document: Document) -> tuple[Chapter, ...]:
    answer: FindAnswer = document.answer
    step = "Before and after" if is_gain(answer) else "The step"
    return (
        Chapter(heading=step, chart=steps_chart(document), tables=changes_table(answer)),
        Chapter(heading="Finalists", chart=finalists_chart(document), tables=finalists_table(answer)),
        Chapter(heading="How the time was spent", tables=spent_table(answer)),
        Chapter(heading="What was tried", chart=attempts_chart(document), tables=attempts_table(answer)),
        Chapter(heading="Constraints", lines=answer.constraints, tables=offers_table(answer)),
    )


def _use_lines(headroom: Headroom) -> tuple[str, ...]:
    ceilings = ((headroom.flops_share, "arithmetic"), (headroom.bytes_share, "memory bandwidth"))
    used = [f"{share(part)} of its {name}" for part, name in ceilings if known(part)]
    if used:
        return (f"Used of the device: {', '.join(used)}",)
    return (f"Used of the device: n/a ({one_line(headroom.unknown_because, 200)})",) if headroom.unknown_because else ()


def _training_lines(answer: FindAnswer) -> tuple[str, ...]:
    time = answer.training_time
    if time is None:
        return ()
    length = f"{time.epochs:g} epoch{'' if time.epochs == 1 else 's'} of {count(time.examples)} examples"
    more = "" if time.epochs_needed is None else f", {time.epochs_needed:.3g} of them predicted for the same loss"
    before = f"{duration(time.baseline_seconds)} → " if is_gain(answer) else ""
    takes = f"{before}{duration_interval(time.seconds, time.ci95)}"
    return (f"Training for {length}: {takes} ({duration(time.epoch_seconds)} per epoch{more})",)


def _proof_lines(answer: FindAnswer) -> tuple[str, ...]:
    if not is_predicted(answer, answer.recommended):
        return ()
    measured = "The rates are measured; that the same loss comes so soon is predicted, not trained"
    return (f"{measured}: traindyno target would prove it",)


def _at_batch(answer: FindAnswer, finalist: Finalist) -> str:
    where = " to the same loss (predicted)" if is_predicted(answer, finalist) else ""
    return f"{speed_words(finalist.worth)}{where} at batch {batch(finalist.batch_size)}"


def _retuning_lines(answer: FindAnswer) -> tuple[str, ...]:
    """What another batch asks for, in what is recommended or beside it."""
    other = other_batch(answer)
    ways = [("Take care", answer.recommended), *([] if other is None else [(other.label.capitalize(), other.finalist)])]
    return tuple(line for label, found in ways for line in _retuning(label, found))


def _retuning(label: str, finalist: Finalist) -> tuple[str, ...]:
    warnings = tuple(f"{label}: {one_line(warning, 300)}" for warning in finalist.warnings)
    if finalist.learning_rate is None:
        return warnings
    value = f"Learning rate at batch {batch(finalist.batch_size)}: {finalist.learning_rate:.4g}, by that rule"
    return (*warnings, value)


def _constraint_lines(answer: FindAnswer) -> tuple[str, ...]:
    kept = "; ".join(one_line(each, 120) for each in answer.constraints)
    return (f"Constraints: {kept}",) if kept else ()


def _offer_line(offer: Remedy) -> str:
    how = f": {one_line(offer.command, 400)}" if offer.command else ""
    again = f"predicted: {speed_words(offer.predicted_speedup)} as fast as what is recommended"
    return f"Offered, not used: {one_line(offer.action, 200)} ({again}){how}"


FIND = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=find_chart,
    snippets=found_snippets,
    chapters=chapters,
    answer_first=True,
    method=find_method,
)
