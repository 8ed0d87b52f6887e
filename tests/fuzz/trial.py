"""Carry a case out: run it, write it, read it back, and judge all of it."""

import csv
import json
import random
import re
import tempfile
import traceback
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow.parquet

import ringfence as rf
from ringfence.audit.counts_judged import NOT_CERTAIN
from ringfence.errors import RingfenceError, Unsatisfiable
from ringfence.plans.recode import GlobalPlan
from ringfence.rows import duckdb_lines

from .baskets import BasketCase, draw_baskets, judge_baskets
from .cases import FRAMES, Case, can_be_copied, draw_case
from .judge import Rows, Stated, Wrong, judge

BASKETS = 0.06  # the share of cases that are baskets alone
AUDITS = 1  # how many of the three ways to ask the audit are tried in a case: they take as long as the run itself
DRAFTS = 0.1  # in how many cases the table is drafted, too
FAULTS = ("AuditFailed", "EngineError")  # errors of the library that no input may cause


@dataclass(frozen=True)
class Outcome:
    """What became of a case: `released`, `unsatisfiable`, `refused` with why, or `wrong` with what is."""

    case: Case | BasketCase
    result: str
    why: str = ""


def carry_out(seed: int) -> Outcome:
    """Draw and carry out the case of a seed: with text files held in memory, or by statements as larger ones are."""
    rng = random.Random(f"which sort {seed} is of")
    case = draw_baskets(seed, rng) if rng.random() < BASKETS else draw_case(seed)
    with patch.object(duckdb_lines, "SMALL", rng.choice([0, duckdb_lines.SMALL])):
        return try_out(case)


def try_out(case: Case | BasketCase) -> Outcome:
    """Carry out a case."""
    try:
        with tempfile.TemporaryDirectory(prefix="ringfence-fuzz-") as folder:
            if isinstance(case, BasketCase):
                return _baskets(case, Path(folder))
            return _carried_out(case, Path(folder))
    except Wrong as error:
        return Outcome(case, "wrong", str(error))
    except Exception as error:  # whatever it is, it is a fault, and belongs into the tally
        where = traceback.extract_tb(error.__traceback__)[-1]
        return Outcome(case, "wrong", f"{type(error).__name__}: {error} ({Path(where.filename).name}, {where.name})")


def _carried_out(case: Case, folder: Path) -> Outcome:
    choices = random.Random(f"the ways of {case.seed}")
    try:
        spec = rf.Spec(**case.parts)
        original: Any = case.frame(case.source) if case.source in FRAMES else case.write(folder, case.source)
        straight = case.source not in FRAMES and choices.random() < 0.5
        if straight:
            spec = rf.Spec(**{**case.parts, "data": {**case.data, "source": str(original)}})
            release = rf.api.run(spec, folder / "out", report=False)
        else:
            release = rf.anonymize(original, spec)
    except RingfenceError as error:
        return _refusal(case, error)
    path = Path(release.table) if straight else release.save(folder / "out", case.written, report=False)
    stated = _stated(case, release, folder / "out" / "public" / "manifest.json")
    second = path.with_name(f"sensitive{path.suffix}") if case.method == "anatomy" else None
    judge(case, rows_of(path), stated, None if second is None else rows_of(second))
    if not straight:
        judge(case, rows_of(release.table), stated, None if second is None else rows_of(release.sensitive))
    _audited(case, spec, release, path, original, choices)
    if can_be_copied(case) and case.source in FRAMES:
        _same_from_text(case, rows_of(release.table), folder)
    if isinstance(release.plan, GlobalPlan) and not case.data.get("composite"):
        _same_again(case, rows_of(path), rf.apply(GlobalPlan.loads(release.plan.dumps()), original))
    if choices.random() < DRAFTS:
        _drafted(original)
    return Outcome(case, "released")


def _baskets(case: BasketCase, folder: Path) -> Outcome:
    try:
        spec = rf.Spec(**case.parts)
        original = case.table(folder)
        release = rf.anonymize(original, spec)
    except RingfenceError as error:
        return _refusal(case, error)
    path = release.save(folder / "out", case.written, report=False)
    for published in (rows_of(path), rows_of(release.table)):
        judge_baskets(case, published, int(release.metrics["suppressed"]))
    verdict = rf.audit(path, spec, original)
    if not verdict.ok:
        raise Wrong(f"the audit of the baskets has {verdict.findings or verdict.unjudged}")
    return Outcome(case, "released")


def _refusal(case: Case | BasketCase, error: RingfenceError) -> Outcome:
    """What a case that gave no release becomes: some errors no input may cause."""
    if type(error).__name__ in FAULTS:
        raise error
    if isinstance(error, Unsatisfiable):
        return Outcome(case, "unsatisfiable")
    return Outcome(case, "refused", _shape(f"{type(error).__name__}: {error}"))


def rows_of(table: Any) -> Rows:
    """The rows of a table of any sort, or of a file, as a reader finds them."""
    if isinstance(table, Path):
        if table.suffix == ".parquet":
            return list(pyarrow.parquet.read_table(table).to_pylist())
        with table.open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))
    if hasattr(table, "iter_rows"):  # Polars
        return list(table.iter_rows(named=True))
    if hasattr(table, "iloc"):  # pandas: its cells one by one, as conversions hide differences
        columns = {str(name): list(table[name]) for name in table.columns}
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]
    if hasattr(table, "fetchall"):  # DuckDB
        return [dict(zip(table.columns, row, strict=True)) for row in table.fetchall()]
    return list(table.to_pylist())


def _stated(case: Case, release: rf.Release, path: Path) -> Stated:
    """What the manifest says; the release must say the same."""
    manifest = json.loads(path.read_text(encoding="utf-8"))
    counts = manifest["counts"]
    suppressed, incomplete = counts["rows suppressed"], counts["rows with missing values removed"]
    if counts["rows read"] != case.rows or suppressed != release.metrics["suppressed"]:
        raise Wrong(f"the manifest says {counts}, the release {dict(release.metrics)}, of {case.rows} rows")
    kept = counts["rows published"] == case.rows - incomplete
    if kept and suppressed and not case.settings.get("keep_suppressed"):
        raise Wrong(f"suppressed rows were to leave, the manifest says {counts}")
    return Stated(suppressed, incomplete, kept and suppressed > 0)


def _audited(case: Case, spec: rf.Spec, release: rf.Release, path: Path, original: Any, choices: random.Random) -> None:
    """The audit must say that a good release holds, however it is asked."""
    needs_original = case.method in ("ring", "homogeneous") or bool(case.people)
    ways: dict[str, tuple[Any, Any]] = {
        "the table, beside the original": (release.table, original),
        "the file, beside the original": (path, original),
        "the file alone": (path, None),
    }
    for what in choices.sample(list(ways), AUDITS):
        table, before = ways[what]
        try:
            verdict = rf.audit(table, spec, before, sensitive=None if table is path else release.sensitive)
        except RingfenceError as error:
            if before is None and needs_original and type(error).__name__ not in FAULTS:
                continue
            raise Wrong(f"the audit of {what} refuses: {type(error).__name__}: {error}") from error
        # Whose rows went is known only to the run: of few people behind counts, too few may be left.
        went = release.metrics["suppressed"] and set(verdict.unjudged) <= {NOT_CERTAIN}
        open_question = (before is None and needs_original) or (before is not None and bool(case.people) and went)
        if not verdict.ok and not (open_question and not verdict.findings):
            raise Wrong(f"the audit of {what} has {verdict.findings or verdict.unjudged}")


def _same_from_text(case: Case, published: Rows, folder: Path) -> None:
    """A text file of the same table gives the same release."""
    copy = folder / "copy"
    copy.mkdir()
    again = rf.anonymize(case.write(copy, "csv"), rf.Spec(**case.parts))
    ours, others = _multiset(case, published), _multiset(case, rows_of(again.table))
    if ours != others:
        raise Wrong(f"from a text file other rows are published: {list(ours - others)[:2]} / {list(others - ours)[:2]}")


def _same_again(case: Case, published: Rows, again: rf.Release) -> None:
    """A plan that is applied to its own rows gives its own release."""
    ours, others = _multiset(case, published), _multiset(case, rows_of(again.table))
    if ours != others:
        raise Wrong(f"applied again, the plan publishes others: {list(ours - others)[:2]} / {list(others - ours)[:2]}")
    if not again.audit.ok:
        raise Wrong(f"applied again, the plan fails its audit: {again.audit.findings or again.audit.unjudged}")


def _drafted(original: Any) -> None:
    """A draft of any table can be made, and what it asks for can be done, or is refused for a reason."""
    spec = rf.draft(original)
    try:
        rf.anonymize(original, spec)
    except RingfenceError as error:
        if type(error).__name__ in FAULTS:
            raise


def _multiset(case: Case, rows: Rows) -> Counter[tuple[Any, ...]]:
    names = case.of_role("quasi", "sensitive", "insensitive")
    return Counter(tuple(case.columns[name].canonical(row[name]) for name in names) for row in rows)


def _shape(message: str) -> str:
    """A message without what is particular to its case, for tallies."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[-\d][\d.e+]*", "_", message)[:110]


def shape(outcome: Outcome) -> str:
    """Why a case was refused or is wrong, without what is particular to it."""
    return _shape(outcome.why)
