"""Runners beside each other: their trials are there at once, and share what they compile."""

import threading
from pathlib import Path

import pytest

from traindyno.core.records import Settings, TrialSpec, WorkloadSpec
from traindyno.runner.local import LocalRunner
from traindyno.runner.protocol import Deadlines, Watcher

ENTRY = """
import json, os, time
from pathlib import Path

def meet(document, events):
    # Each waits until all three are there.
    here = Path("here")
    size = json.loads(document)["settings"]["batch_size"]
    (here / str(size)).write_text(os.environ["TORCHINDUCTOR_CACHE_DIR"])
    deadline = time.monotonic() + 60
    while len(list(here.iterdir())) < 3 and time.monotonic() < deadline:
        time.sleep(0.01)
    Path(f"met_{size}").write_text(str(len(list(here.iterdir()))))
    return 0
"""


def spec_of(size: int) -> TrialSpec:
    return TrialSpec(kind="fit", workload=WorkloadSpec(model="mlp:64"), settings=Settings(batch_size=size))


def test_trials_of_siblings_are_there_at_once_and_share_the_folder_of_compiled_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "entry.py").write_text(ENTRY)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path)
    own = LocalRunner("entry:meet", Deadlines(), preload=())
    own.warm_up()
    siblings = [own.sibling(), own.sibling().sibling()]
    runs = [
        threading.Thread(target=runner.run, args=(spec_of(size), Watcher(), None))
        for size, runner in enumerate((own, *siblings), start=1)
    ]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert [(tmp_path / f"met_{size}").read_text() for size in (1, 2, 3)] == ["3"] * 3
    folders = {(tmp_path / "here" / str(size)).read_text() for size in (1, 2, 3)}
    assert len(folders) == 1
    folder = Path(folders.pop())
    for sibling in siblings:
        sibling.close()
    assert folder.exists()
    own.close()
    assert not folder.exists()
