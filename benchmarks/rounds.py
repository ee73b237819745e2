"""How often are the decisions of tuning rounds wrong, and what can they show? Whole rounds, simulated.

Parts: `adoption`, how often something is adopted that is no better, beside picking the best of 20 and comparing it with
one run; `power`, how often a true gain is adopted; `boundary`, whether an optimum outside the search space is noticed;
`best_of_k`, whether the expected best of k draws is unbiased. Scores are made up; every verdict is the product's own.

    python benchmarks/rounds.py [--rounds 2000] [--parts adoption,power] [--out FOLDER]
"""

import argparse
import math
import time
from typing import Any

import results
from rounds_adoption import false_adoption, naive, power
from rounds_best_of_k import best_of_k_rows
from rounds_boundary import boundary_rates

PARTS = ("adoption", "power", "boundary", "best_of_k")
Rows = list[dict[str, Any]]


def main() -> None:
    options = parse()
    begun = time.monotonic()
    found: dict[str, Rows] = {}
    for part in options.parts.split(","):
        found[part] = run(part, options.rounds, options.seed)
        print_table(part, found[part])
    seconds = time.monotonic() - begun
    results.write(options.out, "rounds_cpu", {"rounds": options.rounds, "seconds": seconds, "parts": found})


def parse() -> argparse.Namespace:
    parser = results.arguments(__doc__ or "")
    parser.add_argument("--rounds", type=int, default=2000, help="simulated rounds of every row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", default=",".join(PARTS), help="which of them, in this order")
    return parser.parse_args()


def run(part: str, rounds: int, seed: int) -> Rows:
    if part == "adoption":
        return [*naive(rounds, seed), *false_adoption(rounds, seed)]
    if part == "power":
        return power(rounds, seed)
    if part == "boundary":
        return boundary_rows(rounds, seed)
    if part == "best_of_k":
        return best_of_k_rows(rounds, seed)
    raise SystemExit(f"there is no part {part!r}; there are {', '.join(PARTS)}")


def boundary_rows(rounds: int, seed: int) -> Rows:
    """Goals: an optimum outside is detected at least 90 % of the time, with at most 5 % false alarms when centred."""
    rows: Rows = []
    for shape in ("quadratic", "bell"):
        found = boundary_rates(math.ceil(rounds / 3), seed, shape)
        groups = {"all": found["all"], "enough points": found["enough_points"]}
        groups |= {f"{number} dimensions": rates for number, rates in found["by_dimensions"].items()}
        for name, rates in groups.items():
            known = {what: None if math.isnan(share) else share for what, share in rates.items()}
            rows.append({"surface": shape, "rounds_with": name, **known})
    return rows


def print_table(part: str, rows: Rows) -> None:
    """Columns as wide as their text."""
    shown = [{name: told(value) for name, value in row.items()} for row in rows]
    names = list(dict.fromkeys(name for row in shown for name in row))
    widths = {name: max(len(name), *(len(row.get(name, "")) for row in shown)) for name in names}
    print(f"\n{part}")
    for row in ({name: name for name in names}, *shown):
        print("  ".join(row.get(name, "").ljust(width) for name, width in widths.items()).rstrip(), flush=True)


def told(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, float) else "" if value is None else str(value)


if __name__ == "__main__":
    main()
