"""PostgreSQL as a source and as a target, on a real server: what lies there, who may what, and what fails."""

import json
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

import ringfence as rf
from ringfence.errors import DataError, EngineError, SpecError
from ringfence.rows import postgres_wire
from ringfence.rows.postgres_target import PostgresTarget
from ringfence.spec import Spec
from tests.engines import Server, postgres, put

Sql: TypeAlias = psycopg.Connection[Any]

PEOPLE = pa.table({"age": [31, 32, 38, 39, 31, 38], "town": ["a", "a", "b", "b", None, "b"], "note": list("uvwxyz")})
ATTRIBUTES: dict[str, Any] = {
    "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    "town": {"role": "quasi", "hierarchy": "flat"},
    "note": {"role": "insensitive"},
}


@pytest.fixture(scope="module")
def server() -> Server:
    return postgres()


@pytest.fixture
def sql(server: Server) -> Iterator[Sql]:
    """A connection in an empty schema of its own, which is gone in the end."""
    with psycopg.connect(server.address, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS people CASCADE")
        connection.execute("CREATE SCHEMA people")
        yield connection
        connection.execute("DROP SCHEMA people CASCADE")


def asked(
    attributes: dict[str, Any] = ATTRIBUTES, k: int = 2, output: dict[str, str] | None = None, **data: Any
) -> Spec:
    return Spec(data=data, attributes=attributes, privacy={"k": k}, method={"suppression": 0}, output=output or {})


def cells(connection: Sql, query: str) -> list[tuple[Any, ...]]:
    return sorted(connection.execute(query).fetchall(), key=str)


def tables(connection: Sql, schema: str = "people") -> list[str]:
    found = connection.execute(
        "SELECT relname FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'", [schema]
    )
    return sorted(name for (name,) in found.fetchall())


ODD = """
    CREATE TYPE people.mood AS ENUM ('good', 'bad');
    CREATE DOMAIN people.town AS varchar(20);
    CREATE TABLE people."Odd ""one"" " (
        "a b" char(5), mood people.mood, home people.town, free numeric, paid numeric(10, 2), seen timestamptz,
        born date, id uuid, doc jsonb, raw bytea, short real, flag boolean, items text[], numbers int[]
    );
    INSERT INTO people."Odd ""one"" " SELECT 'x', 'good', 'Köln', 1.50, 2.5, '2024-02-29 23:30+02', '2024-02-29',
        '00000000-0000-0000-0000-000000000001', '{"a": 1}', '\\x00ff', 0.1, true, '{a,"b c",NULL}', '{1,2}'
        FROM generate_series(1, 3);
    INSERT INTO people."Odd ""one"" " SELECT FROM generate_series(1, 2);
"""


def test_all_kinds_of_columns_are_read_and_written(sql: Sql, server: Server, tmp_path: Path) -> None:
    sql.execute(ODD)
    names = [
        "a b",
        "mood",
        "home",
        "free",
        "paid",
        "seen",
        "born",
        "id",
        "doc",
        "raw",
        "short",
        "flag",
        "items",
        "numbers",
    ]
    attributes = {name: {"role": "insensitive"} for name in names} | {"mood": {"role": "quasi", "hierarchy": "flat"}}
    spec = asked(attributes, source=server.address, table='people.Odd "one" ')
    table = rf.anonymize(None, spec).table
    row = next(row for row in table.to_pylist() if row["mood"] is not None)
    assert row == {
        "a b": "x", "mood": "good", "home": "Köln", "free": "1.5", "paid": row["paid"], "seen": row["seen"],
        "born": row["born"], "id": "00000000-0000-0000-0000-000000000001", "doc": '{"a": 1}', "raw": b"\x00\xff",
        "short": pytest.approx(0.1), "flag": True, "items": ["a", "b c", None], "numbers": [1, 2],
    }  # fmt: skip
    assert (str(row["paid"]), str(row["seen"]), str(row["born"])) == ("2.50", "2024-02-29 21:30:00", "2024-02-29")
    assert sum(row["mood"] is None for row in table.to_pylist()) == 2
    there = asked(
        attributes,
        source=server.address,
        table='people.Odd "one" ',
        output={"to": server.address, "table": "people.out"},
    )
    rf.run(there, tmp_path / "out", report=False)
    assert cells(sql, "SELECT count(*), count(items), min(paid), min(short), min(raw::text) FROM people.out") == [
        (5, 3, row["paid"], pytest.approx(0.1), "\\x00ff")
    ]


@pytest.mark.parametrize("kind", ["view", "partitioned table", "query"])
def test_views_partitions_and_queries(kind: str, sql: Sql, server: Server) -> None:
    sql.execute("CREATE TABLE people.base (age int, town text, note text) PARTITION BY LIST (town)")
    sql.execute("CREATE TABLE people.some PARTITION OF people.base FOR VALUES IN ('a')")
    sql.execute("CREATE TABLE people.others PARTITION OF people.base DEFAULT")
    with sql.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO people.base VALUES (%s, %s, %s)", [tuple(row.values()) for row in PEOPLE.to_pylist()]
        )
    sql.execute("CREATE VIEW people.seen AS SELECT * FROM people.base")
    data: dict[str, dict[str, Any]] = {
        "view": {"table": "people.seen"},
        "partitioned table": {"table": "people.base"},
        "query": {"query": "SELECT * FROM people.base WHERE true;"},
    }
    release = rf.anonymize(server.address, asked(**data[kind]))
    expected = rf.anonymize(PEOPLE, asked())
    assert release.metrics == expected.metrics
    assert sorted(map(str, release.table.to_pylist())) == sorted(map(str, expected.table.to_pylist()))


def test_what_is_not_there_is_named(sql: Sql, server: Server, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("age\n1\n")
    sql.execute("CREATE TABLE people.visits (age int)")
    with pytest.raises(SpecError, match=r"no such table \(did you mean 'people.visits'\?\)"):
        rf.anonymize(server.address, asked(table="people.visit"))
    with pytest.raises(SpecError, match='column "agee" does not exist'):
        rf.anonymize(server.address, asked(query="SELECT agee FROM people.visits"))
    with pytest.raises(DataError, match="the data has no column 'town'"):
        rf.anonymize(server.address, asked(table="people.visits"))
    with pytest.raises(SpecError, match=r"data.query has no meaning"):
        rf.anonymize(tmp_path / "x.csv", asked(query="SELECT 1"))
    with pytest.raises(SpecError, match="leave one of them out"):
        asked(table="a", query="SELECT 1")
    with pytest.raises(EngineError, match=r"cannot connect to 'postgresql://127\.0\.0\.1:1/none'"):
        rf.anonymize("postgresql://127.0.0.1:1/none", asked())


def test_a_release_takes_the_place_of_an_earlier_one_and_of_nothing_else(
    sql: Sql, server: Server, tmp_path: Path
) -> None:
    source, data = put("postgres", PEOPLE, tmp_path)
    output = {"to": server.address, "table": "people.released"}
    spec = asked(source=source, output=output, **data)
    for first in (True, False):
        release = rf.run(spec, tmp_path / "out", report=first)
        assert tables(sql) == ["released"]
        assert len(cells(sql, "SELECT * FROM people.released")) == release.metrics["rows"] == 6
    manifest = json.loads((tmp_path / "out/public/manifest.json").read_text())
    [(comment,)] = cells(sql, "SELECT obj_description('people.released'::regclass)")
    assert manifest["release"] == {"table": "released", "id": comment.rpartition(" ")[2]}
    assert "postgresql" in manifest["versions"]
    assert [path.name for path in (tmp_path / "out/public").iterdir()] == ["manifest.json"]
    assert rf.audit(release.table, spec).ok
    assert rf.audit(release.table, spec, f"{source}#{data['table'].replace(' ', '%20')}").ok
    assert rf.audit(f"{server.address}#people.released", asked(k=4)).ok is False
    sql.execute("CREATE TABLE people.precious AS SELECT 1 AS a")
    foreign = asked(source=source, output=output | {"table": "people.precious"}, **data)
    with pytest.raises(EngineError, match=r"'precious' is there, and no release that could be replaced"):
        rf.run(foreign, tmp_path / "other")
    with pytest.raises(EngineError, match=r"there is no such schema"):
        rf.run(asked(source=source, output=output | {"table": "nowhere.released"}, **data), tmp_path / "other")
    assert tables(sql) == ["precious", "released"]
    assert not (tmp_path / "other").exists()
    sql.execute("CREATE VIEW people.watched AS SELECT * FROM people.released")
    with pytest.raises(EngineError, match="views or keys depend on the earlier table"):
        rf.run(spec, tmp_path / "out", report=False)
    assert len(cells(sql, "SELECT * FROM people.released")) == 6


@pytest.mark.parametrize("method", ["optimal", "anatomy", "ring"])
def test_files_become_tables_and_tables_files(method: str, sql: Sql, server: Server, tmp_path: Path) -> None:
    table = pa.concat_tables([PEOPLE] * 3)
    attributes = {**ATTRIBUTES, "note": {"role": "sensitive"}}
    pyarrow.parquet.write_table(table, tmp_path / "people.parquet")
    privacy = {"l": 2} if method == "anatomy" else {"k": 2}
    parts = {"attributes": attributes, "privacy": privacy, "method": {"name": method}}
    output = {"to": server.address, "table": "people.released"}
    spec = Spec(data={"source": str(tmp_path / "people.parquet")}, output=output, **parts)
    release = rf.run(spec, tmp_path / "out", report=False)
    assert len(cells(sql, "SELECT * FROM people.released")) == release.metrics["rows"]
    assert tables(sql) == ["released", *["released_sensitive"] * (method == "anatomy")]
    assert rf.audit(release.table, spec, table).ok


@pytest.mark.parametrize("method", ["optimal", "local"])
def test_counts_of_values_are_a_table_beside_the_release(method: str, sql: Sql, server: Server, tmp_path: Path) -> None:
    source, data = put("postgres", pa.concat_tables([PEOPLE] * 3), tmp_path)
    given = Spec(
        data={"source": source, **data},
        attributes=ATTRIBUTES,
        privacy={"k": 2},
        method={"name": method},
        output={"to": server.address, "table": "people.released", "counts": True},
    )
    release = rf.run(given, tmp_path / "out")
    assert tables(sql) == ["released", "released_counts"]
    assert release.counts == f"{release.table}_counts"
    counted = cells(sql, "SELECT attribute, sum(rows) FROM people.released_counts GROUP BY attribute")
    assert {int(rows) for _, rows in counted} == {release.metrics["rows"]}
    verdict = rf.audit(release.table, given)
    assert verdict.ok
    assert verdict.measured["least_count"] >= 2
    sql.execute("UPDATE people.released_counts SET rows = 1")
    assert {finding.rule for finding in rf.audit(release.table, given).findings} == {"counts"}
    plain = given.model_copy(update={"output": given.output.model_copy(update={"counts": False})})
    rf.run(plain, tmp_path / "out", report=False)
    assert tables(sql) == ["released"]


def test_a_plan_is_applied_from_table_to_table(sql: Sql, server: Server, tmp_path: Path) -> None:
    source, data = put("postgres", PEOPLE, tmp_path)
    rf.run(asked(source=source, **data), tmp_path / "out", report=False)
    sql.execute(f'CREATE TABLE people.new AS SELECT * FROM "{data["table"]}" UNION ALL SELECT * FROM "{data["table"]}"')
    command = [sys.executable, "-m", "ringfence", "apply", str(tmp_path / "out/private/plan.json")]
    target = f"{server.address}#people.applied"
    done = subprocess.run(
        [*command, f"{server.address}#people.new", "-o", target], check=False, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert len(cells(sql, "SELECT * FROM people.applied")) == 12
    assert rf.audit(target, asked(k=4)).ok


def test_without_rights_nothing_is_read_or_written(sql: Sql, server: Server, tmp_path: Path) -> None:
    sql.execute("DROP ROLE IF EXISTS reader")
    sql.execute("CREATE ROLE reader LOGIN PASSWORD 'VERY-SECRET'")
    sql.execute("CREATE TABLE people.base AS SELECT 31 AS age, 'a' AS town, 'u' AS note FROM generate_series(1, 4)")
    sql.execute("GRANT USAGE ON SCHEMA people TO reader")
    address = server.address.replace(f"//{server.user}@", "//reader@")
    try:
        with pytest.raises(EngineError, match=r"permission denied for table base; a source needs the right to SELECT"):
            rf.anonymize(address, asked(table="people.base"))
        sql.execute("GRANT SELECT ON people.base TO reader")
        assert rf.anonymize(address, asked(table="people.base")).audit.ok
        spec = asked(source=address, table="people.base", output={"to": address, "table": "people.released"})
        with pytest.raises(EngineError, match="you may not make tables there: it needs CREATE"):
            rf.run(spec, tmp_path / "out")
        sql.execute("GRANT CREATE ON SCHEMA people TO reader")
        rf.run(spec, tmp_path / "out", report=False)
        assert tables(sql) == ["base", "released"]
    finally:
        sql.execute("DROP OWNED BY reader; DROP ROLE reader")


def test_no_secret_is_told(sql: Sql, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for address in (
        f"postgresql://me:VERY-SECRET@127.0.0.1:{server.port}/postgres",
        f"postgresql://me@127.0.0.1:{server.port}/postgres?password=VERY-SECRET",
    ):
        with pytest.raises(SpecError, match="PGPASSWORD") as error:
            rf.anonymize(address, asked())
        assert "VERY-SECRET" not in str(error.value)
    monkeypatch.setenv("PGPASSWORD", "VERY-SECRET")
    sql.execute("ALTER SYSTEM SET log_statement = 'all'")
    sql.execute("SELECT pg_reload_conf()")
    time.sleep(0.3)
    try:
        source, data = put("postgres", PEOPLE, tmp_path)
        spec = asked(source=source, output={"to": source, "table": "people.released"}, **data)
        rf.run(spec, tmp_path / "out")
    finally:
        sql.execute("ALTER SYSTEM RESET log_statement")
        sql.execute("SELECT pg_reload_conf()")
    written = [path.read_text(errors="replace") for path in (tmp_path / "out").rglob("*") if path.is_file()]
    for text in [*written, server.log]:
        assert "VERY-SECRET" not in text
    assert "gen_random_uuid" in server.log.lower()


def test_a_lock_that_somebody_holds_is_waited_for_and_told(
    sql: Sql, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, data = put("postgres", PEOPLE, tmp_path)
    spec = asked(source=source, output={"to": source, "table": "people.released"}, **data)
    rf.run(spec, tmp_path / "out", report=False)
    before = (tmp_path / "out/public/manifest.json").stat().st_mtime_ns
    monkeypatch.setitem(postgres_wire.SETTINGS, "lock_timeout", "200ms")
    with psycopg.connect(server.address) as other:
        other.execute("SELECT * FROM people.released")
        with pytest.raises(EngineError, match=r"somebody else has held a lock on it"):
            rf.run(spec, tmp_path / "out", report=False)
    assert tables(sql) == ["released"]
    assert (tmp_path / "out/public/manifest.json").stat().st_mtime_ns == before
    rf.run(spec, tmp_path / "out", report=False)


def test_a_connection_that_is_lost_is_told(sql: Sql, server: Server, tmp_path: Path) -> None:
    table = pa.concat_tables([PEOPLE] * 20000)
    source, data = put("postgres", table, tmp_path)
    spec = asked(source=source, output={"to": source, "table": "people.released"}, **data)
    ended = threading.Event()

    def end() -> None:
        with psycopg.connect(server.address, autocommit=True) as other:
            while not ended.is_set():
                busy = "application_name = 'ringfence' AND query LIKE 'INSERT INTO%'"
                if other.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {busy}").fetchone():
                    return
                time.sleep(0.01)

    killer = threading.Thread(target=end)
    killer.start()
    try:
        with pytest.raises(EngineError, match="nothing was written: try again"):
            rf.run(spec, tmp_path / "out", report=False)
    finally:
        ended.set()
        killer.join()
    assert tables(sql) == []
    assert not (tmp_path / "out").exists()
    assert rf.run(spec, tmp_path / "out", report=False).audit.ok


COMMIT = b"Q\x00\x00\x00\x0bCOMMIT\x00"
"""The message by which a client has its work committed."""


@contextmanager
def cut_at_commit(port: int, *, passed_on: bool) -> Iterator[int]:
    """A way to a server that ends when a client says COMMIT: before the server hears it, or after it has done it and
    before the client does. Yields its port."""
    ways: list[socket.socket] = []

    def carry(given: socket.socket, taken: socket.socket, *, to_server: bool, told: threading.Event) -> None:
        with suppress(OSError):
            while data := given.recv(2**16):
                if to_server and COMMIT in data:
                    told.set()
                    if not passed_on:
                        break
                elif not to_server and told.is_set():
                    break
                taken.sendall(data)
        for end in (given, taken):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def welcome() -> None:
        with suppress(OSError):
            while True:
                client, server = door.accept()[0], socket.create_connection(("127.0.0.1", port))
                ways.extend([client, server])
                told = threading.Event()
                for given, taken, to_server in ((client, server, True), (server, client, False)):
                    work = {"to_server": to_server, "told": told}
                    threading.Thread(target=carry, args=(given, taken), kwargs=work, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as door:
        threading.Thread(target=welcome, daemon=True).start()
        yield door.getsockname()[1]
        door.shutdown(socket.SHUT_RDWR)
    for way in ways:
        way.close()


@pytest.mark.parametrize("passed_on", [False, True])
def test_a_connection_that_is_lost_at_the_very_end_says_how_to_find_out(
    passed_on: bool, sql: Sql, server: Server, tmp_path: Path
) -> None:
    """The client cannot know whether the server has done it: the question that it names tells."""
    source, data = put("postgres", PEOPLE, tmp_path)
    output = {"to": source, "table": 'people.it\'s "released"'}
    rf.run(asked(source=source, output=output, **data), tmp_path / "out", report=False)
    before = (tmp_path / "out/public/manifest.json").read_bytes()
    with cut_at_commit(server.port, passed_on=passed_on) as port:
        way = source.replace(f":{server.port}/", f":{port}/")
        assert way != source
        with pytest.raises(EngineError, match="cannot say whether") as raised:
            rf.run(asked(source=way, output={**output, "to": way}, **data), tmp_path / "out", report=False)
    found = re.search(r"ends in '(id \w+)', .* to see it: (.*)\. Then run again", str(raised.value))
    assert found is not None
    (comment,) = sql.execute(found[2]).fetchone() or ("",)
    assert comment.endswith(found[1]) == passed_on
    assert tables(sql) == ['it\'s "released"']
    assert (tmp_path / "out/public/manifest.json").read_bytes() == before
    assert rf.run(asked(source=source, output=output, **data), tmp_path / "out", report=False).audit.ok


def staged_then(monkeypatch: pytest.MonkeyPatch, happens: Callable[[PostgresTarget], None]) -> None:
    """Have something happen when the rows of a release have been written, and before they are audited."""
    stage = PostgresTarget.stage

    def disturbed(self: PostgresTarget, *given: Any) -> None:
        stage(self, *given)
        happens(self)

    monkeypatch.setattr(PostgresTarget, "stage", disturbed)


def test_a_server_that_is_killed_leaves_the_old_release(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, data = put("postgres", PEOPLE, tmp_path)
    spec = asked(source=source, output={"to": source, "table": "outlived"}, **data)
    rf.run(spec, tmp_path / "out", report=False)
    before = (tmp_path / "out/public/manifest.json").read_bytes()
    staged_then(monkeypatch, lambda _: server.stop("immediate"))
    try:
        with pytest.raises(EngineError, match="nothing was written: try again"):
            rf.run(spec, tmp_path / "out", report=False)
    finally:
        server.start()
    monkeypatch.undo()
    with psycopg.connect(server.address) as connection:
        assert tables(connection, "public").count("outlived") == 1
        assert not [name for name in tables(connection, "public") if name.startswith("ringfence_")]
        assert len(cells(connection, "SELECT age FROM outlived")) == PEOPLE.num_rows
    assert (tmp_path / "out/public/manifest.json").read_bytes() == before
    assert rf.run(spec, tmp_path / "out", report=False).audit.ok
    with psycopg.connect(server.address) as connection:
        connection.execute("DROP TABLE outlived")


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="needs prlimit, of util-linux")
def test_a_full_disk_of_the_server_leaves_the_old_release(sql: Sql, server: Server, tmp_path: Path) -> None:
    """The system refuses the server's files of more than some bytes as it refuses those that a full disk has no room
    for."""
    source, data = put("postgres", pa.concat_tables([PEOPLE] * 5000), tmp_path)
    output = {"to": source, "table": "people.released"}
    rf.run(asked(source=source, output=output, **data), tmp_path / "out", report=False)
    connect = postgres_wire.connect

    def crowded(*given: Any) -> Any:
        opened = connect(*given)
        server.run(str(shutil.which("prlimit")), f"--pid={opened.info.backend_pid}", "--fsize=100000")
        return opened

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ringfence.rows.postgres.connect", crowded)
        with pytest.raises(EngineError, match="could not extend file"):
            rf.run(asked(source=source, output=output, **data), tmp_path / "out", report=False)
    assert tables(sql) == ["released"]
    assert len(cells(sql, "SELECT age FROM people.released")) == 5000 * PEOPLE.num_rows
    assert rf.run(asked(source=source, output=output, **data), tmp_path / "out", report=False).audit.ok


def test_the_release_is_of_one_moment(sql: Sql, tmp_path: Path) -> None:
    """Rows that come in while a release is made are not in it, and do not make its audit fail."""
    source, data = put("postgres", PEOPLE, tmp_path)
    met: list[Any] = []

    def listener(event: Any) -> None:
        if not met:
            met.append(event)
            sql.execute(f"INSERT INTO \"{data['table']}\" VALUES (99, 'late', 'late')")

    release = rf.anonymize(source, asked(**data), listener=listener)
    assert met
    assert release.metrics["rows"] == 6
    assert "late" not in release.table["note"].to_pylist()
