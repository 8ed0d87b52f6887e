"""The engine of DuckDB: files and tables in memory, counted and rewritten on one machine."""

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import ibis
import ibis.expr.datatypes as dt
import ibis.expr.operations as ops
import pyarrow as pa

from ringfence.errors import DataError, EngineError, RingfenceError, SpecError, listed
from ringfence.rows.casts import cast_rows
from ringfence.rows.coded import coded, plain, with_coded_lists
from ringfence.rows.duckdb_databases import given_back, taken
from ringfence.rows.duckdb_enumerations import Enumerations
from ringfence.rows.duckdb_files import DuckDBFiles
from ringfence.rows.duckdb_in_memory import InMemory
from ringfence.rows.duckdb_lines import DifferentLines, TextFiles
from ringfence.rows.duckdb_memory import setting, usual_limit, usual_memory
from ringfence.rows.duckdb_repeats import Collapsed, Repeats
from ringfence.rows.duckdb_sql import (
    as_text,
    drawn_for,
    engine_hash,
    fractions_as_text,
    md5_number,
    statement,
    variable,
)
from ringfence.rows.duckdb_types import hand_over, known_schema, learn, take_back
from ringfence.rows.duckdb_views import Views
from ringfence.rows.duckdb_words import first_sentence, is_interruption, literal, paths, quoted, saying
from ringfence.rows.engine import as_released, plain_schema
from ringfence.rows.formats import BASKETS, TEXT
from ringfence.rows.in_memory import compares_alike
from ringfence.rows.number_marks import plain_number_rows
from ringfence.rows.places import Place, find
from ringfence.rows.repeated import FEW, Repeated, lines_repeat
from ringfence.rows.same_value import canonical_rows, canonical_table, for_engine
from ringfence.rows.sources import PLACE, ROWS, as_arrow
from ringfence.rows.staging import spilling
from ringfence.rows.steps import with_columns
from ringfence.spec.data import Data

NAME = "table "
"""How the names begin that tables are given, in the order in which they come."""
BATCH = 100_000
"""How many rows are handed out at a time."""
TEXT_CELL = 4
"""As much memory as so many cells that are numbers is what one of text takes, about."""


class DuckDB(InMemory, Views):
    """A DuckDB connection that lives for one job: it holds views of the sources, and small tables to join with. No
    other job uses its database meanwhile.

    What it has no memory for, it writes into `scratch`, a folder for nobody else's eyes: by default one of the system's
    temporary folders, which is gone in the end. DuckDB itself, and what Ibis has for it, are loaded when they are first
    asked for anything: for tables in memory they often are not, and to load them takes longer than all that is done.
    """

    ordered = True

    def __init__(self, data: Data, *, scratch: Path | None = None) -> None:
        self._cleanup = contextlib.ExitStack()
        self._given_scratch, self._limit = scratch, data.memory_limit
        self._database: Any = None
        self._tables = 0
        self._held: dict[str, pa.Table] = {}
        self._combined = None
        self._made: list[tuple[int, str, str]] = []
        """What was made in the engine: after how many names, of which kind, and called what."""
        self._parsed: dict[str, TextFiles] = {}
        """Which views are of text files, and of which."""
        self._repeats = Repeats()
        if self._limit is not None:
            try:
                self._duckdb  # noqa: B018  a limit that is none is said now
            except SpecError as error:
                self.__exit__(error)
                raise

    @property
    def own_errors(self) -> tuple[type[Exception], ...]:
        """What DuckDB raises."""
        import duckdb

        return (duckdb.Error,)

    @cached_property
    def _ibis(self) -> Any:
        from ibis.backends.duckdb import Backend

        return Backend.from_connection(self._duckdb)

    @cached_property
    def _scratch(self) -> Path:
        given = self._given_scratch
        return self._cleanup.enter_context(spilling()) if given is None else given

    @cached_property
    def _files(self) -> DuckDBFiles:
        return DuckDBFiles(self._duckdb, self._scratch, self._cleanup)

    @cached_property
    def _enumerations(self) -> Enumerations:
        return Enumerations(self._duckdb)

    @cached_property
    def _duckdb(self) -> Any:
        """The connection, made when it is first needed: what lies in memory is often dealt with there (`in_memory`)."""
        self._database = taken()
        connection = self._database.cursor()
        connection.execute("SET TimeZone = 'UTC'")
        connection.execute("SET python_enable_replacements = false")  # names of tables are never those of variables
        connection.execute("PRAGMA disable_progress_bar")  # at a prompt it would write between what we show
        connection.execute("SET autoinstall_known_extensions = false")  # nothing is downloaded unasked
        connection.execute(f"SET temp_directory = {literal(str(self._scratch / 'spilled'))}")
        with saying("data.memory_limit", SpecError):
            connection.execute(f"SET memory_limit = {literal(self._limit or usual_limit(connection))}")
        for name, table in self._held.items():
            hand_over(connection, name, table)
        return connection

    @property
    def memory(self) -> str:
        """How much memory the engine may use before it goes on on the disk."""
        return usual_memory() if self._limit is None else setting(self._duckdb, "memory_limit")

    def __exit__(self, *error: object) -> None:
        if self._database is not None:
            if "_duckdb" in self.__dict__:
                self._duckdb.close()
            if any(error):
                self._database.close()
            else:
                given_back(self._database)
        self._cleanup.close()
        if len(error) > 1 and is_interruption(error[1]):
            raise KeyboardInterrupt from None

    def open(self, source: Any, data: Data, *, as_it_stands: bool = False) -> ibis.Table:
        """Return the rows of a source, with canonical cells unless `as_it_stands`."""
        if isinstance(source, str | Path):
            rows = self._open_place(find(source), data, as_it_stands)
        else:
            rows = self._hold_canonical(as_arrow(source), data, as_it_stands)
        return rows if as_it_stands else cast_rows(self, plain_number_rows(rows, data), data.types)

    def _hold_canonical(self, table: pa.Table, data: Data, as_it_stands: bool) -> ibis.Table:
        return self.hold(with_coded_lists(table) if as_it_stands else canonical_table(table, data.missing_values))

    def hold(self, table: pa.Table) -> ibis.Table:
        """Return the rows of a table that has come through the door before."""
        return self._register(for_engine(table, reads_coded=True))

    def stream(self, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> ibis.Table:
        """Return rows that come in batches from elsewhere: once, to be written."""
        name = self._name()
        self._duckdb.register(name, pa.RecordBatchReader.from_batches(schema, batches))
        return self._ibis.table(name)

    def holding(self, rows: ibis.Table, texts: Mapping[str, pa.Array]) -> ibis.Table:
        """Return rows of which some columns of text hold these texts: as enumerations."""
        name = self._name()
        query = self._enumerations.of(self._statement(rows), texts, name)
        self._duckdb.execute(f"CREATE TEMP VIEW {quoted(name)} AS {query}")
        kinds = [quoted(f"{name} texts {place}") for place in range(len(texts))]
        self._made += [
            *((self._tables, "TYPE IF EXISTS", kind) for kind in kinds),
            (self._tables, "VIEW", quoted(name)),
        ]
        return self._table(name, rows.schema())  # to Ibis, enumerations are text

    def placed(self, rows: ibis.Table) -> ibis.Table:
        """Return rows with a number each, in the order in which they come."""
        return rows.mutate(ibis.row_number().over().name(PLACE))

    def by_chance(self, number: ibis.Value, secret: str) -> ibis.Value:
        """Return a random number for each number, never the same twice: its hash with a secret of 128 bits or more.

        The engine's own generator has 32 bits of seed: whoever knows the rows as they came could try them all, and read
        from the order of a release which row is whose.
        """
        return md5_number(self.told(secret) + number.cast(dt.string))

    def told(self, text: str) -> ibis.Value:
        """Return a text as a variable: statements then have the same words in every run."""
        name = self._name()
        self._duckdb.execute(f"SET VARIABLE {quoted(name)} = {literal(text)}")
        return variable(ibis.literal(name))

    def shuffled(self, rows: ibis.Table) -> ibis.Table:
        """Return rows sorted by numbers of 64 bits, drawn for each from the operating system's entropy.

        Whatever the rows are, every order of them is as likely as any other, but for numbers that are drawn twice: of
        30 million, with a chance of one in 40,000, and then of two rows it shows which came first. Rows need not be
        numbered for it, so that they are held once, by the sort, which goes to the disk where memory ends.
        """
        return rows.order_by(drawn_for(ibis.literal(0, dt.int8)))

    def same(self, left: ibis.Value, right: ibis.Value, nullable: bool) -> ibis.Value:
        """Return whether two cells are the same; where cells may be missing, missing ones are."""
        return left.identical_to(right) if nullable else left == right

    def as_text(self, column: ibis.Value) -> ibis.Value:
        """Return cells as text files have them: whole numbers without a fraction, as labels have them."""
        return as_text(column)

    def cast_or_none(self, cell: ibis.Value, kind: str) -> ibis.Value:
        """Return a cell in another type, missing where it has no counterpart there."""
        return cell.try_cast(kind)

    def digest(self, texts: Sequence[ibis.Value]) -> ibis.Value:
        """Return DuckDB's own hash, which is not for secrets, but spreads well: the key is what nobody knows."""
        return engine_hash(ibis.struct({f"text {place}": text for place, text in enumerate(texts)}))

    def _open_place(self, place: Place, data: Data, as_it_stands: bool) -> ibis.Table:
        query = self._files.query(place, data, as_it_stands)
        if query is not None:
            text = self._files.of_query[query] if place.form is TEXT else None
            with saying(f"cannot read {place.shown}", DataError):
                rows = self._view(query, None if text is None else ibis.schema(dict.fromkeys(text.names, dt.string)))
            if text is not None:  # which has been told what is missing
                self._parsed[rows.get_name()] = text
            if as_it_stands or text is not None:
                return rows
            return self.named(canonical_rows(rows, data.missing_values))
        assert place.form.reads is not None, "a format that nobody reads"
        read_as = data.model_copy(update={"missing_values": []}) if as_it_stands else data
        table = as_arrow(place.form.reads(place.files[0], read_as, place.shown))
        return self._hold_canonical(table, data, as_it_stands)

    def at_hand(self, rows: ibis.Table) -> ibis.Table:
        """Return rows of text files as Parquet in the scratch folder: text is parsed once, and what is read then has
        the values of a column numbered, so that counting and joining take a fifth of the time. Of rows that repeat,
        the different ones are held in memory."""
        folded = self.folded(rows)
        if folded is not rows or not any(table.name in self._parsed for table in rows.op().find(ops.DatabaseTable)):
            return folded
        path = self._scratch / f"{self._name()}.parquet"
        with self.blaming(f"cannot write {str(path)!r}"):
            self._duckdb.execute(f"COPY ({self._statement(rows)}) TO {literal(str(path))} (FORMAT parquet)")
        self._cleanup.callback(path.unlink, missing_ok=True)
        return self._view(f"SELECT * FROM read_parquet({paths([path])}, hive_partitioning = false)")

    def folded(self, rows: ibis.Table) -> ibis.Table:
        """Return rows of small text files as a table in memory, where they are counted and rewritten in less time than
        it takes to tell the engine what to do; and rows of large ones that repeat as a view of the different ones,
        which are held in memory. Others stay as they are: also where there are too many for memory, whatever some
        places of the files say.

        Where all columns of the files are there, each different line is parsed once; where names and numbers of people
        are left out, lines are different, and what is left of them is counted by the engine."""
        text = self._text_of(rows)
        if text is None or self._limit is not None:
            return rows
        if text.are_small:
            return self._register(coded(self.fetch(rows)))
        if not all(map(compares_alike, plain_schema(rows).types)):
            return rows
        if {*text.names} <= {*rows.columns}:
            few = self._parsed_once(rows, text) if lines_repeat(text.files) else None
        else:
            few = self._counted_once(rows) if lines_repeat(text.files, text.some_fields(rows.columns)) else None
        if few is None:
            return rows
        held = self.hold(few.counted)
        names, each = ", ".join(map(quoted, rows.columns)), f"unnest(range({quoted(ROWS)}))"
        spread = self._view(f"SELECT {names} FROM (SELECT *, {each} FROM {quoted(held.get_name())})")
        self._remember(spread, few.counted)
        self._repeats.views[spread.get_name()] = Collapsed(few, held, rows)
        return spread

    def _counted_once(self, rows: ibis.Table) -> Repeated | None:
        """Return the different rows, if they are few and there is room for them. The engine counts them, which goes to
        the disk where its memory ends."""
        kept = self.keep(rows.group_by(list(rows.columns)).aggregate(rows.count().name(ROWS)))
        total = self.fetch(kept.aggregate(kept[ROWS].sum().name(ROWS)))[ROWS][0].as_py() or 0
        different = self.size(kept)
        few = 0 < different <= FEW * int(total) and self._has_room(TEXT_CELL * different * len(rows.columns))
        counted = self.fetch(kept) if few else None
        self.let_go(kept)
        return None if counted is None else Repeated.of(counted.drop_columns([ROWS]), counted[ROWS].to_numpy())

    def _text_of(self, rows: ibis.Table) -> TextFiles | None:
        """Return the text files that rows are those of, one by one and in their order, if they are."""
        nodes = rows.op().find(ops.Relation)
        tables = [node for node in nodes if isinstance(node, ops.DatabaseTable)]
        one_by_one = all(isinstance(node, ops.DatabaseTable | ops.Project | ops.DropColumns) for node in nodes)
        return self._parsed.get(tables[0].name) if len(tables) == 1 and one_by_one else None

    def _parsed_once(self, rows: ibis.Table, text: TextFiles) -> Repeated | None:
        """Return what becomes, row by row, of the different lines of text files, if they are few, there is room for
        them and each is a row. The engine counts them, which goes to the disk where its memory ends."""
        with self.blaming(), DifferentLines(self._duckdb, text, self._name()) as lines, self.aside():
            few = 0 < lines.count <= FEW * lines.total
            if not few or not self._has_room(TEXT_CELL * lines.count * len(rows.columns)):
                return None
            file = self._scratch / f"{self._name()}.csv"
            times = lines.write(file)
            (source,) = rows.op().find(ops.DatabaseTable)
            once = self._view(text.of_lines(file))
            try:
                table = self.fetch(rows.op().replace({source: once.op()}).to_expr())
            except DataError:  # the usual way says in which line of which file it is
                return None
            finally:
                file.unlink()
        return Repeated.of(table, times) if table.num_rows == len(times) else None

    def keep(self, rows: ibis.Table) -> ibis.Table:
        """Carry an expression out and keep its rows: what is random in it has then been drawn once and for all."""
        name = self._name()
        with self.blaming():
            query = self._enumerations.as_text(self._statement(rows))
            self._duckdb.execute(f'CREATE TEMP TABLE "{name}" AS {query}')
        self._made.append((self._tables, "TABLE", quoted(name)))
        return self._ibis.table(name)

    def let_go(self, kept: ibis.Table) -> None:
        """Let go of rows that were kept."""
        name = quoted(kept.get_name())
        self._duckdb.execute(f"DROP TABLE {name}")
        self._made = [each for each in self._made if each[2] != name]

    @contextlib.contextmanager
    def aside(self) -> Iterator[None]:
        """Let go in the end of all that is opened, held and kept inside. Its names are given again, so that what is
        done to other rows in the same way is the same statements, which were put into words before."""
        before, counted = self._tables, dict(self._counts)
        try:
            yield
        finally:
            for number, kind, name in reversed(self._made):
                if number > before:
                    self._duckdb.execute(f"DROP {kind} {name}")
            self._made = [each for each in self._made if each[0] <= before]
            self._repeats.forget(lambda name: _number(name) > before)
            for name in [name for name in self._held if _number(name) > before]:
                table = self._held.pop(name)
                if "_duckdb" in self.__dict__:
                    take_back(self._duckdb, name, table)
            self._tables = before
            self._counts.clear()  # of rows whose names will be those of others
            self._counts.update(counted)

    def fetch(self, rows: ibis.Table) -> pa.Table:
        """Carry an expression out and return its rows, with labels as plain text."""
        held = self.in_memory(rows, rows.columns)
        if held is not None:
            return plain(held)
        with self.blaming():
            table = self._duckdb.execute(self._statement(rows)).to_arrow_table()
        return table.cast(_plain(table.schema))

    def batches(self, rows: ibis.Table) -> Iterator[pa.RecordBatch]:
        """Carry an expression out and return its rows in batches as they come, with labels as plain text."""
        with self.blaming():
            reader = self._duckdb.execute(self._statement(rows)).to_arrow_reader(BATCH)
            for batch in reader:
                yield batch.cast(_plain(batch.schema))

    def write(self, rows: ibis.Table, path: Path, data: Data) -> None:
        """Carry an expression out into a file: Parquet, the lines of a basket file, or CSV as `as_released` says."""
        if self._write_lines(rows, path, data):
            return
        if path.suffix == ".parquet":
            with self.blaming(f"cannot write {str(path)!r}"):
                self._enumerations.write_parquet(self._statement(rows), path)
            return
        if path.suffix in BASKETS.suffixes:
            options = "FORMAT csv, HEADER false, DELIMITER '\x01', QUOTE '', ESCAPE ''"
        else:
            rows, dialect, quote = fractions_as_text(rows), as_released(data), literal(data.quote)
            options = f"FORMAT csv, HEADER true, DELIMITER {literal(dialect.delimiter)}, QUOTE {quote}, ESCAPE {quote}"
            if len(rows.columns) == 1:  # a row without its only value would be an empty line, which readers pass over
                rows = with_columns(rows, {name: as_text(rows[name]).fill_null("") for name in rows.columns})
        with self.blaming(f"cannot write {str(path)!r}"):
            query = self._enumerations.as_text(self._statement(rows))
            self._duckdb.execute(f"COPY ({query}) TO {literal(str(path))} ({options})")

    def _write_lines(self, rows: ibis.Table, path: Path, data: Data) -> bool:
        """Write rows that repeat as the lines of the different ones, if they are such, and each has one line."""
        order = self._repeats.order(rows)
        if order is None or path.suffix != ".csv":
            return False
        with self.aside():
            each = self._scratch / f"{self._name()}.csv"
            self.write(self.hold(order.distinct), each, data)
            lines = order.lines(each.read_bytes())
            each.unlink()
        if lines is not None:
            with path.open("wb") as file:
                file.writelines(lines)
        return lines is not None

    def write_folder(self, rows: ibis.Table, folder: Path, data: Data, partition_by: Sequence[str]) -> None:  # noqa: ARG002
        """Carry an expression out into Parquet files of a new folder; the values of some columns become folders."""
        parts = f", PARTITION_BY ({', '.join(map(quoted, partition_by))})" if partition_by else ", PER_THREAD_OUTPUT"
        with self.blaming(f"cannot write {str(folder)!r}"):
            query = self._enumerations.as_text(self._statement(rows))
            self._duckdb.execute(f"COPY ({query}) TO {literal(str(folder))} (FORMAT parquet{parts})")

    def versions(self) -> dict[str, str]:
        """Return the version of DuckDB."""
        import duckdb

        return {"duckdb": duckdb.__version__}

    def blame(self, error: Exception, otherwise: str) -> RingfenceError:
        """Lay the blame on a text file where it lies there: its rows are only read when something is done with them.

        It is the one that the message names, as the caller called it; else those that there are.
        """
        message, texts = str(error), self._files.texts
        if not any(word in message for word in ("CSV", "unicode", "Unicode", "JSON")):
            return EngineError(f"{otherwise}: {first_sentence(message)}")
        named = [text for path, text in texts.items() if path in message] or [*texts.values()]
        shown = listed(dict.fromkeys(shown for shown, _ in named)) if named else "the text file"
        return DataError(f"cannot read {shown}: {first_sentence(message, named[0][1] if named else None)}")

    def _statement(self, rows: ibis.Table) -> str:
        """Return an expression in SQL, with all tables in it where the engine finds them."""
        if self._repeats.orders:
            for table in rows.op().find(ops.DatabaseTable):
                if table.name in self._repeats.orders:
                    self._held_as(table.name)
        return statement(rows.op())

    def _held_as(self, name: str) -> pa.Table | None:
        """Return a table in memory by its name; rows in an order that was drawn are put together when they are first
        asked for."""
        if name not in self._held and name in self._repeats.orders:
            self._held[name] = self._repeats.orders[name].table
            if "_duckdb" in self.__dict__:
                hand_over(self._duckdb, name, self._held[name])
        return self._held.get(name)

    def _in_drawn_order(self, few: Repeated) -> ibis.Table:
        """Return rows that repeat in an order that is drawn here."""
        order, name = few.shuffled(), self._name()
        self._repeats.orders[name] = order
        return self._table(name, self._register(coded(order.distinct)).schema())

    def _name(self) -> str:
        self._tables += 1
        return f"{NAME}{self._tables}"

    def _view(self, query: str, schema: ibis.Schema | None = None) -> ibis.Table:
        """Return the rows of a query; `schema` are its columns where they are known."""
        name = self._name()
        self._duckdb.execute(f'CREATE TEMP VIEW "{name}" AS {query}')
        self._made.append((self._tables, "VIEW", quoted(name)))
        return self._ibis.table(name) if schema is None else self._table(name, schema)

    def _register(self, table: pa.Table) -> ibis.Table:
        name, schema = self._name(), known_schema(table)
        if schema is None or "_duckdb" in self.__dict__:
            with saying(f"the engine cannot hold a table with columns {_kinds(table)}", DataError):
                hand_over(self._duckdb, name, table)
                if schema is None:
                    schema = self._ibis.table(name).schema()
                    learn(table.schema.types, schema.types)
        self._held[name] = table
        return self._table(name, schema)

    def _table(self, name: str, schema: ibis.Schema) -> ibis.Table:
        """Return a table of which the columns are known: to ask the engine for them takes longer than to count it."""
        return _called(name, schema)


@lru_cache(maxsize=500)
def _called(name: str, schema: ibis.Schema) -> ibis.Table:
    """Return a table by its name alone: names come again in the next job, mostly with the same columns."""
    return ops.DatabaseTable(name, schema=schema, source="DuckDB", namespace=ops.Namespace()).to_expr()


def _number(name: str) -> int:
    return int(name.removeprefix(NAME))


def _plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema with text in the place of enumerations."""
    return pa.schema([f.with_type(f.type.value_type) if pa.types.is_dictionary(f.type) else f for f in schema])


def _kinds(table: pa.Table) -> str:
    return listed(f"{field.name!r} ({field.type})" for field in table.schema)
