"""The first words of a trial on a lent server: it goes to the place of the test that asked for it."""

import importlib
import json
import os
import sys


def run(document: str, events: int) -> int:
    """The worker's entry, in the folder and with the environment that a server of the test's own would have given."""
    folder, environment, entry, specification = json.loads(document)
    os.chdir(folder)
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    os.environ.update(environment)
    here = os.path.dirname(__file__)
    sys.path[:] = [folder, *(each for each in sys.path[1:] if each != here)]
    module, _, function = entry.partition(":")
    code: int = getattr(importlib.import_module(module), function)(specification, events)
    return code
