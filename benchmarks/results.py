"""How benchmarks leave their results: one JSON file each, with the machine, the date and the command."""

import argparse
import json
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from traindyno.core.codec import plain
from traindyno.machine.facts import collect

FOLDER = Path(__file__).parent / "results"


def arguments(description: str) -> argparse.ArgumentParser:
    """A parser with what all benchmarks take."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--device", default="cuda:0", help="cuda:0 or cpu")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result file")
    return parser


def continues(parser: argparse.ArgumentParser) -> None:
    """The option of a benchmark that writes after every row and can go on where an earlier run was cut."""
    parser.add_argument("--also", type=Path, help="an earlier result file, whose rows are kept and not measured again")


def earlier_rows(path: Path | None) -> list[dict[str, Any]]:
    return [] if path is None else json.loads(path.read_text())["rows"]


def run_tool(*words: str) -> None:
    """A command of the tool in a process of its own, which has time to put away what it has when we are stopped."""
    command = [sys.executable, "-m", "traindyno", *words]
    with subprocess.Popen(command) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise
    if code:
        raise subprocess.CalledProcessError(code, command)


def make_files(folder: Path, images: int) -> None:
    """JPEG files of ImageNet's kind below the folder; a set that is there is used."""
    words = ["make", str(folder / "files"), "--like", "imagenet", "--images", str(images), "-q"]
    subprocess.run([sys.executable, "-m", "traindyno", "data", *words], check=True, stdout=subprocess.DEVNULL)


def answer_of(path: Path) -> dict[str, Any]:
    """What a command that exported its document to this file had to say."""
    answer: dict[str, Any] = json.loads(path.read_text())["answer"]
    return answer


def command_line() -> str:
    """What was typed, without the folder for the result."""
    words = iter(["python", *sys.argv])
    return " ".join(word for word in words if word != "--out" or not next(words))


def stamp() -> dict[str, Any]:
    """When and on what a part of a result was measured, where parts come from several runs."""
    facts = collect()
    gpus = [gpu.uuid for gpu in facts.gpus]
    return {"date": now(), "command": command_line(), "cpu_model": facts.cpu_model, "gpus": gpus}


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def write(folder: Path, name: str, result: dict[str, Any]) -> Path:
    """Write the result and say where it is. Who is killed meanwhile leaves the earlier one whole."""
    machine = {key: value for key, value in plain(collect()).items() if key != "hostname"}
    document = {
        "benchmark": name,
        "command": command_line(),
        "date": now(),
        "machine": machine,
        **result,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(document, indent=1) + "\n")
    unfinished.replace(path)
    print(f"wrote {path}", flush=True)
    return path
