"""Which front a project's specification stands for."""

from collections.abc import Mapping
from typing import Any

from ringfence.errors import SpecError
from ringfence.spec import Spec

OVERLAID = (2, 3, 5, 10, 20, 50, 100)
"""The k that freer schemes are searched for."""


def front_parts(
    parts: Mapping[str, Any],
    scheme: str,
    metric: str,
    suppression: float,
    *,
    secrets: bool = False,
    seconds: float | None = None,
) -> dict[str, Any]:
    """Return the specification of a front over a table: of every k alone, or with what is asked of `secrets` as well.

    With these (l, p, t), nothing may be suppressed. Attributes without a hierarchy go as they are or are hidden, and
    all have the same scheme. Baskets are not a matter of fronts.
    """
    spec = Spec(**parts)
    quasi = spec.of_role("quasi")
    if not quasi:
        raise SpecError(
            "a front shows what every k costs in quasi-identifiers, and this table has none; give a column the role"
            " quasi, or go on to the release"
        )
    if spec.data.composite:
        raise SpecError("data.composite = true: a front is over classes of rows; leave it out to count people in these")
    attributes: dict[str, Any] = {}
    for name, attribute in parts["attributes"].items():
        if attribute["role"] == "items":
            continue
        attributes[name] = {key: value for key, value in attribute.items() if key != "scheme"}
        if name in quasi:
            attributes[name].setdefault("hierarchy", "flat")
    asked = {key: value for key, value in parts.get("privacy", {}).items() if key in ("l", "p", "t")}
    privacy = asked if secrets else {}
    data = dict(parts["data"])
    if spec.items is not None:
        data |= {"unlisted": "drop"}
    method: dict[str, Any] = {"name": "optimal", "scheme": scheme, "metric": metric, "suppression": suppression}
    if privacy:
        method["suppression"] = 0
    if seconds is not None:
        method["time_limit"] = seconds
    found: dict[str, Any] = {"data": data, "attributes": attributes, "privacy": privacy, "method": method}
    if scheme != "level":
        found["frontier"] = {"k": list(OVERLAID)}
    return found


def chosen_tables(parts: Mapping[str, Any], scheme: str, front_spec: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return the tables of a specification that change when a point of a front is chosen.

    What is asked of secrets stays asked, whether the front knew of it or not.
    """
    front, method = front_spec["attributes"], front_spec["method"]
    return {
        "attributes": {
            name: front[name] for name, given in parts["attributes"].items() if front.get(name, given) != given
        },
        "privacy": {**parts.get("privacy", {}), "k": k},
        "method": {key: method[key] for key in ("name", "metric", "suppression")} | {"scheme": scheme},
    }
