"""What a round's file may be warned of: nothing that forbids it, but what spoils its answer or wastes its runs."""

import math
from collections.abc import Iterator

from traindyno.core.proof_levels import MOST_CANDIDATES, fewest_seeds, level_of_look, smallest_probability
from traindyno.core.round_checks import possible_values
from traindyno.core.round_fields import OPTIMIZERS, is_tied, rule_of, usual_range
from traindyno.core.round_space import arms_of, branches_of, dimensions_of, is_within, label_of, same
from traindyno.core.rounds import Parameter, Round, Value
from traindyno.core.units import count_of

MOST_NUISANCES = 8
TRIALS_PER_NUISANCE = 3
MOST_DECADES = 5.0
WIDE_FOR_LINEAR = 2.0


def lint_round(round_: Round) -> tuple[str, ...]:
    """Sentences, the gravest first; none where nothing is to be said."""
    found = (
        *_tied(round_),
        *_roles(round_),
        *_seeds(round_),
        *_thin(round_),
        *_unequal(round_),
        *_ranges(round_),
        *_by_optimizer(round_),
        *_incumbent(round_),
        *_beginning(round_),
        *_moment(round_),
    )
    return tuple(dict.fromkeys(found))


def _tied(round_: Round) -> Iterator[str]:
    target = round_.target
    for each in round_.parameters if target is not None else ():
        assert target is not None
        if each.role == "fixed" and is_tied(each.field, each.value, target.field):
            value = "" if each.value is None else f" at {label_of(each.value)}"
            yield (
                f"{each.field} is fixed{value} but tied to {target.field}: each value of {target.field} may need its "
                f"own, and the one that {each.field} suits wins. Make it a nuisance: [nuisance.{each.name}]"
            )


def _roles(round_: Round) -> Iterator[str]:
    for each in round_.parameters:
        rule = rule_of(each.field)
        # Whether a regulariser is used at all is a question of its own; only how strong it is, is not.
        asks_whether = each.role == "target" and 0 in each.values
        usual = each.role in ("fixed", *rule.usual) or rule.group == "other"
        if each.said and not (usual or asks_whether):
            yield f"{each.field} is a {each.role}, but usually {' or '.join(rule.usual)}: {rule.why}"


def _seeds(round_: Round) -> Iterator[str]:
    candidates, seeds = min(len(arms_of(round_)), MOST_CANDIDATES), round_.seeds.adopt
    enough = fewest_seeds(level_of_look(0), candidates)
    if seeds < enough:
        over = "" if candidates == 1 else f" among {candidates} candidates"
        yield (
            f"{seeds} fresh seeds of each can never show a gain{over}: even the clearest has "
            f"p = {min(candidates * smallest_probability(seeds), 1.0):.2g}, and {level_of_look(0):g} is the most. "
            f"Write adopt = {enough} or more under [seeds]"
        )
    if round_.seeds.gate < 2:
        yield "one run of the incumbent does not show how far seeds differ: write gate = 3 under [seeds]"


def _thin(round_: Round) -> Iterator[str]:
    """Points that are too few for the space they lie in, by the worst arm and branch."""
    spaces = [(arm, branch) for arm in arms_of(round_) for branch in branches_of(round_, arm)]
    most = max(len(dimensions_of(round_, arm, branch)) for arm, branch in spaces)
    if most > MOST_NUISANCES:
        yield f"{most} nuisances are searched at once; fix those that matter least, each with its caveat"
    branches = max(len(branches_of(round_, arm)) for arm in arms_of(round_))
    trials = round_.budget.trials
    if trials is not None and most and trials < TRIALS_PER_NUISANCE * most * branches:
        shared = f", shared by {branches} branches," if branches > 1 else ""
        yield (
            f"{count_of(trials, 'trial')} of each arm{shared} are few for {count_of(most, 'nuisance')}: "
            f"give {TRIALS_PER_NUISANCE * most * branches} or more, or fix some"
        )


def _unequal(round_: Round) -> Iterator[str]:
    counts = {
        arm: max(len(dimensions_of(round_, arm, branch)) for branch in branches_of(round_, arm))
        for arm in arms_of(round_)
    }
    if len(set(counts.values())) > 1:
        told = ", ".join(f"{arm} {count}" for arm, count in counts.items())
        yield f"arms differ in how many nuisances they have ({told}): equal trials search the larger ones more thinly"


def _ranges(round_: Round) -> Iterator[str]:
    for each in round_.searched:
        if each.range is None or each.range.low <= 0:
            continue
        decades = math.log10(each.range.high / each.range.low)
        if each.range.scale == "log" and decades > MOST_DECADES:
            yield f"{each.name} spans {decades:.3g} decades, and most of its trials will be wasted: narrow it to 3 or 4"
        usual = usual_range(each.field, "sgd")
        is_log = usual is not None and usual.scale == "log"
        if each.range.scale == "linear" and decades >= WIDE_FOR_LINEAR - (1 if is_log else 0):
            yield (
                f"{each.name} spans {decades:.2g} decades on a linear scale, which hardly sees the small ones: "
                'write scale = "log"'
            )


def _by_optimizer(round_: Round) -> Iterator[str]:
    """One range for optimisers whose usual ranges differ, or for one that has no such parameter."""
    if round_.job.function is not None:
        return
    optimizers = [str(value) for value in dict.fromkeys(possible_values(round_, "optimizer")) if value in OPTIMIZERS]
    for each in round_.searched if len(optimizers) > 1 else ():
        ranges = [usual_range(each.field, optimizer) for optimizer in optimizers]
        if each.said and each.under is None and len(set(ranges)) > 1:
            yield (
                f"{each.name} has one range for {' and '.join(optimizers)}, whose usual ones differ: give each its own "
                f'name, with sets = "{each.field}" and under = {{ optimizer = "{optimizers[0]}" }}'
            )


def _incumbent(round_: Round) -> Iterator[str]:
    for field, value in round_.incumbent.items():
        own = [each for each in round_.parameters if each.field == field]
        if own and not any(_holds(each, value) for each in own):
            yield f"the incumbent's {field} of {label_of(value)} lies outside the round: {_instead(own[0], field)}"


def _instead(parameter: Parameter, field: str) -> str:
    if parameter.value is not None:
        return f"{field} is fixed at {label_of(parameter.value)}, so a gain may come from that alone"
    if parameter.role == "target":
        return f"no arm has it, so what comes from tuning and what from {field} cannot be told apart"
    return "widen what is searched, or what there is to beat cannot be found again"


def _holds(parameter: Parameter, value: Value) -> bool:
    if parameter.role == "fixed":
        return same(parameter.value, value)
    is_log = parameter.range is not None and parameter.range.scale == "log"
    is_off = is_log and value == 0 and rule_of(parameter.field).group == "regularisation"
    return is_off or is_within(parameter, value)


def _beginning(round_: Round) -> Iterator[str]:
    """An initial configuration is found with as little as there can be."""
    if round_.goal.kind != "initial" or round_.job.function is not None:
        return
    if any(value != "constant" for value in possible_values(round_, "schedule")):
        yield 'to begin with, a constant rate is simplest: write schedule = "constant" under [job]'
    for each in round_.parameters:
        if rule_of(each.field).group == "regularisation" and (each.role != "fixed" or each.value):
            yield f"to begin with, leave {each.field} away: what it gains is a question for later"


def _moment(round_: Round) -> Iterator[str]:
    if round_.metric.at == "best":
        yield (
            f"the best {round_.metric.name} along a run is partly luck, and more so in longer runs: "
            'at = "end" compares what is kept'
        )
