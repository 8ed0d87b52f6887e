"""The engines that suites run over, each started as its users have it: real servers, on loopback, in temporary folders.

Where a part is missing on a machine, its tests are skipped and say why; under continuous integration that is a failure.
"""

import atexit
import functools
import itertools
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet

from ringfence.rows.engine import Engine
from ringfence.rows.engines import engine_for
from ringfence.rows.postgres_wire import copy_in, create, quoted
from ringfence.spec.data import Data
from tests.spark import missing, spark

ENGINES = ["duckdb", "postgres", "spark"]
_NUMBERS = itertools.count()


@contextmanager
def started(name: str, data: Data | None = None) -> Iterator[Engine]:
    """An engine that holds nothing yet."""
    sources = []
    if name == "postgres":
        sources = [postgres().address]
    elif name == "spark":
        spark()
        sources = ["spark://"]
    with engine_for(data or Data(), *sources) as engine:
        yield engine


@dataclass(frozen=True)
class Server:
    """A PostgreSQL server of our own, and the folder of its programs."""

    programs: Path
    folder: Path
    port: int
    user: str

    @property
    def address(self) -> str:
        """The database that everything may be done in."""
        return f"postgresql://{self.user}@127.0.0.1:{self.port}/postgres"

    @contextmanager
    def connected(self) -> Iterator[psycopg.Connection[Any]]:
        """A connection, whose work is committed in the end."""
        with psycopg.connect(self.address) as connection:
            yield connection

    def run(self, program: str, *arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
        """Run one of its programs as the user whose server it is: never root."""
        command = [str(self.programs / program), *arguments]
        if os.getuid() == 0:
            command = ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups", *command]
        return subprocess.run(
            command, check=check, text=True, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off -c max_connections=40"
        log = str(self.folder / "log")
        self.run("pg_ctl", "start", "-w", "-t", "60", "-D", str(self.folder / "data"), "-l", log, "-o", options)

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: at once, as if it had crashed."""
        self.run("pg_ctl", "stop", "-m", mode, "-D", str(self.folder / "data"), check=False)

    @property
    def seconds(self) -> float:
        """The processor's time that the server has taken, with all its processes, dead or alive; on Linux."""
        first = int((self.folder / "data/postmaster.pid").read_text().split()[0])
        ticks = 0
        for path in Path("/proc").glob("[0-9]*/stat"):
            with suppress(OSError):
                fields = path.read_text().rpartition(")")[2].split()
                whose, own, dead = int(fields[1]), fields[11:13], fields[13:15]
                if path.parent.name == str(first):
                    ticks += sum(map(int, own + dead))
                elif whose == first:
                    ticks += sum(map(int, own))
        return ticks / os.sysconf("SC_CLK_TCK")

    @property
    def log(self) -> str:
        """What the server has written down."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")


def _programs() -> Path | None:
    """Where PostgreSQL's programs are: on the path, or where Debian puts them."""
    found = shutil.which("initdb")
    if found is not None:
        return Path(found).resolve().parent
    return max((path.parent for path in Path("/usr/lib/postgresql").glob("*/bin/initdb")), default=None)


@functools.cache
def _server() -> Server | str:
    """The server of this process, or what is missing for one."""
    programs = _programs()
    if programs is None:
        return "PostgreSQL is not installed (on Debian: apt-get install postgresql)"
    user = pwd.getpwuid(os.getuid()).pw_name
    if os.getuid() == 0:
        user = "postgres"
        if user not in {each.pw_name for each in pwd.getpwall()}:
            return "PostgreSQL does not run as root, and there is no user postgres"
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="ringfence-postgres-"))
    server = Server(programs, folder, port, user)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    if os.getuid() == 0:
        shutil.chown(folder, user)
    locale = ["--encoding=UTF8", "--locale=C.UTF-8"]
    server.run("initdb", "-D", str(folder / "data"), "-U", user, "-A", "trust", "--no-sync", *locale)
    server.start()
    atexit.register(server.stop)
    return server


def postgres() -> Server:
    """The server of this process, started when it is first asked for."""
    found = _server()
    if isinstance(found, str):
        missing(found)
    assert isinstance(found, Server)
    return found


def put(name: str, table: pa.Table, folder: Path) -> tuple[str, dict[str, Any]]:
    """Put a table where an engine has its rows; return the source, and what `[data]` says besides."""
    if name == "postgres":
        table_name = f"people {next(_NUMBERS)}"
        with postgres().connected() as connection:
            create(connection, quoted(table_name), table.schema, temporary=False)
            copy_in(connection, quoted(table_name), table.to_batches())
        return postgres().address, {"table": table_name}
    path = folder / f"people {next(_NUMBERS)}.parquet"
    pyarrow.parquet.write_table(table, path)
    if name == "spark":
        spark()
        return f"spark://{path}", {}
    return str(path), {}
