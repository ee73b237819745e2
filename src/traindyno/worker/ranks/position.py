"""Where a rank stands, for those who wonder what the group waits for."""


class Position:
    """Counts the places that a rank comes by. All ranks come by the same ones, so the smallest count is the last rank.

    As the marks of a step it is told when each of its phases begins.
    """

    def __init__(self) -> None:
        self.marks = 0
        self.step = 0
        self.stage = "start"

    def mark(self, phase: str) -> None:
        self.marks += 1
        self.stage = phase

    def step_done(self) -> None:
        self.step += 1
