"""Columns of few texts as enumerations: a byte or two for a cell while DuckDB sorts and writes rows.

What is known of such a column is the texts that it may hold. What a release holds must be these and no other: see
`write_parquet`.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from ringfence.rows.duckdb_words import literal, paths, quoted

MOST = 2**16
"""Columns of more texts stay text: their numbers would take more than two bytes."""
FEW = 2**8
"""Columns of up to so many texts are written as enumerations: each part of a file has all of their texts."""

_ENUMERATION = re.compile(r"ENUM\('(?:[^']|'')*'(?:, '(?:[^']|'')*')*\)")


class Enumerations:
    """The enumerations of a connection. `made` are those of few texts, as DuckDB shows their types, with how many."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._made: dict[str, int] = {}

    def of(self, query: str, texts: Mapping[str, pa.Array], name: str) -> str:
        """Return a query with some columns of text as enumerations of the texts that they hold, none of them missing;
        `name` is for the types. A text that is none of them makes the query fail."""
        casts, kinds = [], {}
        for place, (column, known) in enumerate(texts.items()):
            if not 0 < len(known) <= MOST:
                continue
            held, kind = f"{name} texts", quoted(f"{name} texts {place}")
            self._connection.register(held, pa.table({"text": known}))
            self._connection.execute(f"CREATE TEMP TYPE {kind} AS ENUM (SELECT text FROM {quoted(held)} ORDER BY 1)")
            self._connection.unregister(held)
            casts.append(f"CAST({quoted(column)} AS {kind}) AS {quoted(column)}")
            kinds[column] = len(known)
        if not casts:
            return query
        query = f"SELECT * REPLACE ({', '.join(casts)}) FROM ({query})"
        shown = self._kinds(query)
        self._made |= {shown[column]: count for column, count in kinds.items() if count <= FEW}
        return query

    def as_text(self, query: str) -> str:
        """Return a query with enumerations as text. To Ibis they are text already."""
        return self._as_text(query, ())

    def write_parquet(self, query: str, path: Path) -> None:
        """Write the rows of a query into a file. Enumerations become text.

        A file has the dictionary of all that an enumeration could be, and its statistics, also of texts that no row is
        left with. So only columns of few texts that were named here are written as what they are, and the file is
        looked into: if one of these texts is in none of its rows, it is written anew, from text.
        """
        whole = {name: self._made[kind] for name, kind in self._kinds(query).items() if kind in self._made}
        self._copy(self._as_text(query, whole), path)
        if not whole:
            return
        counts = ", ".join(f"count(DISTINCT {quoted(name)})" for name in whole)
        found = self._connection.execute(f"SELECT {counts} FROM read_parquet({paths([path])})").fetchall()[0]
        if found != tuple(whole.values()):
            self._copy(self.as_text(query), path)

    def _copy(self, query: str, path: Path) -> None:
        self._connection.execute(f"COPY ({query}) TO {literal(str(path))} (FORMAT parquet)")

    def _as_text(self, query: str, but: Mapping[str, int] | tuple[()]) -> str:
        """Return a query with all enumerations but some columns as text."""
        kinds = self._kinds(query)
        plain = {name: without_enumerations(kind) for name, kind in kinds.items() if name not in but}
        changed = [name for name, kind in plain.items() if kind != kinds[name]]
        casts = [f"CAST({quoted(name)} AS {plain[name]}) AS {quoted(name)}" for name in changed]
        return f"SELECT * REPLACE ({', '.join(casts)}) FROM ({query})" if casts else query

    def _kinds(self, query: str) -> dict[str, str]:
        """Return the type of each column, as DuckDB shows it."""
        found = self._connection.sql(query)
        return dict(zip(found.columns, map(str, found.types), strict=True))


def without_enumerations(kind: str) -> str:
    """Return a type of DuckDB with text in the place of enumerations, also inside lists and the like.

    >>> without_enumerations("STRUCT(a ENUM('it''s (b)', 'c')[], d INTEGER)")
    'STRUCT(a VARCHAR[], d INTEGER)'
    """
    return _ENUMERATION.sub("VARCHAR", kind)
