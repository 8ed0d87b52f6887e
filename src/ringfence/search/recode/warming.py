"""Kernels, compiled or loaded before the clock of a search starts: by one of the same kind in a table of eight rows.

After an installation they are compiled, which takes some seconds each; after that they are loaded, in a tenth of it.
"""

from typing import Any

import pyarrow as pa

from ringfence.census.census import Census, take_census
from ringfence.spec import Spec

ROWS = "rows"
TREE = {"tree": {"x": ["a", "b"], "y": ["c", "d"]}}


def small_question(spec: Spec) -> tuple[Census, Spec]:
    """Return a small census and what is asked of it: the schemes, loss and kinds of models of a specification."""
    schemes = sorted({spec.scheme_of(name) for name in spec.of_role("quasi")})
    columns: dict[str, Any] = {f"q{a}": list("abcdabca") for a in range(len(schemes) + 1)}
    attributes: dict[str, Any] = {
        name: {"role": "quasi", "hierarchy": TREE, "scheme": scheme}
        for name, scheme in zip(columns, [*schemes, schemes[0]], strict=True)
    }
    columns["s"] = list("uvuvuvvv")
    attributes["s"] = {"role": "sensitive", "order": ["u", "v"], "hierarchy": {"tree": {"x": ["u"], "y": ["v"]}}}
    kinds = {part.kind for part in spec.diversities()} | ({"distinct"} if spec.privacy.p is not None else set())
    privacy: dict[str, Any] = {
        "k": 2,
        "l": [
            {"value": 1, "kind": kind, "of": "s"} | ({"c": 9} if kind == "recursive" else {}) for kind in sorted(kinds)
        ],
        "t": [{"value": 1.0, "of": "s", "distance": part.distance} for part in spec.closenesses()],
    }
    method: dict[str, Any] = {"metric": spec.method.metric, "suppression": 0.3, "time_limit": 600.0}
    data: dict[str, Any] = {}
    if spec.data.entity is not None:
        columns["who"] = list("12345678")
        data = {"entity": "who"}
    small = Spec(
        data=data,
        attributes=attributes,
        privacy={key: asked for key, asked in privacy.items() if asked},
        method=method | ({"target": "s"} if spec.method.metric == "ce" else {}),
    )
    return take_census(pa.table({**columns, ROWS: [1] * 8}), small, ROWS), small
