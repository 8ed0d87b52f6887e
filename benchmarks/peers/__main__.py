"""Tools beside ours: `python -m benchmarks.peers`, or `make bench`. Writes results.json and docs/benchmarks.md.

ARX takes part where the environment variable ARX_HOME names a folder that has its jar (and Java is at hand).
`--only NAME ...` runs these tools alone (and ours beside them), `--question` and `--table` leave out what does not
begin so; what is recorded of the others is kept. `--behind COMMAND` puts every run behind a command, such as `nice` or
`taskset -c 0`. Without the real data (RINGFENCE_DATA), tools meet on made-up people only, and nothing is recorded.
"""

import argparse
import json
import os
import platform
import shlex
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.data import data_folder
from benchmarks.peers.contestants import ARX, EVERYONE, JUDGING, PUBLISHING
from benchmarks.peers.meeting import ROUNDS, Bench, Row, arx_jars, meet
from benchmarks.peers.page import RESULTS, write_page
from benchmarks.peers.tables import contests, drawn

DRAWN = 300_000


def main() -> None:
    """Install what is missing, let all meet, record and show what came out."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    options.add_argument("--only", nargs="+", default=[], choices=sorted({each.package for each in EVERYONE}))
    options.add_argument("--question", default="")
    options.add_argument("--table", default="")
    options.add_argument("--rounds", type=int, default=ROUNDS)
    options.add_argument("--behind", default="", type=shlex.split)
    options.add_argument("--install", action="store_true", help="make the environments, and stop")
    asked = options.parse_args()
    bench = Bench(tuple(asked.behind))
    present = [each for each in EVERYONE if each is not ARX or arx_jars()]
    for each in present:
        if not asked.only or each.package in asked.only:
            bench.install(each)
    if asked.install:
        return
    data = data_folder()
    with TemporaryDirectory() as temporary:
        place = Path(temporary)
        tables = contests(data, place)
        meetings = [(contest, question) for question in PUBLISHING for contest in tables]
        if data is not None:
            (place / "drawn").mkdir()
            meetings.append((drawn(data, place / "drawn", DRAWN), JUDGING))
        for contest, question in meetings:
            invited = [one for one in question.contestants if one in present]
            chosen = [one for one in invited if not asked.only or one.ours or one.package in asked.only]
            if asked.only and not any(one.package in asked.only for one in chosen):
                continue
            if not (contest.name.startswith(asked.table) and question.name.startswith(asked.question)):
                continue
            for row in meet(bench, contest, question, chosen, asked.rounds):
                print(json.dumps(row), flush=True)
                if data is not None:
                    record(row)
    if data is None:
        print("# the real data is not at hand (RINGFENCE_DATA): nothing is recorded")
    else:
        write_page()


def record(row: Row, path: Path = RESULTS) -> None:
    """Put a row in its place among those that are recorded."""
    kept: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {"rows": []}
    kept["machine"] = f"Python {platform.python_version()}, {platform.machine()}, {os.cpu_count()} processors"
    where = [(old["table"], old["question"], old["tool"]) for old in kept["rows"]]
    key = (row["table"], row["question"], row["tool"])
    if key in where:
        kept["rows"][where.index(key)] = row
    else:
        kept["rows"].append(row)
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
