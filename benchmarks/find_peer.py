"""The job of find.py as it stands in most training scripts, for traindyno and for loadtune; used by find.py.

The job is named by the environment (see `job`), because both import this file by its path. Run as a script it lets
loadtune tune the job, prints its trials, and last one JSON line: the settings it chose, its trials and its seconds.

    python benchmarks/find_peer.py WORKERS STEPS ROUNDS SECONDS
"""

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

MODEL, FOLDER, SIZE, BATCH = "FIND_MODEL", "FIND_FOLDER", "FIND_IMAGE_SIZE", "FIND_BATCH_SIZE"
WARM_UP_STEPS = 10


class Job(NamedTuple):
    model: str
    folder: str
    image_size: int
    batch_size: int


def environment(job: Job) -> dict[str, str]:
    return dict(zip((MODEL, FOLDER, SIZE, BATCH), map(str, job), strict=True))


def job() -> Job:
    return Job(os.environ[MODEL], os.environ[FOLDER], int(os.environ[SIZE]), int(os.environ[BATCH]))


def dataset() -> Any:
    """Files through PIL and torchvision's usual transforms."""
    from torchvision import transforms
    from torchvision.datasets import ImageFolder

    crop = [transforms.RandomResizedCrop(job().image_size), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    normalised = transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
    return ImageFolder(f"{job().folder}/train", transforms.Compose([*crop, normalised]))


def model() -> Any:
    from traindyno.core.records import WorkloadSpec
    from traindyno.worker.models import build_named_model

    return build_named_model(WorkloadSpec(model=job().model, image_size=job().image_size)).model


def optimizer(parameters: Any) -> Any:
    import torch

    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


def workload() -> Any:
    """For traindyno."""
    from traindyno import Workload

    return Workload(model=model, dataset=dataset(), optimizer=optimizer)


def get_workload() -> Any:
    """For loadtune."""
    import loadtune  # type: ignore[import-not-found]
    from torch.nn.functional import cross_entropy

    def step(network: Any, steps: Any, batch: Any, device: Any) -> Any:
        images, labels = (part.to(device) for part in batch)
        steps.zero_grad(set_to_none=True)
        loss = cross_entropy(network(images), labels)
        loss.backward()  # type: ignore[no-untyped-call]
        steps.step()
        return loss.detach()

    return loadtune.Workload(
        name=job().model,
        make_dataset=dataset,
        make_model=model,
        train_step=step,
        make_optimizer=lambda network: optimizer(network.parameters()),
        default_batch_size=job().batch_size,
    )


class OutOfTime(Exception):
    """The peer may begin no further trial."""


def tune(workers: str, steps: str, rounds: str, most_seconds: str) -> dict[str, Any]:
    """Through loadtune's own command, each of its trials in a fresh process; it may be stopped between two of them."""
    from loadtune import cli, experiment

    began, run_trial = time.monotonic(), experiment.run_trial
    trials: list[tuple[float, Any]] = []

    def watched(path: str, knobs: Any, *rest: Any, **named: Any) -> dict[str, Any]:
        if time.monotonic() - began > float(most_seconds):
            raise OutOfTime
        result: dict[str, Any] = run_trial(path, knobs, *rest, **named)
        trials.append((time.monotonic() - began, experiment.Trial(knobs, "", result)))
        print(f"{trials[-1][0]:.0f} s: {trials[-1][1].throughput:.0f} examples/s, {knobs.label()}", flush=True)
        return result

    experiment.run_trial = watched
    with tempfile.TemporaryDirectory() as folder:
        words = ["tune", __file__, "--workers", workers, "--steps", steps, "--warmup", str(WARM_UP_STEPS)]
        words += ["--max-rounds", rounds, "--no-plots", "--out", f"{folder}/report.md"]
        try:
            code = cli.main(words)
        except OutOfTime:
            code = None
    if code or not trials or not trials[0][1].ok:
        raise SystemExit(f"loadtune failed with {code}: {trials[0][1].result if trials else 'no trial was run'}")
    return {"seconds": time.monotonic() - began, "ended": code is not None, **chosen(trials, int(workers))}


def chosen(ended: Sequence[tuple[float, Any]], workers: int) -> dict[str, Any]:
    """Of trials and when they ended, the first is the baseline.

    By loadtune's own rule; what it found no better than that is not chosen.
    """
    from loadtune import experiment

    baseline, *others = [trial for _, trial in ended]
    best = experiment.best_trial(others)
    improved = best is not None and best.throughput > baseline.throughput
    return {
        "trials": [
            {
                "ended_after_seconds": seconds,
                "knobs": each.knobs.to_dict(),
                "examples_per_second": each.throughput,
                "error": each.result.get("error"),
            }
            for seconds, each in ended
        ],
        "knobs": best.knobs.to_dict() if best is not None and improved else {"num_workers": workers},
        "own_baseline_examples_per_second": baseline.throughput,
        "own_best_examples_per_second": None if best is None else best.throughput,
    }


if __name__ == "__main__":
    print(json.dumps(tune(*sys.argv[1:])), flush=True)
