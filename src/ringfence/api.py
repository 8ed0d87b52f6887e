"""The verbs: anonymize, run, audit. Shared by the command line and whatever else speaks for the library.

Heavy libraries are imported inside the verbs, so that importing `ringfence` is quick.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.errors import DataError, SpecError, listed
from ringfence.fronts import Frontier, SchemeFrontier
from ringfence.item_spec import RELATIONAL_SEARCHES, check_items
from ringfence.jobs import Decider, Diary, Listener, Made, reuser, searcher
from ringfence.spec import Data, Spec

if TYPE_CHECKING:
    import ibis
    import pyarrow as pa

    from ringfence.audit.verify import Verdict
    from ringfence.baskets import Baskets
    from ringfence.census import Census
    from ringfence.draft import Draft
    from ringfence.engine import Engine
    from ringfence.item_plan import ItemExplanation, ItemPlan
    from ringfence.plan import GlobalPlan
    from ringfence.report import Report
    from ringfence.search.boundaries import Explanation
    from ringfence.search.methods import Decision, Plan
    from ringfence.search.progress import SearchResult

TEXT_FILES = (".csv", ".tsv", ".txt")
BASKET_FILES = (".dat", ".spmf")
JUDGED_ONLY = ("alpha", "beta", "delta", "k_map", "presence")
"""Promises that the audit judges and that no method makes."""

RECODING = ("optimal", "levels")
"""Methods that decide on values, each recoded the same way everywhere."""
GROUPING = ("cluster", "hilbert", "mondrian", "local", "ring")
"""Methods that decide on rows, in groups."""
AVAILABLE = (*RECODING, *GROUPING, "anatomy", "itemsets")


@dataclass(frozen=True, eq=False)
class Release:
    """What came out: the table to publish, the decision behind it, what it costs, and the audit's verdict."""

    table: Any
    decision: "Decision" = field(repr=False)
    audit: "Verdict"
    spec: Spec = field(repr=False)
    census: "Census" = field(repr=False)
    log: tuple[str, ...] = field(default=(), repr=False)
    baskets: "Baskets | None" = field(default=None, repr=False)
    original: Any = field(default=None, repr=False)
    """What it was made from: a path, or an Arrow table. Only kept where a release cannot be audited without it."""
    sensitive: Any = None
    """The second table of the method `anatomy`: how often each sensitive value is in each bucket. None for others."""

    @property
    def plan(self) -> "Plan":
        """What was decided. May show values of the original."""
        return self.decision.plan

    @property
    def item_plan(self) -> "ItemPlan | None":
        """What was decided on baskets, beside quasi-identifiers or alone; None where there are none."""
        return None if self.decision.basket is None else self.decision.basket.plan

    @property
    def metrics(self) -> Mapping[str, float]:
        """Every loss by name, and the numbers of rows, suppressed rows and classes."""
        return self.decision.metrics

    @property
    def search(self) -> "SearchResult | None":
        """How well the search can vouch for the plan; None where nothing was searched."""
        return self.decision.search

    @property
    def incomplete(self) -> int:
        """How many rows were left out because they miss a value."""
        return self.census.incomplete

    def report(self) -> "Report":
        """Return a page for the people who answer for the release. May show values of the original."""
        from ringfence.report import build_report

        return build_report(
            self.census, self.decision, self.audit, self.spec, incomplete=self.incomplete, baskets=self.baskets
        )

    def typed(self) -> "pa.Table":
        """Return the release with sets of values as lists, and ranges as two columns, such as `age low` and `age high`.

        For the methods that publish groups or rings as sets or ranges; other columns stay as they are. The rows are in
        another order than in `table`.
        """
        from ringfence.engine import Engine
        from ringfence.group_plan import GroupPlan
        from ringfence.ring_plan import RingPlan
        from ringfence.typed import refuse_taken, typed_columns

        plan = self.plan
        columns = {}
        if isinstance(plan, GroupPlan | RingPlan):
            columns = dict(typed_columns(plan, self.census, self.spec.method.shown_as))
        with Engine(self.spec.data) as engine:
            rows = engine.open(self.table, self.spec.data)
            refuse_taken(list(rows.columns), columns)
            return engine.fetch(engine.typed(rows, columns))

    def explain(self) -> "Explanation | ItemExplanation":
        """Say which rows no method could publish within the boundaries, and what other boundaries would change.

        Counted, not guessed: `sentences` in words, `lost` group by group, `remedies` boundary by boundary. With the
        method `itemsets`, say which rare sets forced each generalization: `sentences`, and `reasons` label by label.
        """
        from ringfence.search.boundaries import Explanation, explain_suppression
        from ringfence.search.methods import least_values

        if self.item_plan is not None and self.item_plan is self.plan:
            return self.item_plan.explain()
        if self.spec.has_buckets:
            return Explanation(int(self.metrics["rows"]), suppressed=0, unbounded=0, lost=(), remedies=())
        least = [least_values(self.spec, part.name) for part in self.census.sensitive]
        return explain_suppression(self.census, k=self.spec.privacy.k or 1, least_values=least)

    def save(
        self, folder: str | Path, file_format: str | None = None, *, report: bool = True, plots: bool = False
    ) -> Path:
        """Write the release into a folder: what may be published under `public`, what may not under `private`.

        `file_format` is "csv" or "parquet", for baskets alone also "dat" (FIMI) or "spmf"; by default CSV, unless rows
        have lists of items and no separator for them. `report` makes the page, `plots` saves its charts as PNG and SVG
        too. The file is read back and audited before it takes its place. Files of an earlier run are replaced when
        everything is ready, or, if anything fails, not at all. Returns the release's path.
        """
        from ringfence.engine import Engine
        from ringfence.publish import FORMATS, publish

        file_format = file_format or _usual_format(self.spec)
        if file_format not in FORMATS:
            raise SpecError(f"file_format = {file_format!r}: allowed: {listed(FORMATS)}")
        with Engine(self.spec.data) as engine:
            path, _ = publish(
                engine,
                engine.open(self.table, self.spec.data),
                self.decision,
                self.spec,
                self.census,
                Path(folder),
                file_format=file_format,
                original=None if self.original is None else engine.open(self.original, self.spec.data),
                log=self.log,
                report=report,
                plots=plots,
                baskets=self.baskets,
                sensitive=None if self.sensitive is None else engine.open(self.sensitive, self.spec.data),
            )
        return path

    def _headline(self) -> str:
        return f"Release of {self.metrics['rows']:,} rows; {self.metrics['suppressed']:,} suppressed"

    def _plans(self) -> "list[Plan]":
        return [self.plan, *([] if self.item_plan in (None, self.plan) else [self.item_plan])]

    def __str__(self) -> str:
        return "\n".join(map(str, [self._headline(), *self._plans(), self.audit]))

    def _repr_html_(self) -> str:
        from ringfence.markup import paragraph, table

        losses = [(name, f"{value:,.6g}") for name, value in self.metrics.items()]
        plans = [plan._repr_html_() for plan in self._plans()]
        parts = (*plans, table(["metric", "value"], losses), self.audit._repr_html_())
        return paragraph(self._headline(), strong=True) + "".join(parts)


def anonymize(source: Any, spec: Spec, *, listener: Listener | None = None, force: bool = False) -> Release:
    """Return an audited release of a table, as a specification asks for it.

    One scan counts the combinations of quasi-identifiers, a search decides on the counts, a second scan rewrites the
    rows, and the audit judges the result from its published values alone.

    `source` is anything with Arrow inside (pandas, Polars, PyArrow, DuckDB), the path of a file, or None for
    `data.source` of the specification; the release's table is of the same kind (Arrow for files). It is never
    changed. `listener` is told how far the work is. `force` lets through what is known not to be sound, and
    releases that fail their audit: for experiments.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 32, 38, 39], "illness": ["flu", "flu", "cold", "flu"]})
    >>> spec = Spec(
    ...     attributes={
    ...         "age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}},
    ...         "illness": {"role": "sensitive"},
    ...     },
    ...     privacy={"k": 2},
    ... )
    >>> release = anonymize(people, spec)
    >>> sorted(release.table["age"].to_pylist())
    ['[30, 35)', '[30, 35)', '[35, 40)', '[35, 40)']
    >>> release.audit.measured["k"]
    2
    """
    _check_available(spec, force=force)
    diary = Diary(listener)
    return _audited(_located(source, spec), spec, searcher(spec, diary), diary, force=force)


def apply(plan: "GlobalPlan | str | Path", source: Any, *, unknown: str = "error") -> Release:
    """Return an audited release of new rows, recoded by a plan that was made for others.

    Every value becomes what the plan says; classes that fail the plan's promise on these rows are suppressed, within
    the limit that the plan's specification sets. A value that the plan does not know is a DataError, or with
    `unknown="suppress"` its rows are suppressed too. Releases made by one plan can be read side by side, but whoever
    is in two of them is less protected than in one: see docs/promise.md on composition.

    `plan` is a plan or the path of a saved one; `source` is as for `anonymize`.
    """
    from ringfence.plan import GlobalPlan

    if unknown not in ("error", "suppress"):
        raise SpecError(f"unknown = {unknown!r}: allowed: 'error', 'suppress'")
    saved = plan if isinstance(plan, GlobalPlan) else GlobalPlan.load(plan)
    spec = Spec.loads(saved.spec, "the plan's specification")
    if spec.items is not None:
        raise SpecError(f"the plan says what becomes of quasi-identifiers, not of the baskets in {spec.items!r}")
    diary = Diary(None)
    return _audited(source, spec, reuser(saved, spec, unknown == "suppress"), diary)


def _audited(source: Any, spec: Spec, decide: Decider, diary: Diary, *, force: bool = False) -> Release:
    """Recode a source as `decide` says, and audit what came out."""
    from ringfence.audit.verify import verify
    from ringfence.basket_rows import spread
    from ringfence.engine import Engine
    from ringfence.publish import check
    from ringfence.sources import as_arrow, like

    original = source if isinstance(source, str | Path) else as_arrow(source)
    with Engine(spec.data) as engine:
        if isinstance(original, str | Path) or spec.data.basket_id is not None:
            rows, columns = _opened(engine, original, spec)
            made = decide(engine, rows, [name for name in columns if name != spec.data.basket_id])
            table = like(source, engine.fetch(spread(made.rows, spec, columns)))
        else:
            table, made = _rewrite_in_memory(engine, source, original, spec, decide)
        diary("auditing the release")
        before = engine.open(original, spec.data) if spec.has_rings else None
        values = None if made.sensitive is None else engine.hold(made.sensitive)
        verdict = verify(engine, engine.open(table, spec.data), spec, before, values=values)
        check(verdict, made.decision, force=force)
    kept = original if spec.has_rings else None
    sensitive = None if made.sensitive is None else like(source, made.sensitive)
    return Release(table, made.decision, verdict, spec, made.census, tuple(diary.lines), made.baskets, kept, sensitive)


def _opened(engine: "Engine", source: Any, spec: Spec) -> "tuple[ibis.Table, list[str]]":
    """Return the rows of a source, of a long table one a basket, and the columns that are published."""
    from ringfence.basket_rows import gather
    from ringfence.engine import check_columns

    rows = engine.open(source, spec.data)
    columns = check_columns(rows.columns, spec)
    return gather(engine, rows, spec, columns), columns


def _rewrite_in_memory(
    engine: "Engine", source: Any, table: "pa.Table", spec: Spec, decide: Decider
) -> tuple[Any, Made]:
    """Recode a caller's table: the engine sees the columns it needs, the others stay what they are."""
    import numpy as np
    import pyarrow as pa

    from ringfence.census import counted_columns
    from ringfence.engine import check_columns
    from ringfence.sources import POSITION, assemble

    columns = check_columns(table.column_names, spec)
    looked_at = list(dict.fromkeys([*counted_columns(spec), *spec.of_role("sensitive", "items")]))
    needed = table.select(looked_at).append_column(POSITION, pa.array(np.arange(table.num_rows)))
    made = decide(engine, engine.hold(needed), [POSITION, *spec.of_role("quasi", "items")])
    fetched = engine.fetch(made.rows.select(POSITION, *made.changed))
    positions = fetched[POSITION].to_numpy()
    kind = source if not hasattr(source, "read_next_batch") else table  # a reader is used up, and becomes a table
    return assemble(kind, table, columns, positions, fetched.select(made.changed)), made


def run(
    spec: Spec,
    folder: str | Path,
    *,
    report: bool = True,
    plots: bool = False,
    listener: Listener | None = None,
    force: bool = False,
) -> Release:
    """Anonymize `data.source` of a specification straight into a folder, as `Release.save` lays it out.

    The rows go from file to file without being held in memory; the audit judges the file that was written. The
    release's `table` is its path (and `sensitive`, where there are two tables, that of the second).
    """
    from ringfence.basket_rows import spread
    from ringfence.engine import Engine
    from ringfence.publish import beside, publish

    _check_available(spec, force=force)
    diary = Diary(listener)
    source = _located(None, spec)
    with Engine(spec.data) as engine:
        rows, columns = _opened(engine, source, spec)
        made = searcher(spec, diary)(engine, rows, [name for name in columns if name != spec.data.basket_id])
        diary("writing and auditing the release")
        path, verdict = publish(
            engine,
            spread(made.rows, spec, columns),
            made.decision,
            spec,
            made.census,
            Path(folder),
            file_format=_format_of(source, spec),
            original=rows if spec.has_rings else None,
            force=force,
            log=diary.lines,
            report=report,
            plots=plots,
            baskets=made.baskets,
            sensitive=None if made.sensitive is None else engine.hold(made.sensitive),
        )
    kept = source if spec.has_rings else None
    sensitive = None if made.sensitive is None else beside(path)
    return Release(path, made.decision, verdict, spec, made.census, tuple(diary.lines), made.baskets, kept, sensitive)


def _format_of(source: Path, spec: Spec) -> str:
    """Return the format that a source has, as far as releases are written in it; else Parquet."""
    from ringfence.item_columns import file_is_spmf

    suffix = source.suffix.lower()
    if suffix in BASKET_FILES:
        return "spmf" if file_is_spmf(source, spec.data.encoding) else "dat"
    return "csv" if suffix in TEXT_FILES else "parquet"


def _usual_format(spec: Spec) -> str:
    """Return the format that a release in memory is written in: CSV, unless that cannot hold its lists of items."""
    lists = spec.items is not None and spec.data.basket_id is None and spec.attributes[spec.items].separator is None
    return "parquet" if lists else "csv"


def apply_to_file(plan: str | Path, source: Path, target: Path, *, unknown: str = "error") -> Release:
    """Recode a file by a saved plan into another file, which takes its place when it has passed its audit."""
    from ringfence.engine import Engine
    from ringfence.publish import write_audited

    release = apply(plan, source, unknown=unknown)
    with Engine(release.spec.data) as engine:
        rows = engine.open(release.table, release.spec.data)
        write_audited(engine, rows, release.decision, release.spec, target)
    return replace(release, table=target)


def frontier(source: Any, spec: Spec, *, listener: Listener | None = None) -> Frontier | SchemeFrontier:
    """Return the front of k and loss: what every k costs.

    With the scheme `level`, every node of the lattice is evaluated by roll-up, for all k at once. `spec.frontier` says
    which front: of pairs of node and k ("release", the default), or of nodes alone, as Dewri et al. 2009 have it;
    exactly, or by their search POkA. What `privacy` asks for are minima; none is needed. With one of l, p and t, and
    `suppression = 0`, the front has three objectives. With any other scheme, the k of `frontier.k` are searched one by
    one, as the method `optimal` would. `source` is as for `anonymize`.
    """
    from ringfence.census import counted_columns, take_census
    from ringfence.engine import ROWS, Engine, check_columns
    from ringfence.search.frontier import exact_front
    from ringfence.search.poka import poka_front
    from ringfence.search.progress import Watch
    from ringfence.search.scheme_front import scheme_front

    _check_available(spec, promised=False)
    freer = [name for name in spec.of_role("quasi") if spec.scheme_of(name) != "level"]
    _check_front(spec, freer)
    diary = Diary(listener)
    with Engine(spec.data) as engine:
        diary("counting the rows")
        rows = engine.open(_located(source, spec), spec.data)
        check_columns(rows.columns, spec)
        census = take_census(engine.count(rows, counted_columns(spec)), spec, ROWS)
    diary(f"{census.rows:,} rows, {len(census.weights):,} different combinations; searching")
    watch = Watch(spec.method.time_limit, diary.tell)
    if freer:
        return SchemeFrontier(scheme_front(census, spec, watch), census, spec)
    find = poka_front if spec.frontier.algorithm == "poka" else exact_front
    return Frontier(find(census, spec, watch), census, spec)


def _check_front(spec: Spec, freer: list[str]) -> None:
    """Refuse what a front over levels, or one over other schemes, cannot do."""
    if spec.method.name != "optimal":
        raise SpecError(f"method.name = {spec.method.name!r}: a front is over recodings; allowed: optimal")
    if not freer and spec.frontier.k is not None:
        raise SpecError(
            "frontier.k belongs to schemes other than level: over levels, the front has every k; leave it out"
        )
    if freer and spec.frontier.algorithm != "exact":
        raise SpecError(
            f"frontier.algorithm = {spec.frontier.algorithm!r} is over the levels of hierarchies, but the scheme of"
            f" {freer[0]!r} is {spec.scheme_of(freer[0])!r}; allowed: exact"
        )
    if freer and "points" in spec.frontier.model_fields_set:
        raise SpecError(f"frontier.points is over levels, but the scheme of {freer[0]!r} is another; leave it out")


def draft(path: Path, folder: Path = Path()) -> "Draft":
    """Look at a file and draft a specification, to be kept in `folder`: roles with reasons, hierarchies that fit."""
    from ringfence.draft import draft_spec, guess_data
    from ringfence.engine import Engine

    if not path.is_file():
        raise DataError(f"there is no file {str(path)!r}")
    data = guess_data(path) if path.suffix.lower() in TEXT_FILES else Data()
    with Engine(data) as engine:
        source = os.path.relpath(path.resolve(), folder.resolve())
        return draft_spec(engine, engine.open(path, data), data, source)


def audit(
    table: Any,
    spec: Spec,
    original: Any = None,
    *,
    sensitive: Any = None,
    population: Any = None,
    other: Any = None,
    corrupted: int = 0,
    attacks: str | Sequence[str] = (),
) -> "Verdict":
    """Judge a release: does what it shows keep the promise of the specification, and how likely is anyone found?

    Works on any table, whoever made it: it reads the published values and the specification, and shares no code with
    the searches. `table` is a path or a table of any kind. Where a manifest stands beside the file, the file's hash
    must be the manifest's. With the `original`, a path or a table, the release is also traced back to it: no row may be
    made up, none past its boundary, and rows suppressed are counted. A release of the method `ring` cannot be judged
    without it. With a table of the `population` that the rows come from, `verdict.risk` has what a journalist gets, and
    k-map and presence are judged. `corrupted` asks what is left to guess for an adversary who knows whose that many
    rows are. `attacks` are carried out with the original at hand: "all", or some of linkage, homogeneity, background,
    minimality, corruption, items, and intersection with an `other` release of the same table. A release of the method
    `anatomy` is two tables: `sensitive` is the second, by default the file of that name beside the first.
    """
    from ringfence.audit.verify import verify
    from ringfence.engine import Engine, as_released
    from ringfence.publish import beside

    _check_promise(spec)
    if sensitive is None and spec.has_buckets and isinstance(table, str | Path):
        sensitive = beside(Path(table))
    with Engine(spec.data) as engine:
        before, everyone, second = (
            None if each is None else engine.open(each, spec.data) for each in (original, population, other)
        )
        wanted = (attacks,) if isinstance(attacks, str) else attacks

        def judged(data: Data) -> "Verdict":
            rows = engine.open(table, data)
            return verify(
                engine,
                rows,
                spec,
                before,
                population=everyone,
                other=second,
                corrupted=corrupted,
                attacks=wanted,
                values=None if sensitive is None else engine.open(sensitive, data),
            )

        if not isinstance(table, str | Path):
            return judged(spec.data)
        try:  # as a release of ours is written, else as the original is
            verdict = judged(as_released(spec.data))
        except DataError:
            if as_released(spec.data) == spec.data:
                raise
            verdict = judged(spec.data)
    return _with_manifest(verdict, Path(table))


def _with_manifest(verdict: "Verdict", release: Path) -> "Verdict":
    """Add a finding where a manifest beside the release speaks of another file."""
    from ringfence.audit.verify import Finding
    from ringfence.publish import SENSITIVE, file_hash

    manifest = release.parent / "manifest.json"
    if not manifest.is_file():
        return verdict
    try:
        stated = json.loads(manifest.read_text(encoding="utf-8"))
        if stated["release"]["file"] != release.name:
            return verdict
        files = [stated[key] for key in ("release", SENSITIVE) if key in stated]
        paths = {release.with_name(each["file"]): each["sha256"] for each in files}
        changed = [path.name for path, stated in paths.items() if not path.is_file() or file_hash(path) != stated]
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{str(manifest)!r} is not a manifest, or a damaged one") from None
    findings = [
        Finding(
            rule="manifest",
            message=f"{name!r} is not the file that its manifest speaks of: it was changed after it was published",
            rows=int(verdict.measured["rows"]),
            example={},
        )
        for name in changed
    ]
    return replace(verdict, ok=verdict.ok and not findings, findings=(*verdict.findings, *findings))


def _located(source: Any, spec: Spec) -> Any:
    """Return the source that was passed in, or the one that the specification names."""
    if source is not None:
        return source
    if spec.data.source is None:
        raise SpecError("there is no data: pass a table, or name a file in data.source")
    if "://" in spec.data.source:
        raise SpecError(f"data.source = {spec.data.source!r}: databases are not there yet; allowed: the path of a file")
    return spec.locate(spec.data.source)


def _check_available(spec: Spec, *, promised: bool = True, force: bool = False) -> None:
    """Refuse what later versions will do, naming it."""
    method, data = spec.method, spec.data
    missing = {
        f"method.name = {method.name!r}": method.name not in AVAILABLE,
        "data.entity": data.entity is not None,
        "data.table": data.table is not None,
        **{f"privacy.{key}": getattr(spec.privacy, key) is not None for key in JUDGED_ONLY},
        "method.representation": method.representation is not None and method.name not in GROUPING,
    }
    for what, asked in missing.items():
        if asked:
            raise SpecError(
                f"{what} is not there yet; there are: the methods {listed(AVAILABLE)}, with privacy.k, l, p, t and m"
            )
    _check_promise(spec, promised=promised)
    if (method.name == "itemsets" and promised) or spec.has_buckets:
        return
    if method.search not in RELATIONAL_SEARCHES:
        raise SpecError(
            f"method.search = {method.search!r} is for the method 'itemsets'; allowed: {listed(RELATIONAL_SEARCHES)}"
        )
    if method.name == "ring":
        _check_ring(spec, force)
    elif method.name in GROUPING:
        _check_grouping(spec)
    for name in spec.of_role("quasi"):
        if spec.attributes[name].hierarchy is None:
            _check_needs_none(spec, name)


def _check_promise(spec: Spec, *, promised: bool = True) -> None:
    """Refuse a specification that promises nothing, or nothing about anyone."""
    privacy = spec.privacy
    judged = any(getattr(privacy, key) is not None for key in JUDGED_ONLY)
    if promised and not judged and (privacy.k, privacy.l, privacy.p, privacy.t) == (None, None, None, None):
        raise SpecError("[privacy] promises nothing; give at least one of k, l, p and t")
    check_items(spec)
    if not spec.of_role("quasi") and (spec.method.name != "itemsets" or not promised):
        raise SpecError("no attribute has the role quasi: there is nothing to recode")
    if spec.has_buckets and promised:
        _check_anatomy(spec)


def _check_needs_none(spec: Spec, name: str) -> None:
    """Refuse an attribute without a hierarchy where what is published are labels of one."""
    method = spec.method
    scheme = spec.scheme_of(name) if method.name == "optimal" else "level"
    if method.name in GROUPING and method.shown_as == "hierarchy":
        raise SpecError(
            f"attributes.{name} has no hierarchy, which method.representation = 'hierarchy' needs; give it one, or"
            " representation = 'set' or 'range', which need none"
        )
    if method.name not in GROUPING and scheme not in ("ordered", "set"):
        raise SpecError(
            f"attributes.{name} has no hierarchy, which the scheme {scheme!r} needs; give it one, or"
            " scheme = 'ordered' or 'set', which need none"
        )


def _check_grouping(spec: Spec) -> None:
    """Refuse what methods that decide on groups of rows cannot promise."""
    name = spec.method.name
    for part in spec.diversities():
        if part.kind != "distinct" and name != "mondrian":
            raise SpecError(f"privacy.l with kind = {part.kind!r}: the method {name!r} promises k, p and distinct l")
    if spec.closenesses() and name != "mondrian":
        raise SpecError(f"privacy.t: the method {name!r} promises k, p and distinct l; allowed: no t")
    if spec.method.keep_suppressed:
        raise SpecError(f"method.keep_suppressed = true: the method {name!r} drops the rows that it suppresses")


def _check_anatomy(spec: Spec) -> None:
    """Refuse what buckets cannot promise, and what would tell what they hide."""
    asked, sensitive = spec.diversities(), spec.of_role("sensitive")
    promised = "the method 'anatomy' promises distinct l of one attribute, and nothing else"
    for key, value in spec.privacy:
        if key != "l" and value is not None:
            raise SpecError(f"privacy.{key}: {promised}")
    if len(asked) != 1 or asked[0].kind != "distinct":
        found = f"of kind {asked[0].kind!r}" if len(asked) == 1 else f"{len(asked)} times"
        raise SpecError(f"privacy.l is asked for {found}: {promised}")
    if len(sensitive) > 1:
        raise SpecError(
            "the method 'anatomy' hides one sensitive attribute, and others would tell it; there are:"
            f" {listed(sensitive)}"
        )
    if spec.items is not None:
        raise SpecError(f"attributes.{spec.items}.role = 'items': baskets do not go with the method 'anatomy'")


def _check_ring(spec: Spec, force: bool) -> None:
    """Refuse what rings cannot promise."""
    method, privacy, asked = spec.method, spec.privacy, spec.diversities()
    promised = "the method 'ring' promises k, and distinct l of one attribute"
    if privacy.p is not None or spec.closenesses() or len(asked) > 1:
        key = "p" if privacy.p is not None else "t" if spec.closenesses() else "l"
        raise SpecError(f"privacy.{key}: {promised}")
    if asked and asked[0].kind != "distinct":
        raise SpecError(f"privacy.l with kind = {asked[0].kind!r}: {promised}")
    if spec.items is not None:
        raise SpecError(f"attributes.{spec.items}.role = 'items': baskets do not go with the method 'ring' yet")
    if method.keep_suppressed:
        raise SpecError("method.keep_suppressed = true: the method 'ring' drops the rows that it suppresses")
    if asked and (method.homogeneous or method.partition is not None or method.max_ring is not None):
        raise SpecError(
            "privacy.l: rings of different values are dealt out by rules of their own; leave out method.partition,"
            " max_ring and homogeneous"
        )
    if method.paper_diversity and not asked:
        raise SpecError("method.paper_diversity = true is about privacy.l, which is not asked for")
    if method.paper_diversity and not force:
        raise SpecError(
            "method.paper_diversity = true is not sound: whoever knows how its rings are ordered can work out sensitive"
            " values; it is there for experiments, and has to be forced"
        )
