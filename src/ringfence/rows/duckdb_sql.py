"""What expressions say in the words of DuckDB: its functions, and cells as text."""

from functools import lru_cache

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import pyarrow as pa

from ringfence.rows.duckdb_words import quoted
from ringfence.rows.in_memory import drawn
from ringfence.rows.steps import with_columns


@lru_cache(maxsize=1000)
def statement(node: ops.Node) -> str:
    """Return an expression in SQL. Tables are numbered, so that runs of one shape have equal expressions, and to put
    one into words takes longer than to carry it out on some thousand rows."""
    return some_columns(node) or str(ibis.duckdb.compile(node.to_expr()))


def some_columns(node: ops.Node) -> str | None:
    """Return in SQL what is no more than some columns of a table; None for all else. Many a job on a small file asks
    for nothing else, and then need not load what puts other expressions into words."""
    fields = {name: name for name in node.schema}
    while not isinstance(node, ops.DatabaseTable):
        if isinstance(node, ops.Project) and all(_is_of(node.parent, node.values[field]) for field in fields.values()):
            fields = {name: node.values[field].name for name, field in fields.items()}
        elif not isinstance(node, ops.DropColumns):
            return None
        node = node.parent
    columns = ", ".join(f"{quoted(field)} AS {quoted(name)}" for name, field in fields.items())
    return f"SELECT {columns} FROM {quoted(node.name)}"


def _is_of(table: ops.Node, value: ops.Value) -> bool:
    """Whether a value is a column of a table as it is."""
    return isinstance(value, ops.Field) and value.rel == table


@ibis.udf.scalar.builtin(signature=((dt.string,), dt.Decimal(38, 0)))
def md5_number(text):  # type: ignore[no-untyped-def]  # what Ibis wants
    """The hash of a text as a number, by DuckDB."""


@ibis.udf.scalar.builtin(name="getvariable", signature=((dt.string,), dt.string))
def variable(called):  # type: ignore[no-untyped-def]  # what Ibis wants
    """A variable of DuckDB."""


def draw(cells: pa.Array) -> pa.Array:
    """Return a number of 64 bits for each cell, from the operating system's entropy."""
    return pa.array(drawn(len(cells)))


@ibis.udf.scalar.builtin(name="ringfence_drawn", signature=((dt.int8,), dt.uint64))
def drawn_for(cell):  # type: ignore[no-untyped-def]  # what Ibis wants
    """A number for each row, drawn by `draw`."""


@ibis.udf.scalar.builtin(name="hash")  # type: ignore[untyped-decorator]
def engine_hash(cells) -> dt.uint64:  # type: ignore[no-untyped-def]  # what Ibis wants
    """A number of 64 bits for some cells, by DuckDB."""


def fractions_as_text(rows: ibis.Table) -> ibis.Table:
    """Return rows with fractions as text."""
    fractions = [name for name, kind in rows.schema().items() if kind.is_floating() or kind.is_decimal()]
    return with_columns(rows, {name: as_text(rows[name]) for name in fractions})


def as_text(column: ibis.Value) -> ibis.Value:
    """Return values as text, whole numbers without a fraction as labels have them: gaps turn integers into floats.

    Decimals always have a digit before the point: the engine writes .5 where their type has no place for one.
    """
    kind = column.type()
    if isinstance(kind, dt.Decimal) and kind.precision == kind.scale and (kind.precision or 38) < 38:
        column = column.cast(dt.Decimal(kind.precision + 1, kind.scale))
    if not kind.is_floating():
        return column.cast(dt.string)
    whole = column.try_cast(dt.int64)  # rounds, and is missing for what is too large
    same = (column.abs() < 2**53) & (whole.cast("float64") == column.cast("float64"))
    return ibis.ifelse(same, whole.cast(dt.string), column.cast(dt.string))
