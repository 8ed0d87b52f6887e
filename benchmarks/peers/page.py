"""docs/benchmarks.md: its text is written by hand, its tables are made from results.json."""

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.papers.pages import with_table
from benchmarks.peers.contestants import EVERYONE
from benchmarks.peers.tables import NAMES

RESULTS = Path(__file__).with_name("results.json")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "benchmarks.md"
SECONDS = {"call": "call, s", "call processor": "processor, s", "job": "job, s", "job processor": "processor of job, s"}


def results() -> list[dict[str, Any]]:
    """Return what is recorded, table by table, in the order in which contestants are listed."""
    rows: list[dict[str, Any]] = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    tools = [each.name for each in EVERYONE]
    return sorted(rows, key=lambda row: (row["question"], NAMES.index(row["table"]), tools.index(row["tool"])))


def write_page(path: Path = PAGE) -> None:
    """Put the tables into the text anew."""
    text = path.read_text(encoding="utf-8")
    for question in dict.fromkeys(row["question"] for row in results()):
        rows = [shown(row) for row in results() if row["question"] == question]
        file = io.StringIO(newline="")
        writer = csv.DictWriter(file, fieldnames=list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        text = with_table(text, question, file.getvalue())
    path.write_text(text, encoding="utf-8")


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row of a table: what was read from the release, what it took, and what became of it."""
    failed = row.get("failed")
    version = f" {row['version']}" if "version" in row and not row["tool"].startswith("ringfence") else ""
    tool, *method = row["tool"].split(", ", 1)
    cells = {"table": row["table"], "tool": ", ".join([f"{tool}{version}", *method])}
    if row["question"] != "judging":
        cells["GLM"] = "" if failed else f"{row['glm']:.4f}"
        cells |= {title: "" if failed else row[key] for key, title in (("dm", "DM"), ("gone", "rows gone"))}
        cells["smallest class"] = "" if failed else row["smallest"]
    cells |= {title: "" if failed else _digits(row[key]) for key, title in SECONDS.items()}
    cells |= {"peak, MB": "" if failed else round(row["peak MB"]), "runs": "" if failed else row["runs"]}
    return {**cells, "outcome": _outcome(row)}


def _digits(seconds: float) -> str:
    return f"{seconds:.2f}" if seconds < 10 else f"{seconds:.0f}"


def _outcome(row: Mapping[str, Any]) -> str:
    if "failed" in row:
        return f"**failed**: {row['failed']}".replace("|", "/")
    if "values" in row:
        return ", ".join(f"{name} {value:.4g}" for name, value in row["values"].items())
    return "the promise holds" if row["audit"] == "holds" else f"**fails the audit**: {row['audit']}".replace("|", "/")
