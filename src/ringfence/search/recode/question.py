"""What is asked of a search over schemes: of which recodings, by which promise and loss."""

from collections.abc import Sequence
from dataclasses import dataclass

from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.judging.block_losses import BlockLoss, block_losses
from ringfence.judging.metrics import Metric, cell_losses, full_loss, hdm_tallies, metric
from ringfence.judging.models import Promise, promise
from ringfence.kernels.recode.class_rules import Watched
from ringfence.search.recode.contexts import Terms
from ringfence.search.recode.spaces import Space
from ringfence.search.recode.watching import watched_for
from ringfence.spec import Spec


@dataclass(frozen=True, eq=False)
class Ground:
    """What walks go over: the tuples of a census and the recodings of its attributes, and what is asked of them."""

    census: Census
    spaces: Sequence[Space]
    losses: Sequence[BlockLoss]
    terms: Terms
    watched: Watched


@dataclass(frozen=True, eq=False)
class Question:
    """What is searched: the recodings of some spaces, and what is asked of them."""

    census: Census
    spec: Spec
    spaces: Sequence[Space]
    promise: Promise
    roller: Roller
    metric: Metric
    terms: Terms

    @property
    def ground(self) -> Ground:
        """What walks go over."""
        name, target = self.spec.method.metric, self.spec.method.target
        watched = watched_for(self.census, self.promise, name, target)
        return Ground(self.census, self.spaces, block_losses(name, self.census), self.terms, watched)

    def over(self, spaces: Sequence[Space]) -> "Question":
        """Return the same question over other spaces."""
        return question(self.census, self.spec, spaces)


def question(census: Census, spec: Spec, spaces: Sequence[Space]) -> Question:
    """Return what a specification asks of the recodings of some spaces."""
    name, models = spec.method.metric, promise(spec, census)
    roller = Roller(census, spaces, hdm_tallies(census) if name == "hdm" else [])
    terms = Terms(models, spec.row_limit(census.rows), census.rows, cell_losses(name, census), full_loss(name, census))
    return Question(census, spec, spaces, models, roller, metric(name, spec, census, roller, models.least), terms)
