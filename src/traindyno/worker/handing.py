"""How a batch is handed to a model: which of its parts are inputs, which is the target."""

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

TARGET_KEYS = ("labels", "label", "targets", "target")


@dataclass(frozen=True)
class Signature:
    """What a model's `forward` takes: positional arguments at least and at most, and keywords."""

    required: int
    accepted: float
    keywords: frozenset[str]
    any_keyword: bool = False

    def takes(self, name: str) -> bool:
        return self.any_keyword or name in self.keywords


def signature_of(model: nn.Module) -> Signature:
    """Read `forward`; a model that hides its arguments is taken to accept anything."""
    try:
        parameters = list(inspect.signature(model.forward).parameters.values())
    except (TypeError, ValueError):
        return Signature(required=0, accepted=math.inf, keywords=frozenset(), any_keyword=True)
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return Signature(
        required=sum(p.default is p.empty for p in positional),
        accepted=math.inf if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(positional),
        keywords=frozenset(p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)),
        any_keyword=any(p.kind is p.VAR_KEYWORD for p in parameters),
    )


def split(batch: Any, signature: Signature) -> tuple[Any, Any]:
    """The inputs and the target (or None) of a batch, by the rules told in `Workload`."""
    if isinstance(batch, Mapping):
        return _split_mapping(batch, signature)
    if not isinstance(batch, tuple | list) or not batch:
        return batch, None
    if len(batch) == 1:
        return batch[0], None
    if not _ends_with_target(batch, signature):
        return batch, None
    return (batch[0] if len(batch) == 2 else batch[:-1]), batch[-1]


def call(model: nn.Module, inputs: Any, signature: Signature) -> Any:
    """Call the model with one input, several, or named ones."""
    if isinstance(inputs, Mapping) and all(signature.takes(str(name)) for name in inputs):
        return model(**inputs)
    if isinstance(inputs, tuple | list) and signature.accepted > 1:
        return model(*inputs)
    return model(inputs)


def _ends_with_target(batch: tuple[Any, ...] | list[Any], signature: Signature) -> bool:
    if len(batch) > 2:
        return signature.accepted < len(batch)
    return isinstance(batch[0], tuple | list | Mapping) or signature.required < 2


def _split_mapping(batch: Mapping[str, Any], signature: Signature) -> tuple[Any, Any]:
    """A model that takes the whole mapping as its one argument keeps the target in it."""
    key = next((key for key in TARGET_KEYS if key in batch and not signature.takes(key)), None)
    if key is None:
        return batch, None
    inputs = {name: value for name, value in batch.items() if name != key}
    by_name = bool(inputs) and all(signature.takes(str(name)) for name in inputs)
    return (inputs if by_name else batch), batch[key]
