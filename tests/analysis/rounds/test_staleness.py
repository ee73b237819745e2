"""Which decisions still hold after the model, the batch or the optimiser became another one."""

from traindyno.analysis.rounds.simplicity import is_simpler
from traindyno.analysis.rounds.staleness import Decision, elsewhere, holding, stale_reason
from traindyno.core.rounds import Configuration

START: Configuration = {"model": "mlp:64", "batch_size": 64, "optimizer": "sgd", "learning_rate": 0.1}


def decision(name: str, before: Configuration, tuned: tuple[str, ...], *, took: bool = True, **new: object) -> Decision:
    after = {**before, **new} if took else before
    return Decision(name=name, tuned=tuned, incumbent=before, configuration=after, took=took)  # type: ignore[arg-type]


RATE = decision("rate", START, ("learning_rate", "weight_decay"), learning_rate=0.2, weight_decay=1e-4)


def test_a_decision_holds_while_nothing_else_changed() -> None:
    kept = decision("depth", RATE.configuration, ("model", "learning_rate"), took=False)
    assert stale_reason([RATE, kept], 0) is None


def test_another_batch_makes_stale_what_was_tuned_under_the_old_one() -> None:
    batch = decision("batch", RATE.configuration, ("batch_size",), batch_size=256)
    reason = stale_reason([RATE, batch], 0)
    assert reason == "learning_rate and weight_decay tuned with batch_size 64, which is 256 now"
    assert stale_reason([RATE, batch], 1) is None


def test_what_was_tuned_again_with_the_new_model_is_no_longer_the_old_decision_s() -> None:
    depth = decision("depth", RATE.configuration, ("model", "learning_rate"), model="mlp:64x64", learning_rate=0.05)
    assert stale_reason([RATE, depth], 0) == "weight_decay tuned with model mlp:64, which is mlp:64x64 now"
    again = decision("again", depth.configuration, ("weight_decay",), took=False)
    assert stale_reason([RATE, depth, again], 0) is None


def test_another_optimiser_makes_its_parameters_stale_and_leaves_regularisation() -> None:
    adam = decision("adam", RATE.configuration, ("optimizer",), optimizer="adam")
    assert stale_reason([RATE, adam], 0) == "learning_rate tuned with optimizer sgd, which is adam now"


def test_what_was_not_adopted_is_never_stale() -> None:
    kept = decision("rate", START, ("learning_rate",), took=False)
    batch = decision("batch", START, ("batch_size",), batch_size=256)
    assert stale_reason([kept, batch], 0) is None


def test_the_configuration_that_holds_is_the_last_that_took_another_s_place() -> None:
    kept = decision("depth", START, ("model",), took=False)
    assert holding([RATE, kept]) == RATE.configuration
    assert holding([kept]) == START
    assert holding([]) == {}


def test_a_gain_over_an_older_incumbent_was_not_shown_on_top_of_what_came_between() -> None:
    beside = decision("depth", START, ("model",), model="mlp:64x64")
    told = elsewhere([RATE, beside], 1)
    assert told is not None
    assert "learning_rate 0.1 instead of 0.2" in told
    assert elsewhere([RATE, decision("depth", RATE.configuration, ("model",), model="mlp:64x64")], 1) is None


def test_the_simpler_one_does_without_a_regulariser_and_adds_nothing() -> None:
    regularised: Configuration = {**START, "weight_decay": 1e-3}
    plain: Configuration = {**START, "weight_decay": 0.0, "learning_rate": 0.3}
    assert is_simpler(plain, regularised)
    assert not is_simpler(regularised, plain)
    assert not is_simpler({**plain, "model": "mlp:64x64"}, regularised)
    assert not is_simpler({**plain, "label_smoothing": 0.1}, {**regularised, "label_smoothing": 0.0})
    assert not is_simpler(START, START)
