"""What a compiled model returned stays as it was, also where CUDA graphs use its memory again."""

from typing import Any, NamedTuple, get_args

import pytest
import torch

from traindyno.core.records import CompileMode, Settings
from traindyno.worker.knobs.compiling import outlasting


class Scores(NamedTuple):
    logits: torch.Tensor
    name: str


@pytest.mark.parametrize("mode", get_args(CompileMode))
def test_only_outputs_of_graphs_are_copied_and_keep_their_form(mode: CompileMode) -> None:
    returned: dict[str, Any] = {"scores": Scores(torch.zeros(2), "a"), "others": [torch.ones(1)]}
    kept = outlasting(returned, Settings(batch_size=1, compile=mode))
    returned["scores"].logits.fill_(7)
    written_over = mode in ("none", "default")
    assert kept["scores"] == Scores(kept["scores"].logits, "a")
    assert kept["scores"].logits.tolist() == ([7, 7] if written_over else [0, 0])
    assert isinstance(kept["others"], list)
