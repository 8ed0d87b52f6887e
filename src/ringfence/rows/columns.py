"""The columns of a table beside those of its specification: which must be there, and which are published."""

import json
from collections.abc import Sequence

import ibis

from ringfence.errors import DataError, SpecError, listed, suggestion
from ringfence.rows.engine import Engine
from ringfence.rows.sources import BUCKET, COUNT
from ringfence.spec import Spec

DELIMITERS = (";", "\t", "|", ",", ":")
"""What may stand between fields, other than what was said."""


def check_columns(columns: Sequence[str], spec: Spec) -> None:
    """Check the columns of the data against the specification."""
    basket, entity = spec.data.basket_id, spec.data.entity
    require_columns(columns, [*spec.attributes, *(name for name in (basket, entity) if name is not None)])
    named = [("types", name) for name in spec.data.types]
    for key, name in [*named, *([("weights", spec.data.weights)] if spec.data.weights is not None else [])]:
        if name not in columns:
            raise DataError(
                f"data.{key} names the column {name!r}{suggestion(name, columns)}, which the data does not have;"
                f" its columns are: {listed(map(repr, columns))}"
            )
    unlisted = _unlisted(columns, spec)
    if unlisted and spec.data.unlisted == "error":
        raise SpecError(
            f"columns without a role: {listed(map(repr, unlisted))}; give each a role under [attributes],"
            " or set data.unlisted to 'drop' or 'publish'"
        )
    if spec.has_buckets:
        _refuse_taken(columns, spec)
    _check_partitions(published(columns, spec), spec)


def published(columns: Sequence[str], spec: Spec) -> list[str]:
    """Return the columns of the data that are published, in their order.

    The basket's number in a long table is one of them, whatever its role: it is published anew. Whose a row is
    (`data.entity`) is not, unless it is published anew as well (`data.composite`), and neither is a sensitive attribute
    that is published by the bucket, in a table of its own.
    """
    hidden = {*_left_out(columns, spec)} - ({spec.data.entity} if spec.data.composite else set())
    if spec.has_buckets:
        hidden |= {*spec.of_role("sensitive")}
    return [name for name in columns if name not in hidden or name == spec.data.basket_id]


def columns_read(columns: Sequence[str], spec: Spec) -> list[str]:
    """Return the columns of the data that anything looks at: nobody reads names that are left out of a release."""
    kept = {spec.data.entity, spec.data.basket_id, spec.data.weights}
    left_out = {*_left_out(columns, spec)} - kept
    return [name for name in columns if name not in left_out]


def _left_out(columns: Sequence[str], spec: Spec) -> list[str | None]:
    dropped = _unlisted(columns, spec) if spec.data.unlisted == "drop" else []
    return [*spec.of_role("identifier"), spec.data.entity, *dropped]


def _unlisted(columns: Sequence[str], spec: Spec) -> list[str]:
    """Return the columns without a role."""
    return [
        name for name in columns if name not in spec.attributes and name not in (spec.data.basket_id, spec.data.entity)
    ]


def _check_partitions(published: Sequence[str], spec: Spec) -> None:
    """Refuse to make folders of what is not published: their names are read like any cell."""
    parts = spec.output.partition_by
    for name in parts:
        if name not in published:
            raise SpecError(
                f"output.partition_by names {name!r}{suggestion(name, published)}, which is not a column of the"
                f" release; its columns are: {listed(map(repr, published))}"
            )
    if parts and {*published} <= {*parts}:
        raise SpecError("output.partition_by names all columns of the release: none is left for its files")


def _refuse_taken(columns: Sequence[str], spec: Spec) -> None:
    """Refuse names that the two tables of Anatomy need for themselves; the engine ignores case."""
    sensitive = spec.of_role("sensitive")
    for name in columns:
        if name.casefold() == BUCKET or (name.casefold() == COUNT and name in sensitive):
            raise SpecError(
                f"the data has a column {name!r}, the name of a column that the method 'anatomy' adds; rename yours"
            )


def weights_total(engine: Engine, rows: ibis.Table, name: str) -> float | None:
    """Return what the survey weights of rows add up to, None where there are none; refuse what is no weight."""
    cell = rows[name]
    number = engine.cast_or_none(cell.cast("string").strip(), "float64")
    wrong = rows.filter(cell.notnull() & (number.isnull() | number.isnan() | number.isinf() | (number < 0)))
    first = engine.fetch(wrong.select(cell.cast("string").name(name)).limit(1))[name].to_pylist()
    if first:
        raise DataError(f"data.weights = {name!r} has {first[0]!r}, which is no weight; allowed: numbers from 0 on")
    total = engine.fetch(rows.aggregate(number.sum().name(name)))[name][0].as_py()
    return None if total is None else float(total)


def require_columns(columns: Sequence[str], needed: Sequence[str], whose: str = "the data") -> None:
    """Refuse data without a column that is needed."""
    for name in needed:
        if name not in columns:
            spaced = f" {name}" in columns
            hint = (
                '; names begin with a blank: set data.delimiter = ", "'
                if spaced
                else delimiter_hint(columns, needed)
                or f"{suggestion(name, columns)}; its columns are: " + listed(map(repr, columns))
            )
            raise DataError(f"{whose} has no column {name!r}{hint}")


def delimiter_hint(columns: Sequence[str], needed: Sequence[str]) -> str:
    """Say what seems to stand between fields where a table has come as one column; nothing where it has not.

    >>> print(delimiter_hint(["age;city"], ["age"]))
    ; its only column is 'age;city', as if fields were apart by ';': set data.delimiter = ";"
    """
    if len(columns) != 1:
        return ""
    for delimiter in DELIMITERS:
        parts = [part.strip(" \"'") for part in columns[0].split(delimiter)]
        if len(parts) > 1 and any(name in parts for name in needed):
            apart = f"as if fields were apart by {delimiter!r}: set data.delimiter = {json.dumps(delimiter)}"
            return f"; its only column is {columns[0]!r}, {apart}"
    return ""
