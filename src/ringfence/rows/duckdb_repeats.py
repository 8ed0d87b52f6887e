"""What DuckDB knows of rows that repeat (`repeated`): views of the different ones, and orders that were drawn."""

from collections.abc import Callable
from dataclasses import dataclass, field

import ibis
import ibis.expr.operations as ops

from ringfence.rows.repeated import DrawnOrder, Repeated


@dataclass(frozen=True, eq=False)
class Collapsed:
    """Rows that repeat; the different ones as a table of the engine, with how often each is there in the column `ROWS`;
    and what they were read from."""

    rows: Repeated
    counted: ibis.Table
    source: ibis.Table


@dataclass(frozen=True, eq=False)
class Repeats:
    """The views of a connection whose rows repeat, and its tables that are such rows in an order that was drawn."""

    views: dict[str, Collapsed] = field(default_factory=dict)
    orders: dict[str, DrawnOrder] = field(default_factory=dict)

    def view(self, rows: ibis.Table) -> Collapsed | None:
        """Return what is known of rows, if these are just those of a view."""
        return self.views.get(_name(rows))

    def order(self, rows: ibis.Table) -> DrawnOrder | None:
        """Return the order that was drawn, if rows are just those of a table."""
        return self.orders.get(_name(rows))

    def as_they_came(self, node: ops.Node) -> ops.Node:
        """Return an expression about the sources of views in the place of these: there, rows have their order."""
        tables = node.find(ops.DatabaseTable)
        sources = {table: self.views[table.name].source.op() for table in tables if table.name in self.views}
        replaced: ops.Node = node.replace(sources) if sources else node
        return replaced

    def forget(self, is_gone: Callable[[str], bool]) -> None:
        """Forget what has a name that goes."""
        for known in (self.views, self.orders):
            for name in [*filter(is_gone, known)]:
                del known[name]


def _name(rows: ibis.Table) -> str:
    node = rows.op()
    return node.name if isinstance(node, ops.DatabaseTable) else ""
