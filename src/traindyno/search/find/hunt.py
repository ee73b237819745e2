"""What every part of a search works with."""

from dataclasses import dataclass

from traindyno.analysis.find.findings import Findings
from traindyno.search.find.goal import Goal
from traindyno.search.find.purse import Purse
from traindyno.search.find.trials import Trials
from traindyno.search.replaying import Trying


@dataclass(frozen=True)
class Hunt:
    """The goal, the maker of trials, what was found so far, and the time that is left."""

    goal: Goal
    trials: Trials
    findings: Findings
    purse: Purse

    def logged(self, part: str, trying: Trying[None]) -> Trying[None]:
        """Hand on every trial of a part, and write down what came of it before the search goes on.

        A trial that is asked for again is not run again, and costs nothing.
        """
        known = {record.spec.key for _, record in self.findings.log}
        try:
            wanted = next(trying)
            while True:
                record = yield wanted
                if record.spec.key not in known:
                    known.add(record.spec.key)
                    self.findings.log.append((part, record))
                wanted = trying.send(record)
        except StopIteration:
            return
