"""The search behind `search = "auto"`: a good answer at once, then better ones, and the proof.

Answers come from an iterated local search (`iterated`), first alone, then beside the proof. The proof eliminates two
attributes together where it can (`eliminate_two`), else one (`eliminate_one`), and decides the others step by step
(`proof`).

The ideas of eliminating attributes and of bounds from both ends go beyond Li and Li 2008 and Bayardo and Agrawal 2005,
whose searches are in `branch_and_bound`.
"""

from collections.abc import Sequence
from math import prod
from typing import Any

from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.errors import Unsatisfiable
from ringfence.judging.metrics import Metric
from ringfence.search.progress import MOST_COUNTED, SearchResult, Watch
from ringfence.search.recode.contexts import Terms
from ringfence.search.recode.eliminate_two import TwoEliminated, pairs_to_eliminate
from ringfence.search.recode.iterated import Answers, Node, alone
from ringfence.search.recode.lattice import impossible
from ringfence.search.recode.programs import MOST_BLOCKS, blocks_of
from ringfence.search.recode.proof import Alone, Proof
from ringfence.search.recode.spaces import Space

TRIED = 10
"""After so many nodes each, the better half of proofs goes on, until one is left: which attributes are best eliminated
depends on how hard it is to decide the others."""


def search(
    census: Census,
    spaces: Sequence[Space],
    roller: Roller,
    metric: Metric,
    terms: Terms,
    watch: Watch,
    start: Sequence[Any] = (),
) -> tuple[Node, SearchResult]:
    """Search until the best is proven, the time is up, or the user has had enough; `start` is a node to begin with."""
    answers = Answers(census, spaces, roller, metric, terms, watch)
    pairs = pairs_to_eliminate(census, spaces, terms)
    proofs = [Proof(TwoEliminated(census, spaces, *pair, terms), answers, watch) for pair in pairs]
    if not proofs:
        proofs = [Proof(Alone(answers.bounder(alone(spaces))), answers, watch)]
    answers.begin(start)
    proven = answers.proven
    while len(proofs) > 1 and not proven:
        proven = any(proof.run(TRIED) for proof in proofs)
        proofs = sorted(proofs, key=lambda proof: -proof.bound)[: (len(proofs) + 1) // 2]
    proven = proven or proofs[0].run()
    if answers.best is None:
        if not proven:
            raise Unsatisfiable(f"no release was found within method.time_limit = {watch.time_limit} seconds")
        coarsest = [space.coarsest for space in spaces]
        raise Unsatisfiable(impossible(census, roller, coarsest, terms.promise, terms.limit))
    proven = proven or answers.proven
    answers.refine()
    best, total = answers.best, prod(space.walk.count for space in spaces)
    return best.node, SearchResult(
        cost=best.cost,
        optimal=proven,
        bound=best.cost if proven else answers.floor,
        nodes=watch.nodes,
        pruned=min(MOST_COUNTED, max(0, total - watch.nodes)),
        seconds=watch.seconds,
    )


def has_program(spaces: Sequence[Space]) -> bool:
    """Whether some attribute has an exact program, without which none can be eliminated."""
    return min(blocks_of(space) for space in spaces) <= MOST_BLOCKS
