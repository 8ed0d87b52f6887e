"""The judgement of baskets, by their labels and beside those of the original."""

from collections.abc import Collection

import ibis
import numpy as np

from ringfence.audit.basket_form import form_findings, order_notes
from ringfence.audit.evidence import Evidence
from ringfence.audit.labels.growing import stated_tree
from ringfence.audit.labels.item_labels import ItemLabels
from ringfence.audit.models.km_anonymity import judge_baskets
from ringfence.audit.trace.against import complete
from ringfence.audit.trace.basket_tracing import labels_beside, trace_baskets
from ringfence.rows.basket_rows import CountedBaskets, as_baskets, count_baskets, gather
from ringfence.rows.engine import Engine
from ringfence.rows.sources import ROWS
from ringfence.spec import Spec


def rows_beside(
    engine: Engine, original: ibis.Table, spec: Spec, also: Collection[str] = (), *, baskets: bool = False
) -> ibis.Table:
    """Return the rows of an original that a release can be traced back to: of a long table, one a basket.

    Baskets themselves are there if they are asked for, and columns without a role if these are `also` published.
    """
    if spec.items is None:
        return original
    basket, role_less = [spec.data.basket_id, spec.items], also if spec.data.unlisted == "publish" else ()
    shown = {*basket, *role_less, *spec.attributes} - {*spec.of_role("identifier")}
    rows = gather(engine, original, spec, [name for name in original.columns if name in shown])
    return rows if baskets else rows.drop(spec.items)


def baskets_beside(
    engine: Engine, rows: ibis.Table, original: ibis.Table, spec: Spec
) -> tuple[ibis.Table, ibis.Table, ItemLabels]:
    """Return the rows of an original and of a release that baskets are traced back with, and under which labels the
    items of the one are published in the other."""
    known = rows_beside(engine, original, spec, rows.columns, baskets=True)
    published, bought = (count_baskets(engine, each, spec) for each in (rows, complete(known, spec)))
    whole = bool(published.rows.sum() == bought.rows.sum())
    return known, rows, labels_beside(published, bought, spec, complete=whole)


def judge_labels_of_baskets(
    evidence: Evidence,
    engine: Engine,
    rows: ibis.Table,
    spec: Spec,
    m: int,
    original: ibis.Table | None,
    items: ItemLabels | None,
) -> None:
    """Judge baskets by their labels, and these by the item tree where it is known: from the specification alone, or
    from the `items` of the original.

    Where there are quasi-identifiers, baskets are traced back with them.
    """
    name, alone = spec.item_column, not spec.of_role("quasi")
    counted = engine.count(rows, [name])
    baskets = CountedBaskets(as_baskets(counted[name], spec), counted[ROWS].to_numpy().astype(np.int64))
    found = [*form_findings(counted[name], baskets.rows, spec)]
    if spec.data.basket_id is None:  # the baskets of a long table have no order of their own
        evidence.notes += order_notes(baskets.lists, baskets.rows, name)
    measured: dict[str, int] = {}
    if original is not None and alone:
        bought = rows_beside(engine, original, spec, rows.columns, baskets=True)
        items = labels_beside(baskets, count_baskets(engine, bought, spec), spec, complete=True)
        shared = [each for each in rows.columns if each in bought.columns]
        traced, measured = trace_baskets(engine.count(rows, shared), engine.count(bought, shared), items, spec)
        found += traced
    tree = stated_tree(name, spec) if items is None or items.tree is None else items.tree
    judged = judge_baskets(baskets.lists, tree, spec.k, m, name, baskets.rows)
    measured = {**(measured if alone else {}), "k" if alone else f"k:{name}": judged.measured["k"]}
    evidence.add([*judged.findings, *found], {**measured, "m": judged.measured["m"]})
