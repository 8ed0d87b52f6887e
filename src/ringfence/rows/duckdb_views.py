"""Views of DuckDB: rows under a name, so that what is done to them is put into words without what was done before; and
columns that come along as one."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops

from ringfence.rows.duckdb_words import quoted
from ringfence.rows.engine import Engine
from ringfence.rows.sources import OWN

MANY = 30
"""Columns that are not looked at come along as one if they are so many."""
OTHERS = f"{OWN} others"
"""What that is called: no column of a table is."""


class Views(Engine):
    """An engine that can give expressions a name."""

    @abstractmethod
    def _statement(self, rows: ibis.Table) -> str:
        """Return an expression in SQL."""

    @abstractmethod
    def _view(self, query: str, schema: ibis.Schema | None = None) -> ibis.Table:
        """Return the rows of a query; `schema` are its columns where they are known."""

    def named(self, rows: ibis.Table) -> ibis.Table:
        """Return rows as a view, unless they have a name."""
        if isinstance(rows.op(), ops.DatabaseTable):
            return rows
        with self.blaming():
            return self._view(self._statement(rows), rows.schema())

    def apart(
        self, rows: ibis.Table, looked_at: Collection[str], work: Callable[[ibis.Table], ibis.Table]
    ) -> ibis.Table:
        """Return what becomes of rows by some work; columns that it does not look at are a structure meanwhile, if they
        are many. It is taken apart again by the last statement, so that Ibis has them in no other."""
        kinds, others = dict(rows.schema()), [name for name in rows.columns if name not in looked_at]
        if len(others) < MANY:
            return work(rows)
        alone = {name: kind for name, kind in kinds.items() if name in looked_at}
        packed = f"struct_pack({', '.join(f'{quoted(name)} := {quoted(name)}' for name in others)}) AS {quoted(OTHERS)}"
        done = work(self._shown(rows, [*map(quoted, alone), packed], {**alone, OTHERS: dt.unknown}))
        became = {name: kind for name, kind in done.schema().items() if name != OTHERS}
        parts = [f"{quoted(OTHERS)}.{quoted(name)} AS {quoted(name)}" for name in others]
        return self._shown(done, [*map(quoted, became), *parts], became | {name: kinds[name] for name in others})

    def _shown(self, rows: ibis.Table, columns: Sequence[str], kinds: Mapping[str, dt.DataType]) -> ibis.Table:
        """Return some columns of rows, in words of SQL, which are of these kinds."""
        with self.blaming():
            return self._view(f"SELECT {', '.join(columns)} FROM ({self._statement(rows)})", ibis.schema(kinds))
