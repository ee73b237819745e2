"""Versions of what is installed, read from its files: importing torch takes seconds and may wake the GPU."""

import ast
import re
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from traindyno.machine.files import read_text


def installed_version(package: str) -> str | None:
    """The version by the package's metadata, or null when it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def own_version() -> str:
    """traindyno's own. By name, since the package's front door leads to rooms above this one."""
    return str(import_module("traindyno").__version__)


def torch_cuda_build() -> str | None:
    """The CUDA version that the installed torch was built for; null for a CPU build, or without torch."""
    found = find_spec("torch")
    if found is None or found.origin is None:
        return None
    return cuda_in_version_file(read_text(Path(found.origin).parent / "version.py") or "")


def cuda_in_version_file(text: str) -> str | None:
    """The value of `cuda` in torch's version.py, which may or may not carry a type."""
    match = re.search(r"^cuda(?:\s*:[^=\n]+)?\s*=\s*('[\d.]+'|\"[\d.]+\")", text, re.MULTILINE)
    return None if match is None else str(ast.literal_eval(match[1]))
