"""Reuse: new rows recoded by a plan that was made for others.

The plan says what each value becomes; nothing is searched. Which classes fail is judged anew, on the new rows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from ringfence.census.census import Census, take_census
from ringfence.census.classes import merged
from ringfence.errors import DataError, SpecError, listed
from ringfence.judging.metrics import recoded
from ringfence.judging.models import promise
from ringfence.plans.recode import ColumnPlan, GlobalPlan
from ringfence.rows.coded import told_apart
from ringfence.rows.in_python import in_python
from ringfence.search.decision import Decision
from ringfence.search.recode.recoded import decision_for
from ringfence.spec import Spec
from ringfence.values.builders import read_keys, uncovered
from ringfence.values.hierarchy import ROOT, Hierarchy
from ringfence.values.keys import label as label_of_key
from ringfence.values.recoding import Recoding, by_nodes


@dataclass(frozen=True)
class Reused:
    """The decision on new rows, their census, and for each column the values whose rows go: the plan lacks them, or
    only rows that it suppressed had them.

    Where these rows are masked with all others that are suppressed, `everyone` is the census with them.
    """

    decision: Decision
    census: Census
    unknown: Mapping[str, pa.Array]
    everyone: Census


def reuse_plan(counted: pa.Table, weight: str, plan: GlobalPlan, spec: Spec, *, suppress_unknown: bool) -> Reused:
    """Decide what a plan makes of new rows, of which an engine `counted` the combinations.

    Values that the plan does not know are a DataError, or their rows are suppressed. So are the classes that fail; both
    within the limit that the specification sets.
    """
    known = {name: _hierarchy(column, f"the plan's column {name!r}") for name, column in plan.columns.items()}
    unknown: dict[str, pa.Array] = {}
    refused: dict[str, list[str]] = {}
    weights = counted[weight].to_numpy()
    incomplete = np.zeros(counted.num_rows, bool)  # rows that go, whatever else they have: nothing of them is read
    for name in plan.complete:
        incomplete |= counted[name].is_null().to_numpy()
    complete = counted.filter(pa.array(~incomplete))
    lost = np.zeros(counted.num_rows, bool)
    for name, hierarchy in known.items():
        which, values = told_apart(complete[name])
        keys = read_keys(name, spec, in_python(values, name), [1] * len(values))
        # Rows that miss a value and may not are dealt with when the census is taken.
        judged = [key is not None or spec.data.missing == "value" for key in keys]
        strange = np.array([j and bool(uncovered([key], [1], hierarchy)) for j, key in zip(judged, keys, strict=True)])
        if strange.any():
            unknown[name] = values.filter(pa.array(strange))
            lost[~incomplete] |= strange[which]
            leaves = [None if key is None else label_of_key(key) for key in keys]
            new = [s and leaf not in plan.columns[name].leaves for s, leaf in zip(strange, leaves, strict=True)]
            refused |= {name: values.filter(pa.array(new)).to_pylist()} if any(new) else {}
    if refused and not suppress_unknown:
        found = listed(f"{name!r}: {listed(map(repr, some[:10]))}" for name, some in refused.items())
        raise DataError(
            f"values that the plan does not know: {found}; make a new plan, or suppress the rows that have them"
        )
    if lost.any() and (lost | incomplete).all():
        raise DataError("the plan knows none of these rows: each has a value that it was not made for")
    census = take_census(counted.filter(pa.array(~lost)), spec, weight, known)
    recodings = [_recoding(quasi.hierarchy, plan.columns[quasi.name]) for quasi in census.quasi]
    levels = [plan.columns[name].level for name in census.names]
    gone = int(weights[lost].sum())
    decision = decision_for(census, spec, promise(spec, census), levels, recodings, None, gone)
    # Other losses would need the hierarchies that the plan was made with.
    metrics = {name: decision.metrics[name] for name in ("dm", "aecs", "rows", "suppressed", "classes")}
    everyone = _with_unknown(complete, weight, unknown, plan, spec) if unknown and spec.method.keep_suppressed else None
    masked = (
        decision.recoding.masked if not unknown else everyone is not None and _hold_as_one(everyone, decision, spec)
    )
    decision = replace(decision, plan=replace(decision.recoding, masked=masked), metrics={**metrics, "unknown": gone})
    return Reused(decision, census, unknown, everyone if masked and everyone is not None else census)


def _with_unknown(
    counted: pa.Table, weight: str, unknown: Mapping[str, pa.Array], plan: GlobalPlan, spec: Spec
) -> Census | None:
    """Return the census of all rows, those too that have values which a plan does not know: each a leaf of its own.
    None where such a value is called like a label of the plan."""
    trees = {name: _hierarchy(column, name) for name, column in plan.columns.items()}
    for name, values in unknown.items():
        keys = read_keys(name, spec, in_python(values, name), [1] * len(values))
        more = [None if key is None else label_of_key(key) for key in dict.fromkeys(keys)]
        known = plan.columns[name].known
        try:
            trees[name] = _hierarchy(ColumnPlan(None, (*known, *more), (*known.values(), *more)), name)
        except SpecError:
            return None
    return take_census(counted, spec, weight, trees)


def _hold_as_one(everyone: Census, decision: Decision, spec: Spec) -> bool:
    """Whether all rows that are suppressed satisfy every model as one class, those that the plan does not know with the
    others; and the rest still does, beside them."""
    plan, models = decision.recoding, promise(spec, everyone)
    recodings = [_recoding(quasi.hierarchy, plan.columns[quasi.name]) for quasi in everyone.quasi]
    _, classes = recoded(everyone, recodings)
    columns = [plan.columns[name] for name in everyone.names]
    blocks = [dict(zip(column.leaves, column.labels, strict=True)) for column in columns]
    failing = {
        tuple(column.labels[leaf] for column, leaf in zip(columns, leaves, strict=True)) for leaves in plan.suppressed
    }
    goes = []
    for codes in everyone.codes.tolist():
        leaves = [quasi.hierarchy.labels[code] for quasi, code in zip(everyone.quasi, codes, strict=True)]
        there = all(leaf in block for leaf, block in zip(leaves, blocks, strict=True))
        goes.append(not there or tuple(block[leaf] for leaf, block in zip(leaves, blocks, strict=True)) in failing)
    chosen = np.unique(classes.member[: len(everyone.weights)][np.array(goes)])
    together = merged(classes, chosen)
    models.judge(together)
    return not together.fails[: together.size].any()


def _hierarchy(column: ColumnPlan, where: str) -> Hierarchy:
    """Return the tree that a plan stands for: each leaf under its label, each label under one root."""
    paths = []
    for leaf, label in column.known.items():
        if leaf is not None:
            paths.append((leaf, ROOT) if label in (leaf, ROOT) or label is None else (leaf, label, ROOT))
    if not paths:
        return Hierarchy.from_tree({}, missing=True, where=where)
    return Hierarchy.from_paths(paths, missing=None in column.known, where=where)


def _recoding(hierarchy: Hierarchy, column: ColumnPlan) -> Recoding:
    """Return the recoding that takes each leaf to the node that bears its label in the plan, others to themselves."""
    label_of = column.known
    nodes = [hierarchy.node_index[label_of.get(leaf, leaf)] for leaf in hierarchy.labels[: hierarchy.leaves]]
    return by_nodes(hierarchy, np.array(nodes, np.int32))
