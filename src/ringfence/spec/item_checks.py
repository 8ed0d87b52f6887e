"""What a specification says of baskets: which part of the promise is theirs, and what does not go with them.

An attribute of role `items` with `privacy.k` and `privacy.m` asks for k^m-anonymity of its baskets. With
`method.name = "itemsets"` that is all there is; with any other method the quasi-identifiers are that method's, and the
baskets are treated after it, by the optimal cut.
"""

from ringfence.errors import SpecError
from ringfence.spec import Spec


def check_items(spec: Spec) -> None:
    """Refuse a specification whose parts about baskets do not fit together."""
    name = spec.items
    if name is None:
        if spec.data.basket_id is not None:
            raise SpecError(f"data.basket_id = {spec.data.basket_id!r} needs an attribute of role items")
        return
    if spec.privacy.m is None:
        raise SpecError(f"attributes.{name} has the role items, which needs privacy.k and privacy.m: k^m-anonymity")
    if spec.attributes[name].hierarchy is None:
        raise SpecError(
            f"attributes.{name} has no hierarchy, which items need; a file, a tree, or {{ fanout = 5, by = 'support' }}"
        )
    if name == spec.data.basket_id:
        raise SpecError(f"data.basket_id = {name!r} holds the items; it should say which rows make a basket")
    basket = None if spec.data.basket_id is None else spec.attributes.get(spec.data.basket_id)
    if basket is not None and basket.role != "identifier":
        raise SpecError(
            f"data.basket_id = {spec.data.basket_id!r} is published as numbers drawn at random, so its role can only be"
            f" identifier (or it has none), not {basket.role!r}"
        )
