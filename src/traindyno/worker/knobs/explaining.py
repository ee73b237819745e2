"""Errors of a step that a knob is to blame for, told as such: the model is not at fault, and other trials can go on."""

import re
from collections.abc import Callable
from typing import TypeVar

import torch

from traindyno.core.errors import TraindynoError
from traindyno.core.records import Settings
from traindyno.worker.errors import CompileFailedError, DoesNotApplyError

T = TypeVar("T")
_COMPILERS_OWN = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch._subclasses", "torch.fx", "triton")
_NO_COMPILER = re.compile(r"InvalidCxxCompiler|No working C\+\+ compiler|Failed to find C compiler")
_EXPLANATION = re.compile(r"^\s*Explanation: (.+)$", re.MULTILINE)
_NOT_DETERMINISTIC = re.compile(r"^(.*?) does not have a deterministic implementation")


def explained(step: Callable[[], T], settings: Settings) -> Callable[[], T]:
    """The step, with what `compile` and `determinism` raise in it explained; the step itself without them."""
    if settings.compile == "none" and settings.determinism != "all":
        return step

    def told() -> T:
        try:
            return step()
        except Exception as error:
            explanation = _explanation(error)
            if explanation is None:
                raise
            raise explanation from error

    return told


def _explanation(error: Exception) -> Exception | None:
    """Null where the error is the model's own, or says that memory is full."""
    if (found := _NOT_DETERMINISTIC.search(str(error))) is not None:
        return DoesNotApplyError(
            f"{found[1]} has no deterministic implementation",
            "set determinism to cudnn or none, or use another operation in the model",
        )
    if not type(error).__module__.startswith(_COMPILERS_OWN):
        return None
    inner = getattr(error, "inner_exception", None)
    if isinstance(inner, torch.OutOfMemoryError):
        return inner
    return _compile_failed(error)


def _compile_failed(error: Exception) -> TraindynoError:
    if _NO_COMPILER.search(str(error)):
        return CompileFailedError(
            "torch.compile found no C++ compiler on this machine",
            "install one (Debian, Ubuntu: apt install g++) or name it in the variable CXX, or leave compile off",
        )
    return CompileFailedError(
        f"torch.compile could not compile the model: {_said(error)}",
        "leave compile off for this model; the traceback tells what torch said",
    )


def _said(error: Exception) -> str:
    """What the compiler's backend raised, or the compiler itself, which titles its errors and then explains them."""
    text = str(getattr(error, "inner_exception", None) or error).strip()
    title = text.splitlines()[0] if text else type(error).__name__
    explanation = _EXPLANATION.search(text)
    return title if explanation is None else f"{title}: {explanation[1]}"
