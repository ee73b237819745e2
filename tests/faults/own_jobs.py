"""Whole training jobs, as a user would write them; some go wrong."""

import random
import time
from pathlib import Path

import numpy as np
import torch


def returns_a_number(rate=0.1, depth=1):
    return rate * depth


def returns_numbers_by_name(rate=0.1):
    return {"error": rate, "accuracy": torch.tensor(1 - rate), "seconds": np.float32(2.0)}


def reports_by_the_way(rate, report, seed=None, device=None):
    for epoch in range(4):
        report(epoch + 1, rate * epoch, training_loss=4 - epoch, validation_loss=torch.tensor(5.0 - epoch), of=4)
    print(f"seed {seed} on {device}")
    return {"last": rate * 3, "seed": seed, "on_cpu": device == "cpu"}


def takes_anything(**given):
    given["report"](1, 0.5)
    return {"count": len(given), "seed": given["seed"]}


def draws():
    return {"torch": torch.rand(()), "numpy": np.random.random(), "python": random.random()}


def loses_its_numbers(report):
    report(1, float("inf"))
    return float("nan")


def becomes_infinite():
    return {"loss": float("inf"), "accuracy": 0.1}


def raises(rate=0.1):
    raise KeyError("the user's own mistake")


def raises_in_the_middle(report):
    report(1, 0.5)
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")


def runs_out_of_memory():
    return torch.empty(2**44)


def returns_nothing():
    return None


def returns_a_text_by_name():
    return {"accuracy": 0.9, "notes": "went well"}


def reports_nonsense(report):
    report(1, "good")


def _say_so():
    """That it hangs from here on, for whoever shall not wait to find out."""
    Path(__file__).with_name("hangs").touch()


def hangs_before_its_first_report(report):
    _say_so()
    time.sleep(1000)


def hangs_after_a_report(report):
    report(1, 0.5)
    _say_so()
    time.sleep(1000)


def is_long_and_silent():
    time.sleep(0.8)
    return 0.5
