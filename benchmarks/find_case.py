"""The workloads of find.py, and how single ways to train are measured."""

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

import find_peer
from traindyno.app.context import ignore
from traindyno.app.preparing import PreparingRunner
from traindyno.app.sources import hash_source
from traindyno.core.loading import Feed
from traindyno.core.records import Budget, Settings, TrialRecord, TrialSpec, WorkloadSpec
from traindyno.core.setups import Setup
from traindyno.machine.cpus import usable_cpus
from traindyno.runner import local
from traindyno.runner.choose import WORKER_ENTRY
from traindyno.runner.protocol import Deadlines, Watcher

COMMON_WORKERS = 4
Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A model, and how much of what it sees."""

    model: str
    image_size: int
    batch_size: int
    images: int


JOBS = {
    "resnet50": Job("torchvision:resnet50", 224, 256, 16384),
    "mobilenet_v2": Job("torchvision:mobilenet_v2", 224, 256, 16384),
    "vit_b_16": Job("torchvision:vit_b_16", 224, 256, 16384),
    "ir50": Job("ir:50", 224, 256, 16384),
    "small": Job("torchvision:resnet18", 64, 32, 512),
}


def keep_compiled_code(folder: Path) -> None:
    """All runners of this process have one folder for compiled code, where later parts find it.

    They would else each have their own, and what `find` has compiled would be compiled again to train with it.
    """
    cache = local.compile_cache(str(folder))
    local.compile_cache = lambda _: cache


class Case:
    """One workload with one baseline: how to measure ways to train it."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.options, self.job = options, JOBS[options.workload]
        self.files = f"folder:{options.folder / 'files'}"
        self.prepared = str(options.folder / f"prepared_{self.job.image_size}")
        self.workload = WorkloadSpec(model=self.job.model, data=self.files, image_size=self.job.image_size)
        os.environ |= find_peer.environment(self._script())
        self.compiled = options.folder / "compiled"
        keep_compiled_code(self.compiled)
        own = local.LocalRunner(WORKER_ENTRY, Deadlines())
        self._runner = PreparingRunner(own, self.workload, self.prepared, ignore, lambda: None)

    def _script(self) -> find_peer.Job:
        files = self.files.partition(":")[2]
        return find_peer.Job(self.job.model, files, self.job.image_size, self.job.batch_size)

    @property
    def variant(self) -> str:
        return "prepare" if self.options.prepare else "strong" if self.options.strong else "common"

    @property
    def baseline(self) -> Settings:
        common = Settings(batch_size=self.job.batch_size, device=self.options.device, num_workers=COMMON_WORKERS)
        if not self.options.strong:
            return common
        return msgspec.structs.replace(
            common,
            precision="bf16",
            memory_format="channels_last",
            num_workers=max(1, int(usable_cpus().value) - 1),
            pin_memory=True,
        )

    def setup(self, changes: Mapping[str, Any]) -> Setup:
        """A way to train at the own batch; what is not said is torch's default."""
        plain = {"batch_size": self.job.batch_size, **changes, "device": self.options.device}
        data = plain.pop("data", self.files)
        return Setup(data=data, settings=msgspec.convert(plain, Settings))

    @property
    def template(self) -> TrialSpec:
        return TrialSpec(
            kind="feed",
            workload=self.workload,
            settings=self.baseline,
            budget=Budget(seconds=self.options.trial_seconds),
            feed=Feed(supply="loader"),
        )

    def run(self, spec: TrialSpec) -> TrialRecord:
        return self._runner.run(spec, Watcher(), None)

    def fed(self, setup: Setup, model: str | None = None, repeat: int = 0) -> TrialRecord:
        """One fresh process that trains from the loader; `model` of a file brings its own data."""
        own = {"data": setup.data} if model is None else {"model": model, "source_sha256": hash_source(model)}
        if model is not None:
            own |= {"data": "synthetic:", "image_size": None}
        workload = msgspec.structs.replace(self.workload, **own)
        changes = {"workload": workload, "settings": setup.settings, "repeat": repeat}
        return self.run(msgspec.structs.replace(self.template, **changes))

    def close(self) -> None:
        self._runner.close()


def ours(row: Row) -> dict[str, Any]:
    """What was found at the own batch, with its data."""
    if "find" not in row:
        raise SystemExit("nothing was found yet: add find to --parts, or name the earlier result with --also")
    best = row["find"]["answer"]["at_own_batch"]
    return {**best["settings"], "data": best["data"]}
