"""The engine: rows are counted and rewritten where they lie, by relational expressions. DuckDB, through Ibis.

A search never sees rows, and rows never pass through Python: `count` is the first scan, `recode` describes the
second, and `write` or `fetch` carry it out.
"""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import ibis
import pyarrow as pa

from ringfence.errors import DataError, EngineError, SpecError, listed, suggestion
from ringfence.plan import Relabel, Rewrite
from ringfence.sources import as_arrow, csv_columns, readable_as_utf8
from ringfence.spec import Data, Spec

ROWS = "number of rows"
"""The column in which `count` puts its counts."""

MASK = "*"
RAW, LABEL, FAILING = "as read", "as published", "fails"
"""What the columns of small tables are called beside those of the data."""


class Engine:
    """A DuckDB connection that lives for one job: it holds views of the sources, and small tables to join with."""

    def __init__(self, data: Data) -> None:
        self._ibis = ibis.duckdb.connect()
        self._duckdb = self._ibis.con
        self._cleanup = contextlib.ExitStack()
        self._tables = 0
        if data.memory_limit is not None:
            with _saying("data.memory_limit", SpecError):
                self._duckdb.execute(f"SET memory_limit = {_literal(data.memory_limit)}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._duckdb.close()
        self._cleanup.close()

    def open(self, source: Any, data: Data) -> ibis.Table:
        """Return the rows of a source: the path of a file, or any object that holds a table.

        Text files are read as text, with `data.missing_values` as missing. Numbers that are none (NaN) are missing too.
        """
        if isinstance(source, str | Path):
            rows = self._open_file(Path(source), data)
        else:
            rows = self._register(as_arrow(source))
        _refuse_odd_names(rows.columns)
        floats = [name for name, kind in rows.schema().items() if kind.is_floating()]
        return rows.mutate(**{name: ibis.ifelse(rows[name].isnan(), None, rows[name]) for name in floats})

    def _open_file(self, path: Path, data: Data) -> ibis.Table:
        if not path.is_file():
            raise DataError(f"there is no file {str(path)!r}")
        match path.suffix.lower():
            case ".csv" | ".tsv" | ".txt":
                return self._open_csv(path, data)
            case ".parquet" | ".pq":
                with _saying(f"cannot read {str(path)!r}", DataError):
                    return self._view(f"SELECT * FROM read_parquet({_literal(str(path))})")
            case ".arrow" | ".feather" | ".ipc":
                return self._register(as_arrow(path))
            case ".dat":
                raise SpecError(f"baskets such as {str(path)!r} need the method 'itemsets', which is not there yet")
        raise SpecError(
            f"cannot tell what {str(path)!r} is by its name;"
            " allowed: .csv, .tsv, .txt, .parquet, .pq, .arrow, .feather, .ipc"
        )

    def _open_csv(self, path: Path, data: Data) -> ibis.Table:
        path = self._cleanup.enter_context(readable_as_utf8(path, data.encoding))
        columns = csv_columns(path, data)
        options = {
            "delim": _literal(data.delimiter),
            "quote": _literal(data.quote),
            "escape": _literal(data.quote),
            "header": "true",
            "auto_detect": "false",
            "nullstr": f"[{', '.join(_literal(word) for word in dict.fromkeys(['', *data.missing_values]))}]",
            "columns": "{" + ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in columns) + "}",
        }
        settings = ", ".join(f"{key} = {value}" for key, value in options.items())
        with _saying(f"cannot read {str(path)!r}", DataError):
            return self._view(f"SELECT * FROM read_csv({_literal(str(path))}, {settings})")

    def count(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Return the distinct combinations of `columns`, and in the column `ROWS` how many rows have each."""
        with _saying("cannot count the rows", DataError):
            return self.fetch(rows.group_by(list(columns)).aggregate(**{ROWS: rows.count()}))

    def recode(self, rows: ibis.Table, plan: Rewrite, columns: Sequence[str]) -> ibis.Table:
        """Return the release: `columns` of the rows, recoded and suppressed as the plan says, in random order.

        Each relabelled column is joined with its small table of labels. Suppressed classes are those whose published
        labels are on the plan's list.
        """
        for name in plan.complete:
            rows = rows.filter(rows[name].notnull())
        for name, relabel in plan.relabels.items():
            if relabel.everything is not None:
                rows = rows.mutate(**{name: ibis.literal(relabel.everything)})
            else:
                rows = self._relabel(rows, name, relabel)
        rows = self._suppress(rows.select(*columns), plan)
        # The order of the input must not show. DuckDB's generator is seeded by the operating system's entropy.
        return rows.order_by(ibis.random())

    def _relabel(self, rows: ibis.Table, name: str, relabel: Relabel) -> ibis.Table:
        key, label = f"{name} {RAW}", f"{name} {LABEL}"
        lookup = self._lookup(pa.table({key: relabel.raw, label: relabel.published}), label)
        same = rows[name].identical_to(lookup[key]) if relabel.raw.null_count else rows[name] == lookup[key]
        joined = rows.left_join(lookup, [same])
        return joined.mutate(**{name: joined[label]}).select(*rows.columns)

    def _suppress(self, rows: ibis.Table, plan: Rewrite) -> ibis.Table:
        if plan.suppressed.num_rows == 0:
            return rows
        names = plan.suppressed.column_names
        table = plan.suppressed.rename_columns([f"{name} {FAILING}" for name in names])
        failing = self._register(table.append_column(FAILING, pa.array([True] * table.num_rows)))
        same = [rows[name].identical_to(failing[f"{name} {FAILING}"]) for name in names]
        if not plan.masked:
            return rows.anti_join(failing, same)
        joined = rows.left_join(failing, same)
        fails = joined[FAILING].notnull()
        mask = {name: ibis.ifelse(fails, MASK, joined[name].cast("string")) for name in names}
        return joined.mutate(**mask).select(*rows.columns)

    def fetch(self, rows: ibis.Table) -> pa.Table:
        """Carry an expression out and return its rows, with labels as plain text."""
        with _saying("the engine failed", EngineError):
            table = self._duckdb.execute(self._ibis.compile(rows)).to_arrow_table()
        plain = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in table.schema]
        return table.cast(pa.schema(plain))

    def write(self, rows: ibis.Table, path: Path, data: Data) -> None:
        """Carry an expression out into a file: Parquet, or CSV with the delimiter and quote of the specification."""
        if path.suffix == ".parquet":
            options = "FORMAT parquet"
        else:
            delimiter = data.delimiter if len(data.delimiter) == 1 else ","
            options = f"FORMAT csv, HEADER true, DELIMITER {_literal(delimiter)}, QUOTE {_literal(data.quote)}"
        with _saying(f"cannot write {str(path)!r}", EngineError):
            self._duckdb.execute(f"COPY ({self._ibis.compile(rows)}) TO {_literal(str(path))} ({options})")

    def _name(self) -> str:
        self._tables += 1
        return f"table {self._tables}"

    def _view(self, query: str) -> ibis.Table:
        name = self._name()
        self._duckdb.execute(f'CREATE TEMP VIEW "{name}" AS {query}')
        return self._ibis.table(name)

    def _register(self, table: pa.Table) -> ibis.Table:
        name = self._name()
        self._duckdb.register(name, table)
        return self._ibis.table(name)

    def _lookup(self, table: pa.Table, label: str) -> ibis.Table:
        """Store a small table with its text labels as an enumeration: one or two bytes a row when rows are shuffled."""
        given, name = self._register(table).get_name(), self._name()
        kind = f"{name} labels"
        column = _identifier(label)
        if pa.types.is_string(table.schema.field(label).type):
            self._duckdb.execute(f'CREATE TYPE "{kind}" AS ENUM (SELECT DISTINCT {column} FROM "{given}" ORDER BY 1)')
            column = f'{column}::"{kind}" AS {column}'
        key = _identifier(next(name for name in table.column_names if name != label))
        self._duckdb.execute(f'CREATE TEMP TABLE "{name}" AS SELECT {key}, {column} FROM "{given}"')
        return self._ibis.table(name)


def check_columns(columns: Sequence[str], spec: Spec) -> list[str]:
    """Check the columns of the data against the specification; return those that are published, in their order."""
    for name in spec.attributes:
        if name not in columns:
            raise DataError(
                f"the data has no column {name!r}{suggestion(name, columns)}; its columns are: {listed(columns)}"
            )
    unlisted = [name for name in columns if name not in spec.attributes]
    if unlisted and spec.data.unlisted == "error":
        raise SpecError(
            f"columns without a role: {listed(unlisted)}; give each a role under [attributes],"
            " or set data.unlisted to 'drop' or 'publish'"
        )
    hidden = set(spec.of_role("identifier")) | (set(unlisted) if spec.data.unlisted == "drop" else set())
    return [name for name in columns if name not in hidden]


def _refuse_odd_names(columns: Sequence[str]) -> None:
    """Refuse names that the engine could not tell apart: it ignores case."""
    seen = {ROWS: ROWS, FAILING: FAILING}
    for name in columns:
        if name.casefold() in seen:
            other = seen[name.casefold()]
            raise DataError(f"the engine cannot tell the column names {other!r} and {name!r} apart; rename one")
        seen[name.casefold()] = name


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _identifier(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def _saying(what: str, kind: type[Exception]) -> Iterator[None]:
    """Turn the engine's complaints into a sentence."""
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        raise kind(f"{what}: {_first_sentence(str(error))}") from error


def _first_sentence(message: str) -> str:
    """Shorten what DuckDB says: where a text file is malformed, the line and the reason; else its first line."""
    line = re.search(r"CSV Error on Line: (\d+)", message)
    reason = re.search(r"(Expected Number of Columns: \d+ Found: \d+|Value with unterminated quote found\.?)", message)
    if line and reason:
        return f"line {line[1]}: {reason[1][0].lower()}{reason[1][1:].rstrip('.')}"
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return f"{'line ' + line[1] + ': ' if line else ''}the file is not valid UTF-8; set data.encoding"
    return message.splitlines()[0]
