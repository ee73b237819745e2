"""Learning from data by name: the source's own evaluation split, or a part held out for evaluation."""

import operator
from dataclasses import replace

import torch

from traindyno.core.errors import UsageError
from traindyno.core.records import Settings, TrialSpec
from traindyno.worker.data.bad import SkippedExamples
from traindyno.worker.data.datasets import PipelineDataset, as_it_is
from traindyno.worker.data.loading import Endless, make_loader
from traindyno.worker.data.packed import PackedPipeline
from traindyno.worker.data.pipeline import Data, Pipeline
from traindyno.worker.data.pipeline_source import PipelineSource
from traindyno.worker.data.sources import is_by_index, open_examples
from traindyno.worker.data.stored import Examples
from traindyno.worker.learning.gate import Gate
from traindyno.worker.learning.loaded import LoadedData
from traindyno.worker.learning.order import PlannedBatches, Run
from traindyno.worker.learning.resident import ResidentData, held_on_device
from traindyno.worker.learning.splitting import chosen, hold_out, labels_of

MEMORY = "memory:"


class NamedPart(PipelineSource):
    """A part of a source by name; the tickets of its batches tell how to crop and flip."""

    def loader(
        self, settings: Settings, seed: int, batches: PlannedBatches, skipped: SkippedExamples | None, gate: Gate
    ) -> Endless:
        kind = PackedPipeline if settings.decoder == "nvjpeg" else Pipeline
        pipeline = kind(self.data, self.size, self.mode, settings.decoder, seed, skipped)
        pipeline.open()
        generator = torch.Generator().manual_seed(seed)
        dataset = PipelineDataset(pipeline, gate.through)
        return make_loader(dataset, settings, as_it_is, "data", batches=batches, generator=generator)


def open_named(spec: TrialSpec, source: PipelineSource, run: Run) -> ResidentData | LoadedData:
    """On the device where all of it can lie there, otherwise behind a loader."""
    training, evaluation, remarks = parted(spec, source)
    resident = held_on_device(training, evaluation, source.size, run)
    if resident is not None:
        idle = f"All examples lie on {run.device}: no loader workers are needed."
        return replace(resident, remarks=[*remarks, idle] if run.settings.num_workers else remarks)
    return LoadedData(
        trained=NamedPart(training, source.size, "train", source.skip_bad),
        evaluated=NamedPart(evaluation, source.size, "infer", source.skip_bad),
        run=run,
        classes=training.classes,
        remarks=remarks,
    )


def parted(spec: TrialSpec, source: PipelineSource) -> tuple[Examples, Examples, list[str]]:
    """What to train on, what to evaluate on, and a remark if the one is taken from the other."""
    assert spec.recipe is not None, "a trial that learns has a recipe"
    data, examples = spec.workload.data, source.data
    if not is_by_index(examples):
        raise UsageError(
            f"{data} is read in the order of its files, so no run could go on from the middle of it",
            "name its images as folder:PATH, or write them with `traindyno data prepare` and name prepared:PATH",
        )
    if (own := own_evaluation(data, examples)) is not None:
        return examples, own, []
    share, labels = spec.recipe.hold_out, labels_of(examples)
    split = hold_out(len(examples), labels, share)
    remark = (
        f"{len(split.evaluation):,} of the {len(examples):,} examples of {data} ({share:.0%}"
        f"{'' if labels is None else ' of every class'}) are held out to evaluate on: it has no split for that."
    )
    return chosen(examples, split.training), chosen(examples, split.evaluation), [remark]


def own_evaluation(data: str, training: Examples) -> Examples | None:
    """The source's own examples to evaluate on, of the same classes; null where they would be those to train on.

    What `memory:` is to hold is what is trained on: evaluation reads its examples from their files.
    """
    stored = data
    while stored.startswith(MEMORY):
        stored = stored.removeprefix(MEMORY)
    trained = training if stored == data else open_examples(stored, "train")
    evaluated = open_examples(stored, "infer")
    assert is_by_index(evaluated), "both splits of a source are of one kind"
    return None if _same(trained, evaluated) else evaluated


def _same(one: Data, other: Data) -> bool:
    """Whether both are read from the same files. Sources without any, `digits:` and `cifar10:`, have two splits."""
    return bool(one.paths) and len(one) == len(other) and all(map(operator.eq, one.paths, other.paths))
