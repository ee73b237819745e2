"""What the noise of gradients says of the batch, in sentences. A prediction is called one."""

from collections.abc import Iterator

from traindyno.analysis.find.attempts import NO_TIME, NOISE
from traindyno.analysis.find.beside import rates_in_words
from traindyno.analysis.find.choice import NEARLY_WHOLE, Choice, is_flattered
from traindyno.analysis.find.findings import Findings
from traindyno.analysis.find.learning import sooner_by
from traindyno.analysis.find.words import between, noise_words, times
from traindyno.analysis.noise_runs import noises_of
from traindyno.analysis.noise_scale import NoiseEstimate
from traindyno.core.answers.find import Finalist
from traindyno.core.requests import FindRequest
from traindyno.core.units import format_percent


def gain_verdict(baseline: Finalist, found: Finalist) -> str:
    """What another batch should gain, and of what that is made."""
    assert found.examples_needed is not None
    needs = f"of which a batch of {found.batch_size} needs {times(found.examples_needed)} as many"
    told = f"Training should reach the same loss {times(found.worth)} as fast as the baseline"
    return f"{told} ({between(found.worth_ci95)}), predicted: {rates_in_words(baseline, found)}, {needs}."


def learning_verdicts(request: FindRequest, findings: Findings, choice: Choice) -> tuple[str, ...]:
    """Nothing unless the time to the same loss was asked for."""
    if request.objective == "throughput":
        return ()
    if findings.noise is None or findings.noise.value is None:
        own = request.settings.batch_size
        why = _unknown_because(findings)
        return (f"Which batch reaches the same loss soonest is not known, for {why}: your batch of {own} is kept.",)
    return (*_noise(request, findings, findings.noise), *_batch(findings, choice))


def _unknown_because(findings: Findings) -> str:
    told = next((each for each in findings.attempts if each.change == NOISE), None)
    if told is None:
        return "the search ended before the noise of the gradients was read"
    if told.outcome == NO_TIME:
        return "there was no time to read the noise of the gradients"
    if not noises_of([record for _, record in findings.log]):
        return "the gradients could not be read"
    return "the readings do not tell the gradient from its noise"


def _noise(request: FindRequest, findings: Findings, noise: NoiseEstimate) -> Iterator[str]:
    source = ", as given" if request.noise_scale is not None else ""
    yield f"The noise scale of the gradients is {noise_words(noise)}{source}; predictions rest on it."
    read = noises_of([record for _, record in findings.log])
    if len(read) == 1:
        yield "One run does not tell how far the noise scale of others would differ."
    if read and findings.noise_share < NEARLY_WHOLE:
        share = f", {format_percent(findings.noise_share, 0)} of training" if findings.noise_share else ""
        yield (
            f"It was read in runs of {read[0].steps:,} steps{share}: later gradients are usually noisier, and larger "
            "batches serve them better."
        )


def _batch(findings: Findings, choice: Choice) -> Iterator[str]:
    """What another batch would do, where it is not what is recommended."""
    free, own = choice.free, choice.own
    out_of_time = any(each.side == "batch" and each.outcome == NO_TIME for each in findings.attempts)
    if free is None and (out_of_time or not findings.ended):
        yield f"Not all batches could be looked at: your batch of {own.batch_size} is kept."
    elif free is None:
        yield f"No other batch should reach the same loss clearly sooner than your own of {own.batch_size}, predicted."
    elif free != choice.recommended:
        ratio, interval = sooner_by(free, own)
        flattered = is_flattered(findings, free)
        sooner = f"{times(ratio)} as fast as at your own ({between(interval)})"
        why = "a noise scale read early speaks too well of smaller batches" if flattered else "not clearly sooner"
        yield f"A batch of {free.batch_size} may reach the same loss {sooner}, predicted: {why}."
