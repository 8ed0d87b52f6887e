"""Sample baskets of a shop, with the tree of what is sold."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.samples.drawing import draw, leaves, texts, uniform_numbers, write_sample
from ringfence.spec import Spec

# In each list the commoner items stand first, and lists stand before tables, as in TOML: so a file keeps the order.
BASKET_TREE: dict[str, Any] = {
    "Chemist": ["toothpaste", "shampoo", "soap", "plasters", "painkillers", "nicotine gum", "pregnancy test"],
    "Food": {
        "Bakery": ["bread", "rolls", "crispbread", "cake", "lefse"],
        "Dry goods": ["coffee", "pasta", "rice", "flour", "sugar", "oats", "tea", "saffron"],
        "Sweets": ["chocolate", "crisps", "ice cream", "liquorice"],
        "Tacos": ["tortillas", "taco sauce", "sour cream"],
        "Eggs": ["eggs"],
        "Dairy": {
            "Milk products": ["milk", "butter", "yoghurt", "cream", "buttermilk"],
            "Cheese": ["brown cheese", "gouda", "feta", "blue cheese"],
        },
        "Fruit and vegetables": {
            "Fruit": ["bananas", "apples", "oranges", "grapes", "mangoes", "lychees"],
            "Vegetables": ["tomatoes", "potatoes", "cucumber", "carrots", "onions", "peppers", "kale", "okra"],
        },
        "Meat and fish": {
            "Meat": ["minced meat", "chicken", "sausages", "ham", "lamb", "reindeer"],
            "Fish": ["cod", "salmon", "shrimps", "stockfish"],
        },
    },
    "Drink": {"Soft drinks": ["cola", "juice", "mineral water", "squash"], "Alcohol": ["beer", "cider", "mead"]},
    "Household": {
        "Cleaning": ["toilet paper", "detergent", "washing powder", "sponges", "silver polish"],
        "Baby": ["nappies", "wet wipes", "baby food", "teats"],
        "Pets": ["cat food", "dog food", "cat litter", "bird seed"],
    },
}
TRIPS: dict[str, tuple[float, list[str]]] = {  # what customers come for: how often, and the groups they take more of
    "top-up": (40, ["Dairy", "Bakery"]),
    "weekly": (26, ["Fruit and vegetables", "Meat and fish", "Dry goods"]),
    "friday": (16, ["Tacos", "Sweets", "Soft drinks", "Alcohol"]),
    "family": (8, ["Milk products", "Cleaning", "Baby"]),
    "pets": (5, ["Pets"]),
    "chemist": (5, ["Chemist"]),
}


def baskets(rows: int = 10_000, seed: int = 2008) -> pa.Table:
    """Return made-up shopping baskets: a receipt number each, and 1 to 20 different items.

    A few items are in many baskets, and most are in few. What a customer comes for makes the items of some groups
    likelier, so these occur together.

    >>> baskets(2)["receipt"].to_pylist()
    ['R000001', 'R000002']
    """
    uniforms = uniform_numbers(rows, seed)
    trip = draw(next(uniforms), np.array([share for share, _ in TRIPS.values()]))
    size = 1 + draw(next(uniforms), np.power(0.82, np.arange(20)))
    items, groups, ranks = zip(*leaves(BASKET_TREE), strict=True)
    wanted = [[not above.isdisjoint(more) for above in groups] for _, more in TRIPS.values()]
    rates = np.exp(-0.7 * np.array(ranks)) * np.where(wanted, 8, 1)
    # The first of exponential waiting times: drawing by weight without putting back (Efraimidis and Spirakis, Weighted
    # random sampling with a reservoir, 2006).
    waiting = -np.log1p(-np.column_stack([next(uniforms) for _ in items])) / rates[trip]
    taken = np.argsort(waiting, axis=1, kind="stable")[np.arange(len(items)) < size[:, None]]
    numbers = pc.utf8_lpad(pa.array(np.arange(1, rows + 1)).cast(pa.string()), 6, "0")
    ends = pa.array(np.concatenate([[0], size.cumsum()]), pa.int32())
    return pa.table(
        {
            "receipt": pc.binary_join_element_wise("R", numbers, ""),
            "basket": pa.ListArray.from_arrays(ends, texts(items, taken)),
        }
    )


def baskets_spec() -> Spec:
    """Return a specification for `baskets`: whoever knows two items of a basket still faces five baskets.

    >>> baskets_spec().of_role("items")
    ['basket']
    """
    return Spec(
        attributes={
            "receipt": {"role": "identifier"},
            "basket": {"role": "items", "hierarchy": {"tree": BASKET_TREE}},
        },
        privacy={"k": 5, "m": 2},
        method={"name": "itemsets"},
    )


def write_baskets(folder: Path, rows: int = 10_000, seed: int = 2008) -> Path:
    """Write baskets.csv, items between semicolons, and a baskets.toml that specifies it; return the latter's path."""
    table, spec = baskets(rows, seed), baskets_spec()
    text = pc.binary_join(table["basket"], "; ")
    attribute = spec.attributes["basket"].model_copy(update={"separator": ";"})
    attribute.model_fields_set.add("separator")
    spec = spec.model_copy(update={"attributes": {**spec.attributes, "basket": attribute}})
    return write_sample(folder, "baskets", table.set_column(1, "basket", text), spec)
