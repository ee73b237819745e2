"""The conclusion of a noise-scale study: the scale over training, and the batch that reaches a loss soonest."""

from collections.abc import Sequence

from traindyno.analysis.batch_times import batch_range, batch_times, best_batch, closed_form_batch
from traindyno.analysis.cautions import remarks
from traindyno.analysis.curve import build_curve
from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import noise_scale_of, noise_windows
from traindyno.analysis.noise_verdicts import noise_verdicts
from traindyno.analysis.step_model import fit_step_model
from traindyno.core.answers import NoiseScaleAnswer
from traindyno.core.errors import NothingMeasuredError
from traindyno.core.records import TrialRecord
from traindyno.core.requests import NoiseScaleRequest


def conclude_noise_scale(
    request: NoiseScaleRequest,
    history: Sequence[TrialRecord],
    *,
    data: str,
    seconds: float = 0.0,
    simulated: bool = False,
) -> NoiseScaleAnswer:
    """Everything that runs and step times say together; at least one run must have been read."""
    noises = noises_of(history)
    if not noises:
        raise NothingMeasuredError("not one run was read to its end")
    noise, curve, batch = noise_scale_of(noises), build_curve(history), request.settings.batch_size
    rows, model = batch_times(curve, noise), fit_step_model(curve)
    windows = noise_windows(noises, batch)
    closed = closed_form_batch(model, noise.value) if model is not None and noise.value is not None else None
    return NoiseScaleAnswer(
        model=request.workload.model,
        data=data,
        batch_size=batch,
        learning_rate=request.recipe.learning_rate,
        noise_scale=noise.value,
        ci95=noise.ci95,
        windows=windows,
        alpha_seconds=None if model is None else model.alpha_seconds,
        beta_seconds=None if model is None else model.beta_seconds,
        best_batch=best_batch(rows),
        batch_range=batch_range(rows),
        rows=rows,
        closed_form_batch=closed,
        preconditioned=noises[0].preconditioned,
        runs=len(noises),
        epochs=max(noise.steps for noise in noises) * batch / noises[0].training_examples,
        micro_batch=noises[0].micro_batch,
        micro_batches=noises[0].micro_batches,
        verdicts=(*noise_verdicts(request, noise, windows, rows, history), *remarks(history)),
        seconds=seconds,
        simulated=simulated,
    )
