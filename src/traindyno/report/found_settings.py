"""The settings that `find` recommends, as a file and as code to copy."""

import msgspec

from traindyno.analysis.cautions import others_cpu_share
from traindyno.analysis.find.placed import is_gain
from traindyno.core.answers import Document, Finalist, FindAnswer
from traindyno.core.errors import UsageError
from traindyno.core.records import Conditions, Settings, WorkloadSpec
from traindyno.core.settings_file import format_settings_file
from traindyno.core.setups import SettingsFile, Setup
from traindyno.report.finalists import faster_elsewhere
from traindyno.report.find_code import find_code
from traindyno.report.view import Snippet
from traindyno.report.wording import one_line


def settings_file_of(document: Document, way: Finalist | None = None) -> SettingsFile:
    """What `find` writes: what it recommends, or another `way` to train, what for, and against what."""
    answer: FindAnswer = document.answer
    found = answer.recommended if way is None else way
    return SettingsFile(
        settings=found.settings,
        data=found.data,
        workload=_workload(document),
        baseline=setup_of(answer.baseline),
        speedup=found.speedup,
        speedup_ci95=found.speedup_ci95,
        confirmed=found.confirmed,
        simulated=answer.simulated,
        study=document.study,
        objective=None if answer.objective == "throughput" else answer.objective,
        learning_gain=found.learning_gain,
        others_cpu_share=others_cpu_share(_conditions(document)),
    )


def _conditions(document: Document) -> list[Conditions]:
    return [msgspec.convert(trial.get("conditions") or {}, Conditions) for trial in document.trials]


def setup_of(finalist: Finalist) -> Setup:
    return Setup(data=finalist.data, settings=msgspec.convert(finalist.settings, Settings))


def found_snippets(document: Document) -> tuple[Snippet, ...]:
    """Texts to copy: the settings file, and the code that sets the same; none where nothing is faster.

    Where only another batch is faster, they are for that, and their titles say so.
    """
    answer: FindAnswer = document.answer
    way = answer.recommended if is_gain(answer) else faster_elsewhere(answer)
    if way is None:
        return ()
    texts = (
        Snippet(title="Settings file", text=_file_text(document, way)),
        *find_code(setup_of(way), setup_of(answer.baseline), _workload(document)),
    )
    mark = "" if is_gain(answer) else f", with another batch ({way.batch_size} instead of {answer.batch_size})"
    return tuple(Snippet(title=f"{each.title}{mark}", text=each.text) for each in texts)


def _file_text(document: Document, way: Finalist) -> str:
    """The file, or why there is none: names that are no text must not cost the rest of a report."""
    try:
        return format_settings_file(settings_file_of(document, way)).rstrip()
    except UsageError as error:
        return f"# There is no settings file: {one_line(error.message, 400)}.\n# hint: {error.hint}"


def _workload(document: Document) -> WorkloadSpec:
    """As it was asked for, with the image size that it had; without a request still with the model and the data."""
    answer: FindAnswer = document.answer
    request = document.request or {}
    asked = request.get("workload") or {"model": answer.model, "mode": answer.mode, "data": answer.data}
    return msgspec.convert({**asked, "image_size": asked.get("image_size") or answer.image_size}, WorkloadSpec)
