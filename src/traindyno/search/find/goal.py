"""What `find` may change, and what it has for it."""

from traindyno.analysis.loader_budget import LoaderRoom
from traindyno.analysis.switch_candidates import Candidate
from traindyno.core.base import Record
from traindyno.core.learning import Objective, Recipe
from traindyno.core.loading import Decoder
from traindyno.core.requests import NewBudget
from traindyno.core.setups import Setup


class Goal(Record, frozen=True):
    """`keep` names what must not change. `batch_range` are the ends for a free batch, `also` other sources of the same
    examples, of which `pixels` need not be decoded, `decoders` those that run here, `candidates` the switches.
    `prepare` is a source that has yet to be made, unless it `is_prepared`.

    Of the memory `margin` is held back. Without `budget_seconds` the search takes the time it needs; `budgets` are for
    what was left of it when it was gone on with.

    For the objective `time-to-accuracy` the gradients' `noise_scale` is given, or read in runs of `recipe`.
    """

    baseline: Setup
    has_data: bool
    usable_cpus: float
    candidates: tuple[Candidate, ...] = ()
    decoders: tuple[Decoder, ...] = ()
    also: tuple[str, ...] = ()
    pixels: tuple[str, ...] = ()
    prepare: str | None = None
    is_prepared: bool = False
    keep: tuple[str, ...] = ()
    batch_range: tuple[int, int] | None = None
    room: LoaderRoom = LoaderRoom()
    margin: float = 0.05
    repeats: int = 3
    budget_seconds: float | None = None
    budgets: tuple[NewBudget, ...] = ()
    seed: int = 0
    objective: Objective = "throughput"
    noise_scale: float | None = None
    recipe: Recipe | None = None

    @property
    def on_gpu(self) -> bool:
        return self.baseline.settings.device != "cpu"

    @property
    def asks_for_loss(self) -> bool:
        """Whether a batch is judged by how soon it reaches the same loss."""
        return self.objective == "time-to-accuracy"

    def may_change(self, name: str) -> bool:
        return name not in self.keep
