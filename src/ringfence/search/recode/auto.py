"""The search behind `search = "auto"`: a good answer at once, then better ones, and the proof.

Answers come from walks (`walks`), or where classes cost their squares and k is all that is asked of runs and sets,
from programs of such classes (`iterated`). Walks climb through the schemes that this one contains (`rungs`), and the
optimum of levels is handed to both, so that no answer is worse than these. The proof goes on beside them. It eliminates
two attributes together where it can (`eliminate_two`), else one (`eliminate_one`, `priced`), and decides the others
step by step (`proof`). Where the promise or the loss allow neither, it climbs (`branch_and_bound`). Domains of
thousands of values have answers and a simple bound, but no proof.

The ideas of eliminating attributes and of bounds from both ends go beyond Li and Li 2008 and Bayardo and Agrawal 2005,
whose searches are in `branch_and_bound`.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from math import inf
from typing import Any, Protocol

from ringfence.errors import Unsatisfiable
from ringfence.search.progress import SearchResult, Watch
from ringfence.search.recode.answers import Answers, Node
from ringfence.search.recode.branch_and_bound import Climb
from ringfence.search.recode.eliminate_one import OneEliminated
from ringfence.search.recode.eliminate_two import TwoEliminated, pairs_to_eliminate
from ringfence.search.recode.iterated import Iterated, alone
from ringfence.search.recode.lattice import impossible
from ringfence.search.recode.priced import Priced
from ringfence.search.recode.programs import has_program
from ringfence.search.recode.proof import Alone, Proof
from ringfence.search.recode.question import Question
from ringfence.search.recode.rungs import SPREADING, ByLevels, climbed
from ringfence.search.recode.spaces import ruled_out
from ringfence.search.recode.starts import Found, fitted_to
from ringfence.search.recode.walks import Walks

TRIED = 10
"""After so many nodes each, the better half of proofs goes on, until one is left: which attributes are best eliminated
depends on how hard it is to decide the others."""

MOST_ATTRIBUTES = 8
"""With more attributes than this, a proof under DM is out of reach, and its programs take too long: there, too, are
walks."""

MOST_VALUES = 512
"""With an attribute of more values than this, nothing is decided step by step: each step would look at all of them."""

MOST_IN_PROGRAMS = 128
"""With an attribute of more values than this, programs of DM take too long, too."""

GUIDED = ("cut", "guided-ordered", "guided-set")
"""Schemes that follow a hierarchy."""


class Prover(Protocol):
    """What proves that nothing is better than the best answer; until then, `bound` is what none can go below."""

    bound: float

    def run(self, most: float = inf) -> bool:
        """Go on, for about so many nodes; return whether nothing was left open."""


def search(asked: Question, watch: Watch, given: Sequence[Sequence[Any]] = ()) -> tuple[Node, SearchResult]:
    """Search until the best is proven, the time is up, or the user has had enough.

    `given` are nodes that are known already, as states: what is found is no worse than those that are feasible.
    """
    answers = answers_for(asked, watch)
    with ByLevels(asked.census, asked.spec, watch) as levels:
        starts: list[list[Any]] = []
        if isinstance(answers, Walks):
            found, rungs = climbed(asked.spaces, lambda spaces: Walks(asked.over(spaces), watch), levels, watch)
            starts += found
            answers.spreads = len(found) < SPREADING
            answers.beside(rungs)
            starts += _handed(asked, levels.best(waits=watch.time_limit is None))
        answers.begin([*starts, *map(list, given)], partial(_later, asked, answers, levels))
        proven = answers.proven or _proven(asked, answers, watch)
        by_levels = levels.best(waits=True)
        if by_levels is not None and (answers.best is None or by_levels.cost < answers.best.cost):
            for each in _handed(asked, by_levels):  # the time was up before they were looked at
                answers.consider(each)
    if answers.best is None:
        if not proven:
            raise Unsatisfiable(f"no release was found within method.time_limit = {watch.time_limit} seconds")
        coarsest = [space.coarsest for space in asked.spaces]
        raise Unsatisfiable(impossible(asked.census, asked.roller, coarsest, asked.promise, asked.terms.limit))
    answers.refine()
    proven, best = proven or answers.proven, answers.best
    return best.node, SearchResult(
        cost=best.cost,
        optimal=proven,
        bound=best.cost if proven else max(0.0, min(best.cost, answers.floor)),
        nodes=watch.nodes,
        pruned=ruled_out(asked.spaces, watch.nodes),
        seconds=watch.seconds,
        by_levels=by_levels.cost if by_levels is not None and by_levels.proven else None,
    )


def _proven(asked: Question, answers: Answers, watch: Watch) -> bool:
    """Go on until the best answer is proven or the time is up; return whether it is proven."""
    provers = provers_for(asked, answers, watch)
    while len(provers) > 1:
        if any(prover.run(TRIED) for prover in provers):
            return True
        provers = sorted(provers, key=lambda prover: -prover.bound)[: (len(provers) + 1) // 2]
    if provers:
        return provers[0].run()
    with ThreadPoolExecutor(2) as threads:
        while not (answers.proven or watch.expired()):
            answers.kick(threads.map)
    return False


def answers_for(asked: Question, watch: Watch) -> Answers:
    """Return what looks for answers: programs where they are known to be good, in runs and sets, else walks.

    Schemes that follow a hierarchy are walked over, so that each begins as those do that it contains (`rungs`).
    """
    if _has_programs(asked) and not any(space.scheme in GUIDED for space in asked.spaces):
        return Iterated(asked, watch)
    return Walks(asked, watch)


def _has_programs(asked: Question) -> bool:
    """Whether classes cost their squares, k is all that is asked, and attributes are small enough for programs."""
    few = len(asked.spaces) <= MOST_ATTRIBUTES
    few = few and all(space.quasi.occurring <= MOST_IN_PROGRAMS for space in asked.spaces)
    return few and asked.terms.allows_two and all(has_program(space) for space in asked.spaces)


def _later(asked: Question, answers: Answers, levels: ByLevels, waits: bool) -> list[list[Any]]:
    """Return the best recoding by levels if it is there, or waited for; it may be left if there are better answers."""
    levels.leave(None if answers.best is None else answers.best.cost)
    return _handed(asked, levels.best(waits=waits))


def _handed(asked: Question, found: Found | None) -> list[list[Any]]:
    """Return what was found as states of the question's spaces."""
    return [] if found is None else [fitted_to(asked.spaces, found.labels)]


def provers_for(asked: Question, answers: Answers, watch: Watch) -> list[Prover]:
    """Return what may prove the best answer; if there are several, it is tried out which does best."""
    census, spaces, terms = asked.census, asked.spaces, asked.terms
    if max(space.quasi.occurring for space in spaces) > MOST_VALUES:
        return []
    if _has_programs(asked):
        pairs = pairs_to_eliminate(census, spaces, terms)
        if pairs:
            return [Proof(TwoEliminated(census, spaces, *pair, terms), answers, watch) for pair in pairs]
        return [Proof(Alone(OneEliminated(census, spaces, alone(spaces), terms)), answers, watch)]
    if terms.losses and all(model.monotone for model in asked.promise.models):
        return [Proof(Priced(asked.ground), answers, watch)]
    return [Climb(census, spaces, asked.roller, asked.promise, asked.metric, answers, watch)]
