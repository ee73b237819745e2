"""The settings that `find` recommends, as a file and as code to copy."""

import msgspec

from traindyno.core.answers import Document, Finalist, FindAnswer
from traindyno.core.records import Settings, WorkloadSpec
from traindyno.core.settings_file import format_settings_file
from traindyno.core.setups import SettingsFile, Setup
from traindyno.report.finalists import is_gain
from traindyno.report.find_code import find_code
from traindyno.report.view import Snippet


def settings_file_of(document: Document) -> SettingsFile:
    """What `find` writes: what it recommends, what for, and against what."""
    answer: FindAnswer = document.answer
    return SettingsFile(
        settings=answer.recommended.settings,
        data=answer.recommended.data,
        workload=_workload(document),
        baseline=setup_of(answer.baseline),
        speedup=answer.speedup,
        speedup_ci95=answer.speedup_ci95,
        study=document.study,
    )


def setup_of(finalist: Finalist) -> Setup:
    return Setup(data=finalist.data, settings=msgspec.convert(finalist.settings, Settings))


def found_snippets(document: Document) -> tuple[Snippet, ...]:
    """Texts to copy: the settings file, and the code that sets the same; none where nothing is to change."""
    if not is_gain(document.answer):
        return ()
    answer: FindAnswer = document.answer
    file = Snippet(title="Settings file", text=format_settings_file(settings_file_of(document)).rstrip())
    return (file, *find_code(setup_of(answer.recommended), setup_of(answer.baseline), _workload(document)))


def _workload(document: Document) -> WorkloadSpec:
    """As it was asked for; a document without its request still names the model and the data."""
    answer: FindAnswer = document.answer
    request = document.request or {}
    asked = request.get("workload") or {"model": answer.model, "mode": answer.mode, "data": answer.data}
    return msgspec.convert(asked, WorkloadSpec)
