"""Recodings for k people, from recodings for rows.

The programs behind `search = "auto"` count rows, and hold no more than a few values apart: of many people they know
nothing. But k people have at least k rows, and where each has about r, a class of r k rows is likely to have k people.
So recodings for more and more rows are found, and judged by people; those that hold are good places for a search that
counts people to start from.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from ringfence.census.census import Census
from ringfence.census.classes import Roller
from ringfence.judging.metrics import cell_losses, full_loss, hdm_tallies, metric
from ringfence.judging.models import KAnonymity, Promise
from ringfence.search.progress import Watch
from ringfence.search.recode.contexts import Terms
from ringfence.search.recode.iterated import Answers, Node
from ringfence.search.recode.spaces import Space
from ringfence.spec import Spec

STEP = 1.5
"""Each trial asks for so many times the rows of the one before."""
TRIALS = 8
"""How many trials there may be time for."""
HALVINGS = 3
"""How often the gap between what does not hold and what does is halved in the end."""


def starts_by_rows(
    census: Census, spec: Spec, spaces: Sequence[Space], holds: Callable[[Node], bool], limit: int, watch: Watch
) -> Iterator[Node]:
    """Yield nodes that are good for some number of rows, until one holds for people, and a few between.

    `holds` judges a node by people. About half of the time that is left is spent on it.
    """
    left = None if watch.time_limit is None else max(0.0, watch.time_limit - watch.seconds)
    yield tuple(space.coarsest for space in spaces)
    rows = replace(census, sensitive=(), entity=None)
    name = spec.method.metric
    roller = Roller(rows, spaces, hdm_tallies(rows) if name == "hdm" else [])
    losses, full = cell_losses(name, rows), full_loss(name, rows)

    start: list[Any] = []

    def best_for(k: int) -> Node | None:
        terms = Terms(Promise((KAnonymity(k),), least=k), limit, rows.rows, losses, full)
        loss = metric(name, spec, rows, roller, k)
        own = Watch(None if left is None else left / TRIALS / 2, watch.listener)
        answers = Answers(rows, spaces, roller, loss, terms, own)
        answers.begin(start)
        if answers.best is None:
            return None
        start[:] = [space.state(position) for space, position in zip(spaces, answers.best.node, strict=True)]
        return answers.best.node

    least = asked = spec.k
    while asked <= rows.rows and not watch.expired():
        node = best_for(asked)
        if node is not None and holds(node):
            yield node
            break
        least, asked = asked, max(asked + 1, int(asked * STEP))
    for _ in range(HALVINGS):
        middle = (least + asked) // 2
        if not least < middle < asked or watch.expired():
            return
        node = best_for(middle)
        if node is not None and holds(node):
            yield node
            asked = middle
        else:
            least = middle
