"""The last layer of a model, which fine-tuning of the head trains alone."""

from torch import nn

from traindyno.core.errors import UsageError

KNOWN_HEADS = ("fc", "classifier", "heads", "head")


def head_of(model: nn.Module) -> tuple[str, nn.Module]:
    """Name and module of the last layer: within the part that is known as the head, or within the whole model.

    A head without linear layers ends in a convolution, as that of squeezenet.
    """
    named = dict(model.named_modules())
    for known in KNOWN_HEADS:
        if known in named and (found := _last(named[known], known, (nn.Linear, nn.Conv2d))):
            return found
    found = _last(model, "", (nn.Linear,))
    if found is None:
        raise UsageError(
            f"{type(model).__name__} has no linear layer that could be its head",
            f"call the last layer {', '.join(KNOWN_HEADS[:-1])} or {KNOWN_HEADS[-1]}, or train all of the model",
        )
    return found


def freeze_all_but_head(model: nn.Module) -> nn.Module:
    """Leave only the head to train; return it."""
    _, head = head_of(model)
    model.requires_grad_(False)
    head.requires_grad_(True)
    return head


def _last(part: nn.Module, prefix: str, kinds: tuple[type[nn.Module], ...]) -> tuple[str, nn.Module] | None:
    for kind in kinds:
        layers = [(name, module) for name, module in part.named_modules(prefix=prefix) if isinstance(module, kind)]
        if layers:
            return layers[-1]
    return None
