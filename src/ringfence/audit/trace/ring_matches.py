"""Non-homogeneous releases: rows that are published each under a label of its own, with the original at hand.

Whoever knows all quasi-identifiers looks which published rows could be whose. Matches that are in no complete
assignment he strikes out. Of the rest, none may be true with a probability above 1/k. A draw with which that is so
exists if and only if the rest has a spanning subgraph with exactly k edges at every row: such a graph falls into k
assignments that share no match (König), one of which can be drawn; and the probabilities of any such draw, k times, are
a flow within these limits, so that a whole one exists as well.

Wong, Mamoulis, Cheung: Non-homogeneous Generalization in Privacy Preserving Data Publishing. SIGMOD 2010, section 4.
Rows that are alike are taken together: what goes from some to others can be spread evenly over their pairs. Suppressed
rows are one more published combination, which may be anyone and betrays nobody.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ringfence.arrays import Bools, Longs
from ringfence.audit.counts import Cells, Released, total_by
from ringfence.audit.models.guarantees import diversity_keys
from ringfence.audit.trace.against import Linked
from ringfence.audit.trace.flows import Graph, effective, match, max_flow
from ringfence.audit.trace.linkage import runs
from ringfence.audit.verdict import Finding, some
from ringfence.spec import Spec

DRAW = (
    "that the assignment was drawn at random, from a good source, and kept secret cannot be read from a release: the"
    " verdict is that such a draw exists"
)


def has_rings(spec: Spec) -> bool:
    """Whether the rows of one class may stand for different people than those of the next: then classes say nothing."""
    return spec.has_rings


@dataclass(frozen=True, eq=False)
class Matches:
    """The effective matches of a release: `graph` has an edge for each pair of combinations that some complete
    assignment uses, the suppressed rows, if any, being the last combination on the left.

    `candidates` is how many matches there were between published and original combinations before.
    """

    graph: Graph
    suppressed: int
    candidates: int

    @cached_property
    def hidden(self) -> Bools:
        """Which edges lead from the suppressed rows."""
        last = len(self.graph.published) - 1
        return self.graph.left == last if self.suppressed else np.zeros(len(self.graph.left), bool)

    @cached_property
    def components(self) -> tuple[Longs, Longs]:
        """The component of each combination on the left and on the right."""
        return self.graph.components()

    @cached_property
    def degrees(self) -> Longs:
        """How many rows of the original each published row may be; of suppressed rows, all."""
        graph = self.graph
        return total_by(graph.left, graph.original[graph.right], len(graph.published))

    @cached_property
    def widths(self) -> Longs:
        """The largest k that holds in the component of each combination on the left.

        No row can have more edges than it has matches; that is tried first, and then the middle of what is possible.
        """
        graph, (names, others) = self.graph, self.components
        least = np.full(len(graph.published), graph.original.sum())
        real = np.ones(len(names), bool)
        real[len(names) - 1 :] = not self.suppressed
        np.minimum.at(least, names[real], self.degrees[real])
        met = total_by(graph.right, graph.published[graph.left], len(graph.original))
        certain = np.ones(len(graph.original), bool)
        certain[graph.right[self.hidden]] = False
        np.minimum.at(least, others[certain], met[certain])
        low, high = np.ones_like(least), least
        trial = high.copy()
        while (low < high).any():
            holds = self._hold(trial)
            low, high = np.where(holds, trial, low), np.where(holds, high, trial - 1)
            trial = (low + high + 1) // 2
        return low[names]

    def _hold(self, k: Longs) -> Bools:
        """Return for each component, by its name, whether its rows can have so many edges each."""
        graph, (names, others) = self.graph, self.components
        supply, demand = k[names] * graph.published, k[others] * graph.original
        capacity = graph.published[graph.left] * graph.original[graph.right]
        capacity = np.where(self.hidden, demand[graph.right], capacity)
        flow = max_flow(graph, supply, demand, capacity)
        given = total_by(names[graph.left], flow, len(names))
        wanted = total_by(names, supply, len(names))
        holds: Bools = given == wanted
        return holds


def find_matches(graph: Graph) -> Matches | None:
    """Return the effective matches of a release, or None where it has no complete assignment at all."""
    suppressed = int(graph.original.sum() - graph.published.sum())
    candidates = int((graph.published[graph.left] * graph.original[graph.right]).sum())
    if suppressed > 0:
        anyone = np.arange(len(graph.original))
        graph = Graph(
            left=np.concatenate([graph.left, np.full(len(anyone), len(graph.published))]),
            right=np.concatenate([graph.right, anyone]),
            published=np.append(graph.published, suppressed),
            original=graph.original,
        )
    flow = match(graph)
    if suppressed < 0 or flow.sum() < graph.original.sum():
        return None
    return Matches(graph.part(effective(graph, flow)), suppressed, candidates)


def diverse(matches: Matches, cells: Cells, k: int, l: int) -> Bools:  # noqa: E741  the literature's name
    """Return for each component, by its name, whether a draw exists that also keeps every sensitive value at 1/l.

    `cells` has the sensitive values of the published combinations. In units of 1/(kl) per row, what goes from cells
    with one value to one combination of the original passes a gate. A gate is an edge in the middle; to have it in a
    graph of two sides it stands on both, on the left with as much to give as it may let through, on the right with as
    much to take: what it does not let through, it gives to itself.
    """
    graph, (names, others), unit = matches.graph, matches.components, k * l
    count, lefts, rights = len(graph.published), len(cells.rows), len(graph.original)
    shown = np.flatnonzero(~matches.hidden)
    per = np.bincount(cells.classes, minlength=count)
    cell = runs(np.searchsorted(cells.classes, graph.left[shown]), per[graph.left[shown]])
    target = np.repeat(graph.right[shown], per[graph.left[shown]])
    gates, gate = np.unique(target * (cells.values.max() + 1) + cells.values[cell], return_inverse=True)
    behind = gates // (cells.values.max() + 1)
    room = unit // l * graph.original[behind]
    nobody = np.full(int(matches.hidden.sum()), lefts + len(gates))
    hidden_right = graph.right[matches.hidden]
    itself = np.arange(len(gates))
    left = np.concatenate([cell, lefts + itself, lefts + itself, nobody])
    right = np.concatenate([rights + gate, rights + itself, behind, hidden_right])
    demand = np.concatenate([unit * graph.original, room])
    supply = np.concatenate([unit * cells.rows, room, np.array([unit * matches.suppressed])])
    capacity = np.concatenate(
        [unit // k * cells.rows[cell] * graph.original[target], room, room, unit * graph.original[hidden_right]]
    )
    order = np.lexsort((right, left))
    flow = max_flow(Graph(left[order], right[order], supply, demand), supply, demand, capacity[order])
    short = supply - total_by(left[order], flow, len(supply))
    where = np.concatenate([names[cells.classes], others[behind], names[count - 1 :]])
    holds: Bools = total_by(where, short, len(names)) == 0
    return holds


def judge_rings(
    matches: Matches, linked: Linked, released: Released, spec: Spec
) -> tuple[list[Finding], dict[str, int]]:
    """Judge k, and distinct l where it is asked for, against an adversary who has the quasi-identifiers of everyone.

    Published combinations are those of `linked`, which are the classes of `released`. Measured are also the matches
    that are left to the adversary, in pairs of rows, and those that he can strike out.
    """
    asked = spec.k
    widths = matches.widths[: len(linked.published.rows)]
    shown = ~matches.hidden
    edges = matches.graph.published[matches.graph.left] * matches.graph.original[matches.graph.right]
    measured = {"k": int(widths.min()), "matches": int(edges[shown].sum())}
    measured["ineffective"] = matches.candidates - measured["matches"]
    findings = []
    if measured["k"] < asked:
        what = f"1/k, k = {asked}, the worst at 1/{measured['k']}"
        findings.append(_no_draw("k", f"every match at {what}", widths < asked, linked, matches))
    for key, wanted in diversity_keys(spec):
        cells, names = released.cells_of[wanted.attribute], matches.components[0][: len(widths)]
        l = int(wanted.value)  # noqa: E741
        holds = diverse(matches, cells, min(asked, measured["k"]), l)[names]
        measured[key] = l if holds.all() else _largest(matches, cells, min(asked, measured["k"]), l, names)
        if not holds.all():
            what = f"every value of {wanted.of!r} at 1/l, l = {l}, the worst at 1/{measured[key]}"
            findings.append(_no_draw("l", what, ~holds, linked, matches))
    return findings, measured


def _largest(matches: Matches, cells: Cells, k: int, above: int, names: Longs) -> int:
    """Return the largest l that holds everywhere; 1 always does."""
    return next((each for each in range(above - 1, 1, -1) if diverse(matches, cells, k, each)[names].all()), 1)


def _no_draw(rule: str, what: str, bad: Bools, linked: Linked, matches: Matches) -> Finding:
    """Report groups of rows for which no draw keeps to a limit."""
    rows = int(linked.published.rows[bad].sum())
    worst = min(np.flatnonzero(bad).tolist(), key=lambda each: int(matches.degrees[each]))
    message = f"{some(rows, 'row')} in groups where no draw keeps {what}"
    return Finding(rule, message, rows, linked.example(worst))
