"""The judgement of baskets, by their labels and beside those of the original."""

import ibis
import numpy as np

from ringfence.audit.basket_form import form_findings
from ringfence.audit.labels.growing import stated_tree
from ringfence.audit.models.km_anonymity import judge_baskets
from ringfence.audit.trace.basket_tracing import item_tree, trace_baskets
from ringfence.audit.verdict import Finding
from ringfence.rows.basket_rows import CountedBaskets, as_baskets, count_baskets, gather
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec


def rows_beside(engine: Engine, original: ibis.Table, spec: Spec) -> ibis.Table:
    """Return the rows of an original that a release can be traced back to: of a long table, one a basket."""
    if spec.items is None:
        return original
    basket = [spec.data.basket_id, spec.items]
    hidden = [*spec.of_role("identifier"), *(name for name in original.columns if name not in spec.attributes)]
    columns = [name for name in original.columns if name in basket or name not in hidden]
    return gather(engine, original, spec, columns).drop(spec.items)


def judge_labels_of_baskets(
    engine: Engine, rows: ibis.Table, spec: Spec, m: int, original: ibis.Table | None
) -> tuple[list[Finding], dict[str, int]]:
    """Judge baskets by their labels, and these by the item tree where the specification alone determines it.

    A tree that was made from the items of the original can be made again from the original, if all of its rows took
    part: where there are quasi-identifiers as well, only those did that were not suppressed. Then it is left out.
    """
    name, alone = spec.item_column, not spec.of_role("quasi")
    counted = engine.count(rows, [name])
    baskets = CountedBaskets(as_baskets(counted[name], spec), counted[ROWS].to_numpy().astype(np.int64))
    tree = stated_tree(name, spec)
    found = [*form_findings(counted[name], baskets.rows, spec)]
    measured: dict[str, int] = {}
    if original is not None and (tree is not None or alone):
        known = [spec.data.basket_id, name]
        shown = [
            each for each in original.columns if each in known or (each in rows.columns and each in spec.attributes)
        ]
        bought = count_baskets(engine, gather(engine, original, spec, shown), spec)
        tree = item_tree(bought, spec)
        traced, measured = trace_baskets(baskets, bought, tree, spec)
        found += traced
    judged = judge_baskets(baskets.lists, tree, spec.k, m, name, baskets.rows)
    measured = {**(measured if alone else {}), "k" if alone else f"k:{name}": judged.measured["k"]}
    return [*judged.findings, *found], {**measured, "m": judged.measured["m"]}
