"""A search for the time to the same loss as people read it: what is predicted is called so everywhere."""

import csv
import io
from typing import Any

import msgspec

from report.find_documents import OWN, attempts, baseline, find_answer, find_document, free_batch, recommended
from report.pages import Page
from report.snapshots import assert_snapshot
from traindyno.analysis.find.learning import weighed
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.core.answers import Attempt, Document, Finalist, TrainingTime
from traindyno.report.document import typed_answer
from traindyno.report.renderers.console import render_console
from traindyno.report.renderers.csv_rows import render_csv
from traindyno.report.renderers.html_page import render_html
from traindyno.report.renderers.json_text import render_json
from traindyno.report.renderers.markdown import render_markdown
from traindyno.report.views import view_of

NOISE = NoiseEstimate(value=2048.0, ci95=(1400.0, 3100.0))


def judged(found: Finalist) -> Finalist:
    return weighed(found, OWN.batch_size, NOISE)


def larger() -> Finalist:
    warning = (
        "the batch changes from 256 to 512: multiply the learning rate by 1.8 (gain rule, noise scale 2,048, for sgd), "
        "and tune momentum and regularisation again"
    )
    found = free_batch(learning_rate_factor=1.8, learning_rate=0.18, warnings=(warning,))
    rates = {"examples_per_second": 8800.0, "speedup": 10.26, "speedup_ci95": (10.14, 10.37), "ci95": (8730.0, 8879.0)}
    return judged(msgspec.structs.replace(found, **rates))


def predicted(**changes: Any) -> Document:
    """A larger batch that should be sooner at the same loss."""
    own, free = judged(recommended()), larger()
    noise = Attempt(
        side="batch", change="the noise scale of the gradients", trials=3, seconds=84.0,
        outcome="2,048 (1,400 to 3,100), read in 3 runs of 1,200 steps",
    )  # fmt: skip
    usual: dict[str, Any] = {
        "objective": "time-to-accuracy",
        "noise_scale": NOISE.value,
        "noise_scale_ci95": NOISE.ci95,
        "baseline": judged(baseline()),
        "recommended": free,
        "at_own_batch": own,
        "with_free_batch": free,
        "speedup": free.speedup,
        "speedup_ci95": free.speedup_ci95,
        "near_equal": (),
        "finalists": (judged(baseline()), own, free),
        "attempts": (*attempts()[:-2], noise),
        "training_time": TrainingTime(
            epochs=90.0, examples=1281167, baseline_seconds=134_600.0, baseline_ci95=(133_100.0, 135_900.0),
            seconds=14_560.0, ci95=(14_020.0, 15_110.0), epoch_seconds=145.6, epochs_needed=100.0,
        ),
        "constraints": ("the batch may change, as the objective is the time to the same loss",),
        "offered": (),
        "verdicts": (
            "Training should reach the same loss 9.23 times as fast as the baseline (8.84 to 9.56), predicted: 858 → "
            "8,800 examples/s, of which a batch of 512 needs 1.11 times as many.",
            "The noise scale of the gradients is 2,048 (1,400 to 3,100); predictions rest on it.",
            "It was bound by data: decode, and is now bound by compute.",
        ),
    }  # fmt: skip
    hint = "traindyno target --value ACCURACY --batch-size 256,512 --noise-scale 2050 --lr 0.1@256"
    return find_document(answer=find_answer(**usual | changes), hint=hint)


def test_the_console_and_markdown_say_what_is_predicted() -> None:
    assert_snapshot("find_objective.txt", render_console(predicted(), width=100))
    assert_snapshot("find_objective.md", render_markdown(predicted()))


def test_the_page_opens_with_the_predicted_gain_and_draws_it() -> None:
    page = Page(render_html(predicted()))
    headline = view_of(predicted()).headline(predicted())
    assert headline.value == "9.23×"
    assert "as fast to the same loss, predicted" in headline.label
    assert dict(headline.beside)["noise scale"] == "2,048"
    assert "No run was trained to that loss" in page.text
    chart = view_of(predicted()).chart(predicted())
    assert chart is not None
    assert "Speed to the same loss, against the baseline; at another batch predicted" in str(chart)


def test_another_batch_that_is_not_recommended_is_told_with_its_prediction() -> None:
    own = judged(recommended())
    kept = predicted(recommended=own, speedup=own.speedup, speedup_ci95=own.speedup_ci95)
    headline = view_of(kept).headline(kept)
    assert headline.value == "7.58×"
    assert "predicted" not in headline.label, "at the own batch it is measured"
    assert dict(headline.beside)["with any batch"] == "9.23× to the same loss (predicted) at batch 512"


def test_where_nothing_is_recommended_more_examples_per_second_at_another_batch_are_no_answer() -> None:
    own = judged(baseline())
    none = predicted(
        recommended=own, at_own_batch=own, speedup=1.0, speedup_ci95=(1.0, 1.0),
        verdicts=("Nothing was shown to be faster than the baseline at your batch of 256: a gain of 1.00.",),
    )  # fmt: skip
    shown = render_console(none, width=100)
    assert "with a batch of 512 it is" not in shown
    assert not view_of(none).snippets(none)


def test_the_sheet_has_the_predictions_in_columns_of_their_own() -> None:
    rows = list(csv.DictReader(io.StringIO(render_csv(predicted()))))
    assert [float(row["learning_gain"]) for row in rows[:2]] == [1.0, larger().learning_gain]
    assert float(rows[1]["examples_needed"]) == larger().examples_needed
    assert rows[-1]["learning_gain"] == "", "an attempt has none"


def test_the_document_is_read_back_as_it_was() -> None:
    again = typed_answer(msgspec.json.decode(render_json(predicted())))
    assert again.answer == predicted().answer


def test_without_a_noise_scale_the_tables_are_those_of_throughput() -> None:
    unknown = find_document(answer=find_answer(objective="time-to-accuracy"))
    assert view_of(unknown).tables(unknown) == view_of(find_document()).tables(find_document())
    assert "same loss" not in render_console(unknown, width=100)
