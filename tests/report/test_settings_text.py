import tomllib

from report.documents import (
    HOSTILE,
    max_batch_answer,
    max_batch_document,
    several_models_document,
    throughput_document,
)
from traindyno.report.conditions import RunSettings
from traindyno.report.settings_text import loader_line, toml
from traindyno.report.view import Adoption
from traindyno.report.views import view_of


def test_the_chosen_settings_are_a_table_of_toml() -> None:
    adoption = view_of(throughput_document()).adoptions(throughput_document())[0]
    settings = {"batch_size": 256, "precision": "fp32", "device": "cuda:0"}
    assert tomllib.loads(toml(adoption)) == {"settings": settings}
    assert loader_line(adoption) == "loader = DataLoader(dataset, batch_size=256, shuffle=True, drop_last=True)"


def test_hostile_names_cannot_leave_their_line() -> None:
    run = RunSettings(device='cpu"\nx = 1 \\', precision=HOSTILE)
    adoption = Adoption(model="a\nb = 2", batch_size=8, training=False, run=run)
    assert set(tomllib.loads(toml(adoption))["settings"]) == {"batch_size", "precision", "device"}
    assert "shuffle=False" in loader_line(adoption)


def test_an_effective_batch_is_adopted_as_micro_batches() -> None:
    answer = max_batch_answer(micro_batch=1024, accumulation_steps=8, effective_batch=8192)
    adoption = view_of(max_batch_document()).adoptions(max_batch_document(answer=answer))[0]
    assert adoption.batch_size == 1024
    assert "every 8 batches: 8192 examples a step" in toml(adoption)


def test_a_model_without_a_safe_batch_has_nothing_to_adopt() -> None:
    document = several_models_document()
    assert [adoption.batch_size for adoption in view_of(document).adoptions(document)] == [1616, 1784, 1080]
