"""Purpose: what users want of a release, as far as groups made for use can follow it.

Only names of attributes are looked at, and no values: groups tell no more of anybody than they would without a purpose.
"""

from dataclasses import replace

from ringfence.census.census import Census
from ringfence.spec import Spec

UNASKED = 0.25
"""What an attribute that no wanted table has counts beside others. Found by trying on Adult at k = 5; less still helps
tables that are wanted a little, but what nobody thought of asking for should be of some use, too."""


def wants_counts(spec: Spec) -> bool:
    """Whether users count rows: they do unless models are all that they name.

    Prices put the counts of values right in all groups together, by reading them too seldom in some and too often in
    others. A model takes either for what goes with these groups.
    """
    return spec.purpose.predict is None or spec.purpose.counts is not None


def for_purpose(census: Census, spec: Spec) -> Census:
    """Return a census for groups made for use: attributes that nothing of the purpose is about count less in it.

    A model is about all quasi-identifiers. Where a purpose is about none of them, all of them count as they did.

    >>> import pyarrow as pa
    >>> from ringfence.census.census import take_census
    >>> roles = {name: {"role": "quasi", "hierarchy": "flat"} for name in ("town", "job")}
    >>> spec = Spec(attributes=roles, method={"name": "local", "metric": "use"}, purpose={"counts": [["job"]]})
    >>> counted = pa.table({"town": ["a", "b"], "job": ["cook", "smith"], "rows": [1, 1]})
    >>> [quasi.weight for quasi in for_purpose(take_census(counted, spec, "rows"), spec).quasi]
    [0.25, 1.0]
    """
    purpose = spec.purpose
    asked = {name for names in purpose.counts or [] for name in names}
    if spec.method.minimized != "use" or purpose.predict is not None or not asked & {*census.names}:
        return census
    quasi = (each if each.name in asked else replace(each, weight=UNASKED * each.weight) for each in census.quasi)
    return replace(census, quasi=tuple(quasi))
