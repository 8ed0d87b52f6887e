"""Keys of a specification against its other keys: names of attributes that there are, and promises that go together."""

from functools import partial
from typing import TYPE_CHECKING, get_args

from ringfence.errors import SpecError, listed, suggestion
from ringfence.spec.attributes import Role
from ringfence.spec.hierarchies import (
    DateHierarchy,
    FileHierarchy,
    IntervalHierarchy,
    PathsHierarchy,
    TreeHierarchy,
)

if TYPE_CHECKING:
    from ringfence.spec import Spec


def check_purpose(spec: "Spec") -> None:
    """Refuse columns of [purpose] that it cannot be about."""
    for names in spec.purpose.counts or []:
        for name in names:
            _check_known(spec, "purpose.counts", name, "quasi", "sensitive", "insensitive")
    for name in spec.purpose.predict or []:
        _check_known(spec, "purpose.predict", name, "sensitive", "insensitive")
    if spec.purpose.predict and not spec.of_role("quasi"):
        raise SpecError("purpose.predict is about models from quasi-identifiers, and there are none")


def check_parts(spec: "Spec") -> None:
    """Refuse keys that do not go with the other keys."""
    known = partial(_check_known, spec)
    if spec.data.weights in spec.of_role("quasi", "items"):
        raise SpecError(
            f"data.weights = {spec.data.weights!r} is an attribute that is published recoded, and weights are added"
            " up as they are; name a column of numbers with the role insensitive or identifier"
        )
    for diversity in spec.diversities():
        known("privacy.l.of", diversity.of, "sensitive")
    for closeness in spec.closenesses():
        known("privacy.t.of", closeness.of, "sensitive")
        attribute = spec.attributes[closeness.attribute]
        if closeness.distance == "ordered" and not attribute.ordered:
            raise SpecError(f"privacy.t.distance = 'ordered' needs attributes.{closeness.of}.order")
        fixed = FileHierarchy | PathsHierarchy | TreeHierarchy | IntervalHierarchy | DateHierarchy
        if closeness.distance == "hierarchical" and not isinstance(attribute.hierarchy, fixed):
            raise SpecError(
                f"privacy.t.distance = 'hierarchical' needs attributes.{closeness.of}.hierarchy to be a file,"
                " a tree, intervals or dates: others change when rows are suppressed"
            )
    for key, bound in spec.bounds().items():
        known(f"privacy.{key}.of", bound.of, "sensitive")
    for name in spec.method.levels or {}:
        known("method.levels", name, "quasi")
    if spec.method.target is not None:
        known("method.target", spec.method.target, *get_args(Role))
    if spec.privacy.p is not None and not spec.of_role("sensitive"):
        raise SpecError(f"privacy.p = {spec.privacy.p} needs at least one attribute of role sensitive")
    if spec.privacy.m is not None and spec.items is None:
        raise SpecError(f"privacy.m = {spec.privacy.m} needs an attribute of role items")
    if spec.privacy.m is not None and spec.privacy.k is None:
        raise SpecError(f"privacy.m = {spec.privacy.m} needs privacy.k beside it: k^m-anonymity")
    if len(spec.of_role("items")) > 1:
        raise SpecError(f"at most one attribute may have the role items; there are: {listed(spec.of_role('items'))}")


def _check_known(spec: "Spec", key: str, name: str | None, *roles: Role) -> None:
    """Refuse a name that is not that of an attribute of these roles."""
    names = spec.of_role(*roles)
    if name is not None and name not in names:
        raise SpecError(
            f"{key} = {name!r} is not an attribute of role {' or '.join(roles)}{suggestion(name, names)};"
            f" there are: {listed(names)}"
        )
