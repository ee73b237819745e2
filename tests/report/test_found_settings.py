"""What `find` gives to copy says all that the trials did, also what nobody asked for."""

import msgspec

from report.find_documents import find_answer, find_document
from traindyno.core.records import WorkloadSpec
from traindyno.core.settings_file import format_settings_file, parse_settings_file
from traindyno.report.found_settings import found_snippets, settings_file_of


def test_the_settings_file_says_that_other_programs_ran_beside_its_trials() -> None:
    quiet, busy, meant = (
        {"other_cpu_share": 0.02},
        {"other_cpu_share": 0.75},
        {"other_cpu_share": 0.9, "runs_beside": 1},
    )
    trials = tuple({"conditions": conditions} for conditions in (quiet, busy, meant))
    disturbed = format_settings_file(settings_file_of(find_document(trials=trials)))
    assert "# A BUSY MACHINE: other programs took up to 75 % of its CPUs meanwhile." in disturbed.splitlines()
    assert parse_settings_file(disturbed, "busy.toml").others_cpu_share == 0.75
    for alone in (({"conditions": quiet},), ({"conditions": meant},), ({},), ()):
        assert "others_cpu_share" not in format_settings_file(settings_file_of(find_document(trials=alone)))


def test_the_settings_file_and_the_code_have_the_image_size_of_the_trials() -> None:
    unasked = find_document()
    assert unasked.request is not None
    workload = {**unasked.request["workload"], "image_size": None}
    document = find_document(request={**unasked.request, "workload": workload}, answer=find_answer(image_size=112))
    file = settings_file_of(document)
    assert file.workload is not None
    assert file.workload.image_size == 112
    by_title = {snippet.title: snippet.text for snippet in found_snippets(document)}
    for title in ("PyTorch", "traindyno.apply", "Lightning", "accelerate"):
        assert "image_size=112" in by_title[title]
    assert settings_file_of(msgspec.structs.replace(document, answer=find_answer())).workload == msgspec.convert(
        workload, WorkloadSpec
    )
