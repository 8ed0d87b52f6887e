"""What there is to choose from, for a table and a promise: read from the methods, metrics and schemes themselves."""

from collections.abc import Mapping
from typing import Any, get_args

from ringfence.declared import BASKETS, BUCKETS, METHODS, METRICS, SCHEMES, MethodTraits
from ringfence.errors import SpecError
from ringfence.methods.catalogue import catalogue
from ringfence.methods.checks import check_available
from ringfence.spec import Spec
from ringfence.spec.attributes import Role
from ringfence.spec.hierarchies import CodeSystem, DatePart
from ringfence.spec.method import MethodTable

ROLES: dict[Role, str] = {
    "identifier": "names a person; left out of the release",
    "quasi": "others may know it, and find a person by it; made coarser until nobody stands out",
    "sensitive": "nobody should learn it about a person; published as it is",
    "insensitive": "neither identifies nor hurts anybody; published as it is",
    "items": "baskets: lists of items, by a few of which somebody could be found",
}

OPTIONS: dict[str, str] = {
    "scheme": "which values may be published under one label",
    "metric": "the loss to keep small",
    "suppression": "the share of rows that may be left out",
    "time_limit": "seconds that a search may take; it then ends with the best so far",
    "effort": "how long to look for better groups",
    "representation": "what a group is published as",
    "labels": "whether labels may tell which values a group has",
    "target": "the column whose values are to be predicted",
    "homogeneous": "publish each group alike",
    "relaxed": "rows of the same value may go to different halves",
}
"""The options of methods that the form offers; a specification has some more."""


def choices(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return the methods that can keep the promise on this table, with their options, and why the others cannot; and
    whether counts of values can be published beside what was chosen, or are asked for."""
    fitting, others = [], []
    for traits in METHODS.values():
        if traits.name == "levels":
            continue  # a front is where levels are chosen
        why = refused(parts, traits)
        if why is None:
            fitting.append(_method(traits))
        else:
            others.append({"name": traits.name, "line": traits.line, "why": why})
    counted = {**parts, "output": {"counts": True}}
    counts = bool(parts.get("output")) or _complaint(counted) is None
    return {"methods": fitting, "others": others, "counts": counts}


def _method(traits: MethodTraits) -> dict[str, Any]:
    metrics = traits.losses or tuple(METRICS)
    options = [name for name in traits.options if name in OPTIONS and (name != "metric" or len(metrics) > 1)]
    return {
        "name": traits.name,
        "line": traits.line,
        "promises": list(traits.promises),
        "options": [{"name": name, "line": OPTIONS[name]} for name in options],
        "metrics": {name: METRICS[name].line for name in metrics if not METRICS[name].needs_target},
        "schemes": dict(SCHEMES) if traits.by_scheme else {},
        "suppression": traits.suppression,
        "counts": traits.way != BUCKETS,
        "metric": traits.minimized(MethodTable().metric),
    }


def refused(parts: Mapping[str, Any], traits: MethodTraits) -> str | None:
    """Say why a method cannot keep a promise on a table; None where it can."""
    spec = Spec(**parts)
    if (traits.way == BASKETS) != (not spec.of_role("quasi") and spec.items is not None):
        words = "is for baskets without quasi-identifiers" if traits.way == BASKETS else "needs a quasi-identifier"
        return f"{traits.name} {words}"
    allowed = {"name", "suppression", "time_limit"} & {*traits.options, "name"}
    method = {key: value for key, value in parts.get("method", {}).items() if key in allowed}
    method["name"] = traits.name
    if traits.by_scheme and any(spec.attributes[name].hierarchy is None for name in spec.of_role("quasi")):
        method["scheme"] = "set"
    # Counts of values go where they would say nothing: who chooses such a method does without them.
    output = {} if traits.way == BUCKETS else {"output": parts.get("output", {})}
    rest = {name: table for name, table in parts.items() if name != "output"}
    return _complaint({**rest, **output, "method": method})


def _complaint(parts: Mapping[str, Any]) -> str | None:
    try:
        check_available(Spec(**parts))
    except SpecError as error:
        return str(error)
    return None


def vocabulary() -> dict[str, Any]:
    """Return what the pages offer everywhere, each with a line."""
    return {
        "roles": dict(ROLES),
        "schemes": dict(SCHEMES),
        "front_metrics": {name: metric.line for name, metric in METRICS.items() if metric.every_k},
        "metrics": {name: metric.line for name, metric in METRICS.items()},
        "meanings": {name: metric.meaning for name, metric in METRICS.items()},
        "attacks": catalogue()["attacks"],
        "models": catalogue()["models"],
        "date_parts": list(get_args(DatePart)),
        "code_systems": list(get_args(CodeSystem)),
    }
