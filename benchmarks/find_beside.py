"""Part `peer` of find.py: loadtune on the same job; then the script, its settings in the script, and ours by turns."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import find_peer
from find_case import COMMON_WORKERS, Case, Row, ours
from traindyno.analysis.find.rates import faster_by
from traindyno.analysis.sustained import Rate, sustained
from traindyno.core.setups import Setup
from traindyno.machine.versions import installed_version

PEER, PEER_ROUNDS = "loadtune", 2


def peer(case: Case, row: Row, keep: Callable[[], None]) -> None:
    """Part `peer`: its turn, then the script as it was, the script with the peer's settings, and ours."""
    version = installed_version(PEER)
    if version is None:
        raise SystemExit(f"{PEER} is not installed: pip install {PEER}==0.3.0 --target FOLDER, and PYTHONPATH=FOLDER")
    found = case.setup(ours(row))
    if "knobs" not in row.get("peer", {}):
        row["peer"] = {"version": version, **tuned_by_peer(case)}
        keep()
    told = row["peer"]
    for gains in by_turns(case, found, told["knobs"]):
        told |= gains
        keep()
    ending = "" if told["ended"] else ", after which it was stopped"
    print(
        f"peer: {PEER} {version} makes the script {told[PEER]['speedup']:.2f} times as fast in "
        f"{told['seconds']:.0f} s{ending}; we {told['ours']['speedup']:.2f} times in {row['find']['seconds']:.0f} s",
        flush=True,
    )


def tuned_by_peer(case: Case) -> Row:
    """All that it says is passed on but the last line, which is the answer."""
    options = case.options
    words = [str(word) for word in (COMMON_WORKERS, options.peer_steps, PEER_ROUNDS, options.peer_seconds)]
    last = ""
    with subprocess.Popen([sys.executable, find_peer.__file__, *words], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(last, end="", flush=True)
            last = line
    if process.returncode:
        raise SystemExit(f"{PEER} failed with {process.returncode}")
    told: Row = json.loads(last)
    return told


def by_turns(case: Case, found: Setup, knobs: Mapping[str, Any]) -> Iterator[Row]:
    """Each in a fresh process, told after every round; gains are over the script as it was."""
    script, own = f"{find_peer.__file__}:workload", case.setup({"num_workers": COMMON_WORKERS})
    ways: dict[str, tuple[Setup, str | None]] = {
        "script": (own, script),
        PEER: (case.setup(settings_of(knobs, case.options.device)), script),
        "ours": (found, None),
    }
    rates: dict[str, dict[int, Rate]] = {name: {} for name in ways}
    for number in range(case.options.rounds):
        for name in list(ways)[:: 1 if number % 2 == 0 else -1]:
            record = case.fed(*ways[name], repeat=number)
            assert record.measurement is not None, record.failure
            rates[name][number] = sustained(record.measurement)
        yield {name: gain_of(rates[name], rates["script"]) for name in ways}


def gain_of(own: Mapping[int, Rate], base: Mapping[int, Rate]) -> Row:
    gain = faster_by(own, base)
    assert gain is not None, "rounds that both took part in"
    rates = [rate.examples_per_second for rate in own.values()]
    return {"examples_per_second": rates, "speedup": gain[0], "speedup_ci95": gain[1]}


def settings_of(knobs: Mapping[str, Any], device: str) -> dict[str, Any]:
    """loadtune's knobs as our settings. Batches that are pinned are always moved without blocking here."""
    same = ("num_workers", "persistent_workers", "pin_memory", "prefetch_factor")
    found = {name: knobs[name] for name in same if knobs.get(name) is not None}
    found |= {"precision": "bf16" if device == "cpu" else "fp16"} if knobs.get("amp") else {}
    found |= {"compile": "default"} if knobs.get("compile") else {}
    return found | ({"threads": knobs["num_threads"]} if device == "cpu" and knobs.get("num_threads") else {})
