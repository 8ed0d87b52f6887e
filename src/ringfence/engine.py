"""The engine: rows are counted and rewritten where they lie, by relational expressions. DuckDB, through Ibis.

A search never sees rows, and rows never pass through Python: `count` is the first scan, `recode` describes the
second, and `write` or `fetch` carry it out.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Any, Self

import ibis
import ibis.expr.operations as ops
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.anatomy_plan import Deal
from ringfence.errors import DataError, EngineError, SpecError, listed
from ringfence.group_plan import COMBINATION, FIRST, GROUP, STOP, Regrouping
from ringfence.item_columns import BASKET_FILES, read_basket_file
from ringfence.plan import Relabel, Rewrite
from ringfence.sources import (
    BUCKET,
    CODE,
    COUNT,
    FAILING,
    KEY,
    LABEL,
    PLACE,
    RAW,
    ROWS,
    SHARE,
    TURN,
    WHOSE,
    as_arrow,
    csv_columns,
    read_ipc,
    readable_as_utf8,
    refuse_odd_names,
)
from ringfence.spec import Data

__all__ = ["BUCKET", "COUNT", "ROWS", "WHOSE", "Engine", "as_released", "numbered"]

MASK = "*"


class Engine:
    """A DuckDB connection that lives for one job: it holds views of the sources, and small tables to join with."""

    def __init__(self, data: Data) -> None:
        self._ibis = ibis.duckdb.connect()
        self._duckdb = self._ibis.con
        self._cleanup = contextlib.ExitStack()
        self._tables = 0
        self._held: dict[str, pa.Table] = {}
        self._text_files: dict[str, str] = {}
        self._frugal = data.memory_limit is not None
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
            return _nan_is_missing(self._open_file(Path(source), data))
        return self.hold(as_arrow(source))

    def hold(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a table that is known to be sound."""
        return _nan_is_missing(self._register(_without_zones(table)))

    def _open_file(self, path: Path, data: Data) -> ibis.Table:
        if not path.is_file():
            raise DataError(f"there is no file {str(path)!r}")
        match path.suffix.lower():
            case ".csv" | ".tsv" | ".txt":
                return self._open_csv(path, data)
            case ".parquet" | ".pq":
                refuse_odd_names(_parquet_columns(path))
                with _saying(f"cannot read {str(path)!r}", DataError):
                    return self._view(f"SELECT * FROM read_parquet({_path(path)}, hive_partitioning = false)")
            case ".arrow" | ".feather" | ".ipc":
                return self._register(as_arrow(read_ipc(path)))
            case suffix if suffix in BASKET_FILES:
                return self._register(read_basket_file(path, data.encoding))
        raise SpecError(
            f"cannot tell what {str(path)!r} is by its name;"
            " allowed: .csv, .tsv, .txt, .parquet, .pq, .arrow, .feather, .ipc; .dat and .spmf for baskets"
        )

    def _open_csv(self, path: Path, data: Data) -> ibis.Table:
        shown = repr(str(path))
        path = self._cleanup.enter_context(readable_as_utf8(path, data.encoding))
        self._text_files[str(path)] = shown
        columns = csv_columns(path, data)
        options = {
            "delim": _literal(data.delimiter),
            "quote": _literal(data.quote),
            "escape": _literal(data.quote),
            "header": "true",
            "auto_detect": "false",
            "hive_partitioning": "false",
            "nullstr": f"[{', '.join(_literal(word) for word in dict.fromkeys(['', *data.missing_values]))}]",
            "columns": "{" + ", ".join(f"{_literal(name)}: 'VARCHAR'" for name in columns) + "}",
        }
        settings = ", ".join(f"{key} = {value}" for key, value in options.items())
        with _saying(f"cannot read {str(path)!r}", DataError):
            return self._view(f"SELECT * FROM read_csv({_path(path)}, {settings})")

    def count(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table:
        """Return the distinct combinations of `columns`, and in the column `ROWS` how many rows have each.

        Plain columns of a table that is in memory are counted where they lie, which takes Arrow a fifth of the time.
        """
        with self._reading():
            held = self._plain(rows, columns)
            if held is None:
                return self._fetch(rows.group_by(list(columns)).aggregate(rows.count().name(ROWS)))
            return (
                held.group_by(list(columns), use_threads=False)
                .aggregate([([], "count_all")])
                .rename_columns([*columns, ROWS])
            )

    def _plain(self, rows: ibis.Table, columns: Sequence[str]) -> pa.Table | None:
        """Return these columns of a table in memory, if they are just that, of types that Arrow and the engine compare
        alike, and memory is not to be spared."""
        node = rows.op()
        while isinstance(node, ops.Project) and all(_is_field(node.values[name], name) for name in columns):
            node = node.parent
        held = self._held.get(node.name) if isinstance(node, ops.DatabaseTable) and not self._frugal else None
        if held is None or not all(_compares_alike(held.schema.field(name).type) for name in columns):
            return None
        return held.select(list(columns))

    def missing(self, rows: ibis.Table, name: str) -> tuple[int, int]:
        """Return how many rows have no value in a column, and the first of them, counted from 1; 0 if none."""
        placed = rows.select(rows[name], ibis.row_number().over().name(PLACE))
        gaps = placed.filter(placed[name].isnull())
        with self._reading():
            found = self._fetch(gaps.aggregate([gaps.count().name(ROWS), gaps[PLACE].min().name(PLACE)]))
        first = found[PLACE][0].as_py()
        return found[ROWS][0].as_py(), 0 if first is None else first + 1

    def recode(self, rows: ibis.Table, plan: Rewrite, columns: Sequence[str]) -> ibis.Table:
        """Return the release: `columns` of the rows, recoded and suppressed as the plan says, in random order.

        Each relabelled column is joined with its small table of labels. Suppressed classes are those whose published
        labels are on the plan's list. Where rows of a person stay together, whose they are becomes a number drawn at
        random, and `WHOSE` may be one of the columns: whose they truly are.
        """
        if plan.together is not None:
            gone = self._register(pa.table({RAW: plan.together.gone}))
            rows = rows.anti_join(gone, [rows[plan.together.entity] == gone[RAW]])
            rows = _with(rows, {WHOSE: rows[plan.together.entity]})
        for name in plan.complete:
            rows = rows.filter(rows[name].notnull())
        for name, values in plan.unknown.items():
            strange = rows[name].isin(values.drop_null().to_pylist())
            rows = rows.filter(~(strange.fill_null(False) | (rows[name].isnull() & bool(values.null_count))))
        for name, relabel in plan.relabels.items():
            if relabel.everything is not None:
                rows = _with(rows, {name: ibis.literal(relabel.everything)})
            else:
                rows = self._relabel(rows, name, relabel)
        if plan.together is not None:
            rows = _pseudonymous(rows, plan.together.entity)
        return _shuffled(self._suppress(rows.select(*columns), plan))

    def regroup(self, rows: ibis.Table, plan: Regrouping, columns: Sequence[str]) -> ibis.Table:
        """Return the release: `columns` of the rows, in the groups and under the labels that the plan says, in random
        order.

        Every row gets the number of its combination, and within it a random place; from the place follows its group.
        Rows with a place beyond all groups are suppressed.
        """
        for name in plan.complete:
            rows = rows.filter(rows[name].notnull())
        rows = rows.mutate(ibis.row_number().over().name(PLACE))
        for name, (raw, codes) in plan.codes.items():
            lookup = self._register(pa.table({RAW: raw, f"{name} {CODE}": codes}))
            same = rows[name].identical_to(lookup[RAW]) if raw.null_count else rows[name] == lookup[RAW]
            rows = rows.inner_join(lookup, [same]).drop(RAW)
        keys = self._register(plan.combinations.rename_columns([f"{n} {KEY}" for n in plan.combinations.column_names]))
        rows = rows.inner_join(keys, [rows[f"{name} {CODE}"] == keys[f"{name} {KEY}"] for name in plan.codes])
        combination = rows[f"{COMBINATION} {KEY}"]
        turn = ibis.row_number().over(group_by=combination, order_by=_by_chance(rows[PLACE]))
        rows = rows.mutate(turn.name(TURN))
        shares = self._register(plan.shares.rename_columns([f"{n} {SHARE}" for n in plan.shares.column_names]))
        rows = rows.inner_join(
            shares,
            [
                rows[f"{COMBINATION} {KEY}"] == shares[f"{COMBINATION} {SHARE}"],
                rows[TURN] >= shares[f"{FIRST} {SHARE}"],
                rows[TURN] < shares[f"{STOP} {SHARE}"],
            ],
        )
        labels = self._register(plan.labels.rename_columns([f"{n} {LABEL}" for n in plan.labels.column_names]))
        rows = rows.inner_join(labels, [rows[f"{GROUP} {SHARE}"] == labels[f"{GROUP} {LABEL}"]])
        published = [name for name in plan.labels.column_names if name != GROUP]
        rows = _with(rows, {name: rows[f"{name} {LABEL}"] for name in published if name in columns})
        return _shuffled(rows.select(*columns))

    def deal(self, rows: ibis.Table, plan: Deal, columns: Sequence[str]) -> ibis.Table:
        """Return `columns` of the rows, one of them the bucket that the plan says, in random order.

        Every row gets a random place among those of its sensitive value; from the place follows its bucket.
        """
        for name in plan.complete:
            rows = rows.filter(rows[name].notnull())
        rows = rows.mutate(ibis.row_number().over().name(PLACE))
        lookup = self._register(pa.table({RAW: plan.raw, CODE: plan.codes}))
        same = rows[plan.name].identical_to(lookup[RAW]) if plan.raw.null_count else rows[plan.name] == lookup[RAW]
        rows = rows.inner_join(lookup, [same]).drop(RAW)
        turn = ibis.row_number().over(group_by=rows[CODE], order_by=_by_chance(rows[PLACE]))
        rows = rows.mutate(turn.name(TURN))
        homes = self._register(pa.table({KEY: plan.values, SHARE: plan.turns, BUCKET: plan.buckets}))
        rows = rows.inner_join(homes, [rows[CODE] == homes[KEY], rows[TURN] == homes[SHARE]])
        return _shuffled(rows.select(*columns))

    def shuffle(self, rows: ibis.Table, columns: Sequence[str]) -> ibis.Table:
        """Return some columns of the rows as they are, in random order."""
        return _shuffled(rows.select(*columns))

    def typed(self, rows: ibis.Table, columns: Mapping[str, pa.Table]) -> ibis.Table:
        """Return rows with each column of labels replaced by what a table says of them, in random order."""
        names = list(rows.columns)
        for name, table in columns.items():
            news = [new for new in table.column_names if new != LABEL]
            key, apart = f"{name} {LABEL}", [f"{new} {SHARE}" for new in news]
            lookup = self._register(table.select([LABEL, *news]).rename_columns([key, *apart]))
            rows = rows.left_join(lookup, [rows[name].identical_to(lookup[key])]).drop(name, key)
            rows = _with(rows, {new: rows[old] for new, old in zip(news, apart, strict=True)}).drop(*apart)
            names[names.index(name) : names.index(name) + 1] = news
        return _shuffled(rows.select(*names))

    def keep(self, rows: ibis.Table) -> ibis.Table:
        """Carry an expression out and keep its rows: what is random in it has then been drawn once and for all."""
        name = self._name()
        with self._reading():
            self._duckdb.execute(f'CREATE TEMP TABLE "{name}" AS {self._ibis.compile(rows)}')
        return self._ibis.table(name)

    def _relabel(self, rows: ibis.Table, name: str, relabel: Relabel) -> ibis.Table:
        lookup = self._lookup(pa.table({RAW: relabel.raw, LABEL: relabel.published}))
        same = rows[name].identical_to(lookup[RAW]) if relabel.raw.null_count else rows[name] == lookup[RAW]
        joined = rows.left_join(lookup, [same])
        return _with(joined.drop(name), {name: joined[LABEL]}).select(*rows.columns)

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
        mask = {name: ibis.ifelse(fails, MASK, _as_text(joined[name])) for name in names}
        return _with(joined, mask).select(*rows.columns)

    def fetch(self, rows: ibis.Table) -> pa.Table:
        """Carry an expression out and return its rows, with labels as plain text."""
        with self._reading():
            return self._fetch(rows)

    def _fetch(self, rows: ibis.Table) -> pa.Table:
        table = self._duckdb.execute(self._ibis.compile(rows)).to_arrow_table()
        plain = [f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in table.schema]
        return table.cast(pa.schema(plain))

    def write(self, rows: ibis.Table, path: Path, data: Data) -> None:
        """Carry an expression out into a file: Parquet, the lines of a basket file, or CSV as `as_released` says."""
        if path.suffix == ".parquet":
            options = "FORMAT parquet"
        elif path.suffix in BASKET_FILES:
            options = "FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE ''"
        else:
            rows, dialect, quote = _floats_as_text(rows), as_released(data), _literal(data.quote)
            options = f"FORMAT csv, HEADER true, DELIMITER {_literal(dialect.delimiter)}, QUOTE {quote}, ESCAPE {quote}"
        with self._reading(f"cannot write {str(path)!r}"):
            self._duckdb.execute(f"COPY ({self._ibis.compile(rows)}) TO {_literal(str(path))} ({options})")

    @contextlib.contextmanager
    def _reading(self, otherwise: str = "the engine failed") -> Iterator[None]:
        """Lay the blame on a text file where it lies there: its rows are only read when something is done with them."""
        import duckdb

        try:
            yield
        except duckdb.Error as error:
            if "CSV" in str(error) or "unicode" in str(error).lower():
                raise DataError(f"cannot read {self._blamed(str(error))}: {_first_sentence(str(error))}") from error
            raise EngineError(f"{otherwise}: {_first_sentence(str(error))}") from error

    def _blamed(self, message: str) -> str:
        """Return the text file that a message names, as the caller called it; else those that there are."""
        named = [shown for path, shown in self._text_files.items() if path in message]
        return listed(named or self._text_files.values()) if self._text_files else "the text file"

    def _name(self) -> str:
        self._tables += 1
        return f"table {self._tables}"

    def _view(self, query: str) -> ibis.Table:
        name = self._name()
        self._duckdb.execute(f'CREATE TEMP VIEW "{name}" AS {query}')
        return self._ibis.table(name)

    def _register(self, table: pa.Table) -> ibis.Table:
        name = self._name()
        with _saying(f"the engine cannot hold a table with columns {_kinds(table)}", DataError):
            self._duckdb.register(name, table)
            self._held[name] = table
            return self._ibis.table(name)

    def _lookup(self, table: pa.Table) -> ibis.Table:
        """Store a small table with its text labels as an enumeration: one or two bytes a row when rows are shuffled."""
        given, name = self._register(table).get_name(), self._name()
        column = f'"{LABEL}"'
        if pa.types.is_string(table.schema.field(LABEL).type):
            self._duckdb.execute(
                f'CREATE TYPE "{name} labels" AS ENUM (SELECT DISTINCT {column} FROM "{given}" ORDER BY 1)'
            )
            column = f'{column}::"{name} labels" AS {column}'
        self._duckdb.execute(f'CREATE TEMP TABLE "{name}" AS SELECT "{RAW}", {column} FROM "{given}"')
        return self._ibis.table(name)


@ibis.udf.scalar.builtin(signature=(("string",), "decimal(38, 0)"))
def md5_number(text):  # type: ignore[no-untyped-def]  # what Ibis wants
    """The hash of a text as a number, by DuckDB."""


def _by_chance(number: ibis.Value) -> ibis.Value:
    """Return a random number for each number, never the same twice: its hash with a secret of 128 bits.

    The engine's own generator has 32 bits of seed: whoever knows the rows as they came could try them all, and read
    from the order of a release which row is whose.
    """
    return md5_number(ibis.literal(token_hex(16)) + number.cast("string"))


def numbered(rows: ibis.Table, name: str) -> ibis.Table:
    """Return rows with a column that numbers them from 1 on, in a random order."""
    placed = rows.mutate(ibis.row_number().over().name(PLACE))
    number = ibis.row_number().over(order_by=_by_chance(placed[PLACE])) + 1
    return placed.mutate(number.name(name)).drop(PLACE)


def _pseudonymous(rows: ibis.Table, name: str) -> ibis.Table:
    """Return rows with a number drawn at random for each value of a column, in its place."""
    people = numbered(rows.select(rows[name].name(RAW)).distinct(), LABEL)
    joined = rows.inner_join(people, [rows[name] == people[RAW]])
    return _with(joined.drop(name), {name: joined[LABEL]}).select(*rows.columns)


def _shuffled(rows: ibis.Table) -> ibis.Table:
    """Return rows in a random order: that of the input must not show."""
    placed = rows.mutate(ibis.row_number().over().name(PLACE))
    return placed.order_by(_by_chance(placed[PLACE])).drop(PLACE)


def _with(rows: ibis.Table, columns: Mapping[str, ibis.Value]) -> ibis.Table:
    """Return rows with some columns added or replaced, whatever they are called."""
    return rows.mutate([value.name(name) for name, value in columns.items()]) if columns else rows


def _is_field(value: ops.Value, name: str) -> bool:
    return isinstance(value, ops.Field) and value.name == name


def _compares_alike(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_integer(kind) or types.is_boolean(kind) or types.is_date32(kind))


def _nan_is_missing(rows: ibis.Table) -> ibis.Table:
    floats = [name for name, kind in rows.schema().items() if kind.is_floating()]
    return _with(rows, {name: ibis.ifelse(rows[name].isnan(), None, rows[name]) for name in floats})


def _floats_as_text(rows: ibis.Table) -> ibis.Table:
    return _with(rows, {name: _as_text(rows[name]) for name, kind in rows.schema().items() if kind.is_floating()})


def _as_text(column: ibis.Value) -> ibis.Value:
    """Return values as text, whole numbers without a fraction as labels have them: gaps turn integers into floats."""
    if not column.type().is_floating():
        return column.cast("string")
    whole = (column == column.floor()) & (column.abs() < 2**53)
    return ibis.ifelse(whole, column.cast("int64").cast("string"), column.cast("string"))


def as_released(data: Data) -> Data:
    """Return how the text files of releases are to be read: in UTF-8, with a delimiter of one character."""
    delimiter = data.delimiter if len(data.delimiter) == 1 else ","
    return data.model_copy(update={"encoding": "utf-8", "delimiter": delimiter})


def _parquet_columns(path: Path) -> list[str]:
    import pyarrow.parquet

    try:
        return list(pyarrow.parquet.read_schema(path).names)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"cannot read {str(path)!r} as a Parquet file: {str(error).splitlines()[0]}") from error


def _without_zones(table: pa.Table) -> pa.Table:
    """Return a table with times as their own zones show them: the engine would turn them to another zone."""
    for place, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type) and field.type.tz is not None:
            table = table.set_column(place, field.name, pc.local_timestamp(table[field.name]))
    return table


def _kinds(table: pa.Table) -> str:
    return listed(f"{field.name!r} ({field.type})" for field in table.schema)


def _path(path: Path) -> str:
    """Return a path as the engine reads it: with what it would take for a pattern between brackets."""
    return _literal(re.sub(r"[*?\[]", r"[\g<0>]", str(path)))


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


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
    where = f"line {line[1]}: " if line else ""
    if "unicode" in message.lower() or "utf-8" in message.lower():
        return f"{where}the file is not valid UTF-8; set data.encoding"
    if found := re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message):
        return f"{where}{found[2]} fields where the first line has {found[1]}"
    if "unterminated quote" in message:
        return f"{where}a quote that does not end"
    if "Maximum line size" in message:
        return f"{where}it is too long"
    if line:
        return f"{where}it is malformed"
    return message.splitlines()[0]
