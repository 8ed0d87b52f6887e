"""What a specification says of baskets: which part of the promise is theirs, and what does not go with them.

An attribute of role `items` with `privacy.k` and `privacy.m` asks for k^m-anonymity of its baskets. With
`method.name = "itemsets"` that is all there is; with any other method the quasi-identifiers are that method's, and the
baskets are treated after it, by the optimal cut.
"""

from ringfence.errors import SpecError, listed
from ringfence.spec import Spec

SEARCHES = ("auto", "optimal", "direct", "apriori", "breadth-first")
RELATIONAL_SEARCHES = ("auto", "bottom-up", "top-down")


def check_items(spec: Spec) -> None:
    """Refuse a specification whose parts about baskets do not fit together."""
    name, method = spec.items, spec.method
    alone = method.name == "itemsets"
    if name is None:
        for key, asked in (("method.name", alone and method.name), ("data.basket_id", spec.data.basket_id)):
            if asked:
                raise SpecError(f"{key} = {asked!r} needs an attribute of role items")
        return
    if spec.privacy.m is None:
        raise SpecError(f"attributes.{name} has the role items, which needs privacy.k and privacy.m: k^m-anonymity")
    if spec.attributes[name].hierarchy is None:
        raise SpecError(
            f"attributes.{name} has no hierarchy, which items need; a file, a tree, or {{ fanout = 5, by = 'support' }}"
        )
    if name == spec.data.basket_id:
        raise SpecError(f"data.basket_id = {name!r} holds the items; it should say which rows make a basket")
    basket = spec.attributes.get(spec.data.basket_id or "")
    if basket is not None and basket.role != "identifier":
        raise SpecError(
            f"data.basket_id = {spec.data.basket_id!r} is published as numbers drawn at random, so its role can only be"
            f" identifier (or it has none), not {basket.role!r}"
        )
    if alone:
        _check_alone(spec)


def _check_alone(spec: Spec) -> None:
    """Refuse what only quasi-identifiers have."""
    method, privacy = spec.method, spec.privacy
    if quasi := spec.of_role("quasi"):
        raise SpecError(
            f"method.name = 'itemsets' is for tables without quasi-identifiers, but there are: {listed(quasi)}; name"
            " the method for these, such as 'optimal': with privacy.m the baskets are made k^m-anonymous all the same"
        )
    for key, asked in (("l", privacy.l), ("p", privacy.p), ("t", privacy.t)):
        if asked is not None:
            raise SpecError(f"privacy.{key} is about classes, and there are none without quasi-identifiers")
    if method.search not in SEARCHES:
        raise SpecError(f"method.search = {method.search!r} is not for 'itemsets'; allowed: {listed(SEARCHES)}")
    if "metric" in method.model_fields_set and method.metric != "ncp":
        raise SpecError(f"method.metric = {method.metric!r}: the method 'itemsets' minimizes ncp")
