"""What goes with a change of roles: the parts of a specification that speak of a column in its old role."""

from collections.abc import Mapping
from typing import Any

from ringfence.errors import SpecError
from ringfence.spec import Spec

BASKETS_METHOD = {"name": "itemsets"}
USUAL_METHOD = {"name": "local", "metric": "glm"}
"""What drafts say, too."""


def role_tables(parts: Mapping[str, Any], name: str, role: str, suggested: Mapping[str, Any]) -> dict[str, Any]:
    """Return the tables that change when a column gets a role; `suggested` is what a draft would say of it.

    Promises about it go where they have no meaning any more, and so do people and weights that it stood for.
    """
    if name not in parts["attributes"]:
        raise SpecError(f"there is no column {name!r}")
    attribute: dict[str, Any] = {"role": role}
    if role in ("quasi", "items"):
        attribute |= {key: value for key, value in suggested.items() if key != "role"}
        if role == "items":
            attribute["hierarchy"] = {"fanout": 5, "by": "support"}
            attribute = {key: attribute[key] for key in ("role", "hierarchy", "separator") if key in attribute}
    elif role == "sensitive" and "order" in suggested:
        attribute["order"] = suggested["order"]
    attributes = {**parts["attributes"], name: attribute}
    data = dict(parts.get("data", {}))
    if role != "identifier" and data.get("entity") == name:
        data.pop("entity")
        data.pop("composite", None)
    if role in ("quasi", "items") and data.get("weights") == name:
        data.pop("weights")
    return {
        "attributes": {name: attribute},
        "data": data,
        "privacy": _privacy(parts, attributes),
        "method": _method(parts, attributes),
        "purpose": _purpose(parts, attributes),
        **({} if _roles(attributes, "quasi") else {"output": {}}),  # counts are of quasi-identifiers
    }


def people_tables(parts: Mapping[str, Any], column: str | None) -> dict[str, Any]:
    """Return the tables that change when a column is said to tell whose a row is, or none is."""
    data = {key: value for key, value in parts.get("data", {}).items() if key not in ("entity", "composite")}
    if column is None:
        return {"data": data}
    if column not in parts["attributes"]:
        raise SpecError(f"there is no column {column!r}")
    if _roles(parts["attributes"], "items"):
        raise SpecError(
            "where there are baskets, k counts baskets and not people: put all that somebody has into one basket, or"
            " give the items another role"
        )
    tables = role_tables({**parts, "data": data}, column, "identifier", {})
    spec = Spec(**parts)
    if not spec.method.traits.counts_people:
        tables["method"] = dict(USUAL_METHOD)
    return {**tables, "data": {**data, "entity": column}}


def _roles(attributes: Mapping[str, Any], *roles: str) -> list[str]:
    return [name for name, attribute in attributes.items() if attribute["role"] in roles]


def _privacy(parts: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the promise without what is about columns that are not sensitive any more."""
    sensitive = _roles(attributes, "sensitive")
    before = _roles(parts["attributes"], "sensitive")
    privacy = dict(parts.get("privacy", {}))
    for key in ("l", "t", "alpha", "beta", "delta"):
        if key not in privacy:
            continue
        asked = privacy[key] if isinstance(privacy[key], list) else [privacy[key]]
        tables = [each if isinstance(each, dict) else {"value": each} for each in asked]
        full = [{"of": before[0], **each} for each in tables if before]
        left = [each for each in full if each["of"] in sensitive]
        if left:
            privacy[key] = left[0] if len(left) == 1 else left
        else:
            del privacy[key]
    if not sensitive:
        privacy.pop("p", None)
    if _roles(attributes, "items"):
        privacy.setdefault("m", 2)
        privacy.setdefault("k", 5)
    else:
        privacy.pop("m", None)
    return privacy


def _method(parts: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the method, another one where what it works on has gone."""
    method = dict(parts.get("method", {}))
    quasi, items = _roles(attributes, "quasi"), _roles(attributes, "items")
    if items and not quasi:
        return method if method.get("name") == "itemsets" else dict(BASKETS_METHOD)
    if method.get("name") == "itemsets":
        return dict(USUAL_METHOD)
    if "levels" in method:
        method["levels"] = {name: level for name, level in method["levels"].items() if name in quasi}
    return method


def _purpose(parts: Mapping[str, Any], attributes: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the purpose without columns that are not published any more, or not predicted from others."""
    if "purpose" not in parts:
        return None
    published = {*_roles(attributes, "quasi", "sensitive", "insensitive")}
    beside = {*_roles(attributes, "sensitive", "insensitive")}
    counts = [names for names in parts["purpose"].get("counts", []) if {*names} <= published]
    predict = [name for name in parts["purpose"].get("predict", []) if name in beside]
    found = ({"counts": counts} if counts else {}) | ({"predict": predict} if predict else {})
    return found or None
