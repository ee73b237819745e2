"""What users import."""

import dataclasses
import subprocess
import sys

import pytest
from torch import nn

import traindyno


def test_importing_the_workload_does_not_import_torch() -> None:
    code = "import sys, traindyno; traindyno.Workload; print('torch' in sys.modules)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed.strip() == "False"


def test_a_workload_cannot_be_changed() -> None:
    workload = traindyno.Workload(nn.Linear(2, 2))
    with pytest.raises(dataclasses.FrozenInstanceError):
        workload.model = nn.Linear(3, 3)  # type: ignore[misc]
