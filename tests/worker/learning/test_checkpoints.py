"""A run that was stopped goes on as if it had not been."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from traindyno.core.errors import UsageError
from traindyno.core.learning import Recipe
from traindyno.core.records import Settings, TrialSpec
from traindyno.worker.learning import checks, loop
from traindyno.worker.learning.checkpoints import BEST, LAST, PREVIOUS, DamagedCheckpointsError
from worker.learning import small_learners
from worker.learning.children import Stopped, stopping_at
from worker.learning.small_learners import Bodied, learnt, run_keeping, spec_of

EXACT = Settings(batch_size=16, determinism="all")
RECIPE = Recipe(learning_rate=0.05, epochs=3.0, warm_up_epochs=0.5, clip_norm=1.0, evaluation_examples=48)


def exact_spec(**changes: Any) -> TrialSpec:
    return spec_of("with_state", RECIPE, msgspec.structs.replace(EXACT, **changes), workload={"optimizer": "adam"})


def told(story: Any) -> list[Any]:
    """All that was evaluated, but for the time."""
    return [msgspec.structs.replace(each, seconds=0.0) for each in story.evaluations]


@pytest.mark.parametrize("changes", [{}, {"precision": "fp16"}, {"accumulation_steps": 2}, {"num_workers": 1}])
def test_a_run_in_three_pieces_has_the_same_weights_bit_for_bit(changes, tmp_path):
    spec = exact_spec(**changes)
    whole, weights, _ = run_keeping(spec, tmp_path / "whole")
    for step in (7, 14):
        with pytest.raises(Stopped):
            run_keeping(spec, tmp_path / "pieces", stopping_at(step))
    story, same, _ = run_keeping(spec, tmp_path / "pieces")
    assert story.resumed_from == (6, 12)
    assert told(story) == told(whole)
    assert all(torch.equal(same[name], value) for name, value in weights.items())


def test_a_run_kept_between_two_evaluations_goes_on_bit_for_bit_too(monkeypatch, tmp_path):
    spec = exact_spec()
    whole, weights, _ = run_keeping(spec, tmp_path / "whole")
    monkeypatch.setattr(checks, "CHECK_SECONDS", 0.0)
    monkeypatch.setattr(loop, "KEEP_SECONDS", 0.0)
    with pytest.raises(Stopped):
        run_keeping(spec, tmp_path / "pieces", stopping_at(11))
    story, same, _ = run_keeping(spec, tmp_path / "pieces")
    assert story.resumed_from == (11,)
    assert [each.loss for each in story.evaluations] == [each.loss for each in whole.evaluations]
    assert all(torch.equal(same[name], value) for name, value in weights.items())


def test_a_finished_run_is_told_again_and_not_trained_again(tmp_path):
    spec = spec_of("plain", checkpoints=str(tmp_path))
    first, again = learnt(spec).learning, learnt(spec).learning
    assert first is not None
    assert again is not None
    assert again.evaluations == first.evaluations
    assert again.seconds == first.seconds
    assert again.resumed_from == (first.steps,)
    assert again.checkpoint == str(tmp_path / LAST)


def damaged(path: Path) -> None:
    """One bit of a weight changed."""
    content = bytearray(path.read_bytes())
    weight = torch.load(path, weights_only=True)["model"]["0.weight"]
    content[content.index(weight.numpy().tobytes())] ^= 1
    path.write_bytes(bytes(content))


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def foreign(path: Path) -> None:
    torch.save({"epoch": 3}, path)


@pytest.mark.parametrize("spoil", [damaged, torn, foreign])
def test_the_older_checkpoint_is_used_where_the_newer_is_spoilt(spoil, tmp_path):
    spec = exact_spec()
    _, weights, _ = run_keeping(spec, tmp_path / "whole")
    with pytest.raises(Stopped):
        run_keeping(spec, tmp_path / "pieces", stopping_at(10))
    spoil(tmp_path / "pieces" / LAST)
    story, same, notes = run_keeping(spec, tmp_path / "pieces")
    assert story.resumed_from == (6,)
    assert any("last.pt is damaged or no checkpoint" in note for note in notes)
    assert all(torch.equal(same[name], value) for name, value in weights.items())


@pytest.mark.parametrize("names", [(LAST, PREVIOUS), (LAST,)])
def test_a_run_does_not_begin_anew_by_itself_where_no_checkpoint_is_whole(names, tmp_path):
    run_keeping(exact_spec(), tmp_path)
    (tmp_path / PREVIOUS).unlink()
    for name in names:
        (tmp_path / name).write_bytes(b"PK")
    best = (tmp_path / BEST).read_bytes()
    with pytest.raises(DamagedCheckpointsError, match=r"no checkpoint in .* is whole") as refusal:
        run_keeping(exact_spec(), tmp_path)
    assert "to begin at step 0 again, remove last.pt and previous.pt" in (refusal.value.hint or "")
    assert (tmp_path / BEST).read_bytes() == best
    for name in names:
        (tmp_path / name).unlink()
    story, _, _ = run_keeping(exact_spec(), tmp_path)
    assert story.resumed_from == ()


def test_a_spoilt_checkpoint_never_takes_the_place_of_the_whole_one_before(tmp_path):
    spec = exact_spec()
    with pytest.raises(Stopped):
        run_keeping(spec, tmp_path, stopping_at(10))
    torn(tmp_path / LAST)
    with pytest.raises(Stopped):
        run_keeping(spec, tmp_path, stopping_at(9))
    assert torch.load(tmp_path / LAST, weights_only=True)["step"] == 9
    assert torch.load(tmp_path / PREVIOUS, weights_only=True)["step"] == 6


def test_the_best_weights_stay_where_a_run_that_begins_again_has_worse_ones(tmp_path):
    run_keeping(exact_spec(), tmp_path)
    before = torch.load(tmp_path / BEST, weights_only=True)
    torch.save({**before, "score": 2.0, "step": 1000}, tmp_path / BEST)
    for name in (LAST, PREVIOUS):
        (tmp_path / name).unlink()
    run_keeping(exact_spec(), tmp_path)
    assert torch.load(tmp_path / BEST, weights_only=True)["step"] == 1000


def test_a_run_that_is_refused_leaves_no_folder(tmp_path):
    with pytest.raises(UsageError):
        learnt(spec_of("plain", Recipe(learning_rate=0.1, weights="/nowhere"), checkpoints=str(tmp_path / "a" / "b")))
    assert not (tmp_path / "a").exists()


def test_the_state_of_a_run_is_its_own_wherever_its_code_lies(tmp_path):
    spec = spec_of("plain", checkpoints=str(tmp_path))
    first = learnt(spec).learning
    copy = tmp_path / "moved.py"
    copy.write_bytes(Path(small_learners.__file__).read_bytes())
    workload = msgspec.structs.replace(spec.workload, model=f"{copy}:plain")
    moved = learnt(msgspec.structs.replace(spec, workload=workload, checkpoints_of=spec.key)).learning
    assert first is not None
    assert moved is not None
    assert moved.resumed_from == (first.steps,)


def test_a_folder_of_another_run_is_refused(tmp_path):
    learnt(spec_of("plain", checkpoints=str(tmp_path)))
    with pytest.raises(UsageError, match="holds checkpoints of another run") as refusal:
        learnt(spec_of("plain", seed=1, checkpoints=str(tmp_path)))
    assert str(tmp_path) in refusal.value.message
    assert "a folder of its own" in (refusal.value.hint or "")


def test_a_folder_that_cannot_be_made_is_told_before_the_training(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="for checkpoints cannot be made"):
        learnt(spec_of("plain", checkpoints=str(tmp_path / "file" / "folder")))


def test_checkpoints_are_weights_to_begin_with(tmp_path):
    learnt(spec_of("with_head", checkpoints=str(tmp_path)))
    for name in (LAST, BEST):
        recipe = Recipe(learning_rate=1e-9, steps=1, weights=str(tmp_path / name))
        with torch.no_grad():
            assert Bodied().load_state_dict(torch.load(tmp_path / name, weights_only=True)["model"])
        learning = learnt(spec_of("with_head", recipe)).learning
        assert learning is not None
        assert (learning.evaluations[0].accuracy or 0) > 0.5


def test_the_best_weights_are_those_of_the_best_evaluation(tmp_path):
    story, _, _ = run_keeping(exact_spec(), tmp_path)
    state = torch.load(tmp_path / BEST, weights_only=True)
    best = max(story.evaluations, key=lambda each: each.accuracy or 0)
    assert state["step"] == best.step


def test_a_checkpoint_is_written_only_every_so_often_but_always_at_the_end(tmp_path):
    learning = learnt(spec_of("plain", checkpoints=str(tmp_path))).learning
    assert learning is not None
    assert not (tmp_path / PREVIOUS).exists()
    assert torch.load(tmp_path / LAST, weights_only=True)["step"] == learning.steps
