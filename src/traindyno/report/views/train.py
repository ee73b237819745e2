"""One run that learnt: its accuracy, how it came there, and what that took."""

from traindyno.core.answers import Document, TrainAnswer
from traindyno.core.learning import Evaluation
from traindyno.core.units import count_of
from traindyno.report.charts.learning import train_chart
from traindyno.report.conditions import setting_words
from traindyno.report.view import Column, Headline, Number, Row, Sheet, Table, View
from traindyno.report.wording import NOT_AVAILABLE, count, duration, known, one_line, rate

MOST_ROWS = 12
COLUMNS = (
    Column(heading="epoch"),
    Column(heading="step"),
    Column(heading="accuracy"),
    Column(heading="loss"),
    Column(heading="training loss", narrow="training\nloss"),
    Column(heading="learning rate", narrow="learning\nrate"),
    Column(heading="training time", narrow="training\ntime"),
)
SHEET_COLUMNS = (
    "model", "data", "batch_size", "step", "examples", "seconds", "loss", "accuracy", "training_loss", "learning_rate",
)  # fmt: skip
METHOD = (
    "One process, or one for each device under torchrun, trained by the recipe. Batches run through shuffled epochs, "
    "one after the other. Every evaluation is made on all evaluation examples, in the model's own evaluation mode and "
    "without label smoothing; the clock of training stands still meanwhile. The interval of the accuracy is Wilson's, "
    "from the number of evaluation examples alone: another seed may differ by more, which `traindyno accuracy` shows. "
    "A run that was resumed went on from its checkpoint with the same batches."
)


def title(document: Document) -> str:
    answer: TrainAnswer = document.answer
    words = setting_words(document, f"batch {answer.batch_size}", f"lr {answer.learning_rate:g}")
    return f"Training {one_line(answer.model)} on {one_line(answer.data)} ({words})"


def headline(document: Document) -> Headline:
    answer: TrainAnswer = document.answer
    by_loss = answer.accuracy is None
    beside = (
        *(() if by_loss else (("loss", figure(answer.loss)),)),
        ("training", duration(answer.training_seconds)),
        ("epochs", f"{answer.epochs:.4g}"),
        ("examples per second", rate(answer.examples_per_second)),
    )
    value = figure(answer.loss) if by_loss else percent(answer.accuracy)
    return Headline(value=value, label="loss at the end" if by_loss else "accuracy at the end", beside=beside)


def tables(document: Document) -> tuple[Table, ...]:
    """The evaluations, thinned where there are many: the first, the best and the last always stay."""
    answer: TrainAnswer = document.answer
    chosen = thinned(answer)
    left_out = len(answer.evaluations) - len(chosen)
    legend = () if not left_out else (f"{left_out} evaluations between these are in the exported files",)
    rows = tuple(_row(answer, each) for each in chosen)
    return (Table(columns=COLUMNS, rows=rows, title="On the evaluation examples", legend=legend),)


def thinned(answer: TrainAnswer) -> tuple[Evaluation, ...]:
    """So many that they fit on a screen, evenly spread."""
    evaluations = answer.evaluations
    if len(evaluations) <= MOST_ROWS:
        return evaluations
    spread = {round(place * (len(evaluations) - 1) / (MOST_ROWS - 1)) for place in range(MOST_ROWS)}
    best = [at for at, each in enumerate(evaluations) if _is_best(answer, each)][:1]
    return tuple(evaluations[at] for at in sorted({*spread, *best}))


def conclusion(document: Document) -> tuple[str, ...]:
    answer: TrainAnswer = document.answer
    took = f"Training: {duration(answer.training_seconds)}, {rate(answer.examples_per_second)} examples/s"
    beside = f", and {duration(answer.evaluation_seconds)} of evaluation beside it"
    shared = f", in {answer.processes} processes" if answer.processes > 1 else ""
    length = f"{count_of(answer.epochs, 'epoch')}, {count_of(answer.steps, 'step')} of batch {answer.batch_size}"
    again = ", ".join(count(step) for step in answer.resumed_from)
    return (
        *_result(answer),
        f"{took}{beside} ({length}{shared})",
        *([f"Resumed: from checkpoints at step {again}"] if again else []),
        *([f"Checkpoint: {one_line(answer.checkpoint, 300)}"] if answer.checkpoint else []),
        *([f"TensorBoard: tensorboard --logdir {one_line(answer.tensorboard, 300)}"] if answer.tensorboard else []),
    )


def verdicts(document: Document) -> tuple[str, ...]:
    answer: TrainAnswer = document.answer
    return tuple(one_line(verdict, 500) for verdict in answer.verdicts)


def sheet(document: Document) -> Sheet:
    """One row for each evaluation."""
    answer: TrainAnswer = document.answer
    rows: tuple[tuple[Number, ...], ...] = tuple(
        (
            answer.model, answer.data, answer.batch_size, each.step, each.examples, each.seconds, each.loss,
            each.accuracy, each.training_loss, each.learning_rate,
        )
        for each in answer.evaluations
    )  # fmt: skip
    return Sheet(columns=SHEET_COLUMNS, rows=rows)


def percent(value: float | None) -> str:
    """An accuracy, with the digit that a few hundred examples can tell."""
    return f"{100 * value:.1f} %" if value is not None and known(value) else NOT_AVAILABLE


def figure(value: float | None) -> str:
    return f"{value:.4g}" if value is not None and known(value) else NOT_AVAILABLE


def _result(answer: TrainAnswer) -> tuple[str, ...]:
    if answer.accuracy is None:
        return (f"Loss: {figure(answer.loss)} on {count(answer.evaluation_examples)} examples",)
    interval = answer.accuracy_ci95
    ends = "" if interval is None else f" ({100 * interval[0]:.1f} to {100 * interval[1]:.1f} %)"
    on = f" on {count(answer.evaluation_examples)} examples"
    best = f"; best on the way {percent(answer.best_accuracy)}" if answer.best_accuracy != answer.accuracy else ""
    return (f"Accuracy: {percent(answer.accuracy)}{ends}{on}, loss {figure(answer.loss)}{best}",)


def _row(answer: TrainAnswer, each: Evaluation) -> Row:
    cells = (
        f"{each.examples / answer.training_examples:.3g}" if answer.training_examples else NOT_AVAILABLE,
        count(each.step),
        percent(each.accuracy),
        figure(each.loss),
        figure(each.training_loss),
        figure(each.learning_rate),
        duration(each.seconds),
    )
    return Row(cells=cells, tone="good" if _is_best(answer, each) else "plain")


def _is_best(answer: TrainAnswer, each: Evaluation) -> bool:
    return each.accuracy is not None and each.accuracy == answer.best_accuracy


TRAIN = View(
    title=title,
    headline=headline,
    tables=tables,
    conclusion=conclusion,
    verdicts=verdicts,
    sheet=sheet,
    chart=train_chart,
    method=METHOD,
)
