"""What a knob is to blame for is told as such, and does not stop the study; a model's own error still does."""

from collections.abc import Callable

import msgspec
import pytest
import torch
from torch._dynamo.exc import TorchDynamoException, Unsupported
from torch._inductor.exc import InvalidCxxCompiler

from traindyno.analysis.probes import not_applicable
from traindyno.app.study import stops_study
from traindyno.core.records import Settings, TrialRecord
from traindyno.worker.classify import failure_of
from traindyno.worker.errors import CompileFailedError, DoesNotApplyError
from traindyno.worker.knobs.explaining import explained
from worker.knobs.benches import spec_of

COMPILED = Settings(batch_size=1, compile="default")


class BackendError(TorchDynamoException):
    """As the compiler wraps what its backend raised."""

    def __init__(self, inner: Exception) -> None:
        super().__init__(f"backend='inductor' raised:\n{type(inner).__name__}: {inner}")
        self.inner_exception = inner


# The compiler's errors are known by where they are defined.
BackendError.__module__ = TorchDynamoException.__module__


def raising(error: Exception) -> Callable[[], None]:
    def step() -> None:
        raise error

    return step


def test_a_failed_compilation_says_what_the_compiler_said() -> None:
    with pytest.raises(CompileFailedError, match="could not compile the model: no such lowering") as raised:
        explained(raising(BackendError(RuntimeError("no such lowering\nand more"))), COMPILED)()
    assert "leave compile off" in str(raised.value.hint)


def test_code_that_cannot_be_traced_is_a_failed_compilation() -> None:
    error = Unsupported("a strange loop\n  Explanation: it never ends\n  Hint: end it")
    with pytest.raises(CompileFailedError, match="a strange loop: it never ends"):
        explained(raising(error), COMPILED)()


def test_a_missing_compiler_is_named_with_the_way_to_get_one() -> None:
    with pytest.raises(CompileFailedError, match=r"no C\+\+ compiler") as raised:
        explained(raising(BackendError(InvalidCxxCompiler())), COMPILED)()
    assert "apt install g++" in str(raised.value.hint)


def test_full_memory_while_compiling_stays_full_memory() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        explained(raising(BackendError(torch.OutOfMemoryError("CUDA out of memory"))), COMPILED)()


def test_the_models_own_errors_stay_its_own() -> None:
    with pytest.raises(KeyError, match="tokens"):
        explained(raising(KeyError("tokens")), COMPILED)()


def test_steps_without_these_knobs_are_left_as_they_are() -> None:
    step = raising(RuntimeError())
    assert explained(step, Settings(batch_size=1)) is step


@pytest.mark.parametrize(
    ("error", "code"),
    [(CompileFailedError("a", "b"), "compile_failed"), (DoesNotApplyError("a", "b"), "does_not_apply")],
)
def test_either_stops_a_study_of_these_settings_but_not_one_that_tries_them(error: Exception, code: str) -> None:
    failure = failure_of(error, None, "first step")
    record = TrialRecord(spec=spec_of(), outcome=failure.outcome, seconds=1.0, failure=failure)
    tried = msgspec.structs.replace(record, spec=msgspec.structs.replace(record.spec, against=record.spec.settings))
    assert (failure.error_type, failure.details["code"], failure.remedy) == (type(error).__name__, code, "b")
    assert not_applicable(record)
    assert stops_study(record)
    assert not stops_study(tried)
