"""The check-up of a machine: gather its facts, judge them."""

from pathlib import Path

from traindyno.analysis.health import examine
from traindyno.core.machine import DoctorAnswer
from traindyno.machine.checkup import doctor_facts
from traindyno.machine.gpu import GpuReader, open_reader


def examine_machine(store_folder: Path, reader: GpuReader | None = None) -> DoctorAnswer:
    """Facts and findings; healthy when no finding is a problem. The ledger will lie in `store_folder`."""
    if reader is None:
        opened = open_reader()
        try:
            return examine_machine(store_folder, opened)
        finally:
            opened.close()
    facts = doctor_facts(store_folder, reader)
    findings = examine(facts)
    return DoctorAnswer(facts=facts, findings=findings, healthy=all(finding.level != "problem" for finding in findings))
