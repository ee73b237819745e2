"""What is to be done where a check does not hold, as the round's own command or file can follow it."""

import msgspec

from analysis.rounds.conclude_cases import RATE, a_round
from traindyno.analysis.rounds.next_steps import set_ends, set_trials, writes_file
from traindyno.core.rounds import Goal

UNSAID = msgspec.structs.replace(RATE, said=False)
FIRST = a_round(UNSAID, goal=Goal(kind="initial"), incumbent={}, trials=8)


def test_a_first_round_has_no_file_to_edit() -> None:
    assert set_trials(FIRST, 16) == "Try more: the same command with --rates 16; old runs are kept."
    step = set_ends(FIRST, UNSAID, None, 3.0, "trials = 16")
    assert "the round's file" not in step
    assert writes_file(step)
    assert step.endswith(
        "write a file: `traindyno round new FILE --goal initial --campaign digits --job model=mlp:64 "
        "--job data=digits: --job epochs=10 --job optimizer=sgd --nuisance learning_rate=0.001..3`."
    )


def test_a_file_for_something_to_begin_with_is_edited_as_any_other() -> None:
    round_ = a_round(RATE, goal=Goal(kind="initial"), incumbent={}, trials=8)
    assert set_trials(round_, 16).startswith("Set trials = 16 under [budget] in the round's file")
    step = set_ends(round_, RATE, None, 3.0)
    assert step.startswith("Set high = 3 under [nuisance.learning_rate] in the round's file")
    assert not writes_file(step)
