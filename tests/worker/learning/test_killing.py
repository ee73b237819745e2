"""Runs that are killed without warning, again and again, at the worst moments."""

import signal

import torch

from traindyno.core.codec import encode
from worker.learning.children import run_until_killed, start
from worker.learning.small_learners import run_keeping
from worker.learning.test_checkpoints import exact_spec, told

DEATHS = (
    ("step", 1),
    ("half written", 1),
    ("before renaming", 1),
    ("between renamings", 2),
    ("step", 8),
    ("half written", 2),
    ("step", 16),
)


def test_a_run_that_is_killed_again_and_again_has_the_same_weights_bit_for_bit(tmp_path):
    spec = exact_spec()
    whole, weights, _ = run_keeping(spec, tmp_path / "whole")
    for moment, number in DEATHS:
        process = start(run_until_killed, encode(spec), tmp_path / "killed", moment, number)
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
    story, same, notes = run_keeping(spec, tmp_path / "killed")
    assert len(story.resumed_from) >= 3
    assert not any("damaged" in note for note in notes)
    assert told(story) == told(whole)
    assert all(torch.equal(same[name], value) for name, value in weights.items())
