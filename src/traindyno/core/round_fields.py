"""What rules of thumb say of a field: its kind, its usual role and range, and what fixing it leaves open."""

from traindyno.core.round_rules import (
    ALIASES,
    ANY,
    LENGTHS,
    OTHER,
    PLAINEST,
    RULES,
    STRUCTURE,
    WORDS_IN_NAMES,
    FieldRule,
)
from traindyno.core.rounds import Range, Value

ARGUMENT = "model."
"""How fields begin that are arguments of the user's function which makes the model."""
OPTIMIZERS = ("sgd", "adam", "adamw")
USUAL_RATES = {"sgd": 0.05, "adam": 0.002, "adamw": 0.002}
"""The rate of an incumbent that nobody gave one."""


def rule_of(field: str) -> FieldRule:
    """The rule of a field; an argument of the user's own goes by what its name says."""
    name = ALIASES.get(own_name(field), own_name(field))
    if name in RULES:
        return RULES[name]
    if name in LENGTHS:
        return RULES["steps"]
    found = next((rule for word, rule in WORDS_IN_NAMES.items() if word in name), None)
    return found or (STRUCTURE if field.startswith(ARGUMENT) else OTHER)


def has_rule(field: str) -> bool:
    """Whether anything is known of it; of an argument of the user's own, mostly nothing is."""
    return rule_of(field) is not OTHER


def is_argument(field: str) -> bool:
    """Whether it is an argument of the user's function that makes the model."""
    return field.startswith(ARGUMENT)


def own_name(field: str) -> str:
    """`dropout` of `model.dropout`."""
    return field.removeprefix(ARGUMENT)


def usual_range(field: str, optimizer: str) -> Range | None:
    """The range to search first; null where no rule gives one."""
    ranges = rule_of(field).ranges
    return ranges.get(optimizer, ranges.get(ANY))


def automatic_caveat(field: str, value: Value) -> str:
    """What is left open by fixing a field at a value."""
    rule, told = rule_of(field), str(value).lower() if isinstance(value, bool) else str(value)
    if value == 0 and (rule.group == "regularisation" or 0 in PLAINEST.get(own_name(field), ())):
        return f"the answer holds without {_spoken(field)}"
    return rule.caveat.format(name=field, value=f"{value:g}" if isinstance(value, float) else told)


def is_tied(fixed: str, value: Value | None, target: str) -> bool:
    """Whether fixing one field at a value spoils a question about another. What is left away spoils nothing."""
    rule = rule_of(fixed)
    is_off = rule.group == "regularisation" and value == 0
    return fixed != target and not is_off and rule_of(target).group in rule.tied


def simpler_value(field: str, first: Value, second: Value) -> Value | None:
    """The simpler of two values, where that can be told: nothing added is simpler than something."""
    plain: tuple[Value, ...] = PLAINEST.get(own_name(field), ())
    if rule_of(field).group == "regularisation":
        plain = (0, False)
    is_plain = [any(value == each for each in plain) for value in (first, second)]
    if is_plain[0] == is_plain[1]:
        return None
    return first if is_plain[0] else second


def _spoken(field: str) -> str:
    return "a warm-up" if field == "warm_up_epochs" else own_name(field).replace("_", " ")
