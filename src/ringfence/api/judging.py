"""Releases and certificates of anybody, judged."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.api.loading import load
from ringfence.api.making import located, named, with_measures
from ringfence.errors import DataError, SpecError
from ringfence.methods.checks import check_available, check_promise
from ringfence.release.jobs import count_rows
from ringfence.spec import Spec
from ringfence.spec.data import Data

if TYPE_CHECKING:
    from ringfence.audit.verdict import Finding, Verdict
    from ringfence.certificates import CheckedBound


def check_bound(certificate: Path | str, spec: Spec, source: Any = None) -> "CheckedBound":
    """Check the certificate of a dual bound (`method.bound = "dual"`) against the original and its specification.

    Nothing of the search is used: the rows are counted again, and all groups of so many rows as the certificate speaks
    of are gone through. `certificate` is the path of a run's private/certificate.json, `source` as for `anonymize`.

    Raises
    ------
    DataError
        If the file is no certificate, is about other rows, or says more than its prices add up to.
    """
    from ringfence.census.census import take_census
    from ringfence.certificates import check_certificate
    from ringfence.rows.dates import open_original
    from ringfence.rows.engines import engine_for
    from ringfence.rows.sources import ROWS

    check_available(spec)
    if not spec.groups_rows:
        raise SpecError(f"method.name = {spec.method.name!r}: certificates are about groups of rows")
    try:
        content = json.loads(Path(certificate).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"cannot read the certificate {str(certificate)!r}: {error}") from None
    if not isinstance(content, dict):
        raise DataError(f"{str(certificate)!r} is no certificate: it holds no table of keys")
    source = located(source, spec)
    with engine_for(spec.data, source) as engine:
        rows = open_original(engine, source, spec)
        spec = with_measures(engine, rows, spec)
        census = take_census(count_rows(engine, rows, spec), spec, ROWS)
    least = spec.k
    if not spec.has_rings:  # a group of l values has l rows
        least = max([least, *(spec.least_values(part.name) for part in census.sensitive)])
    if spec.has_loose_labels:
        least = max(least, 3)  # docs/specification.md, representations
    return check_certificate(content, census, spec.method.minimized, [*map(spec.shown_as, census.names)], least)


def audit(
    table: Any,
    spec: Spec,
    original: Any = None,
    *,
    sensitive: Any = None,
    counts: Any = None,
    population: Any = None,
    other: Any = None,
    corrupted: int = 0,
    attacks: str | Sequence[str] = (),
) -> "Verdict":
    """Judge a release: does what it shows keep the promise of the specification, and how likely is anyone found?

    Works on any table, whoever made it: it reads the published values and the specification, and shares no code with
    the searches. `table` is a path or a table of any kind. Where a manifest stands beside the file, all that it says
    of the release must be so, and the files that it lists must be those it speaks of; that of a table or a folder is
    looked for where the specification is from, in the folder of a run (`out/private/spec.toml`). With the `original`,
    a path or a table, the release is also traced back to it: no row may be made up, none past its boundary, and rows
    suppressed are counted. A release of the method `ring` cannot be judged without it, and neither can k where it
    counts people (`data.entity`): see `Verdict.unjudged`. With a table of the `population` that the rows come from,
    `verdict.risk` has what a journalist gets, and k-map and presence are judged. `corrupted` asks what is left to
    guess for an adversary who knows whose that many rows are. `attacks` are carried out with the original at hand:
    "all", or some of linkage, homogeneity, background, minimality, corruption, items, and intersection with an `other`
    release of the same table; refinement needs the release alone. A release of the method `anatomy` is two tables:
    `sensitive` is the second, by default the file of that name beside the first. `counts` says how many rows have which
    value; where the specification asks for it (`output.counts`), by default the file of that name beside the release.
    """
    load()

    from ringfence.audit.basket_form import line_findings
    from ringfence.audit.labels.told import told_measures
    from ringfence.audit.verify import verify
    from ringfence.release.manifest import COUNTS, SENSITIVE, beside, with_manifest
    from ringfence.rows.dates import with_spelled_rows
    from ringfence.rows.engine import as_counts, as_released
    from ringfence.rows.engines import engine_for
    from ringfence.rows.formats import BASKETS
    from ringfence.rows.places import find

    check_promise(spec)
    if sensitive is None and spec.has_buckets and isinstance(table, str | Path):
        sensitive = beside(table, SENSITIVE)
    if counts is None and spec.output.counts and isinstance(table, str | Path):
        there = beside(table, COUNTS)
        counts = there if isinstance(there, str) or there.exists() else None
    with engine_for(spec.data, table, original, population, other) as engine:
        known = [
            None if each is None else engine.folded(engine.open(each, spec.data)) for each in (original, population)
        ]
        wanted = named(attacks)

        def judged(data: Data) -> "tuple[Verdict, Spec]":
            rows = engine.folded(engine.open(table, data, as_it_stands=True))
            beside_it = None if counts is None else engine.open(counts, as_counts(data), as_it_stands=True)
            told = told_measures(engine, rows, spec, known, beside_it)
            before, everyone = (
                None if each is None else with_spelled_rows(engine, each, told.formats) for each in known
            )
            verdict = verify(
                engine,
                rows,
                told,
                before,
                population=everyone,
                other=None if other is None else engine.open(other, data, as_it_stands=True),
                corrupted=corrupted,
                attacks=wanted,
                values=None if sensitive is None else engine.open(sensitive, data, as_it_stands=True),
                counts=beside_it,
            )
            return verdict.with_findings(as_written), told

        as_written: list[Finding] = []
        if isinstance(table, str | Path) and find(table).form is BASKETS:
            as_written = [each for file in find(table).files for each in line_findings(file, spec.data)]
        if not isinstance(table, str | Path):
            return judged(spec.data)[0]
        try:  # as a release of ours is written, else as the original is
            verdict, told = judged(as_released(spec.data))
        except DataError:
            if as_released(spec.data) == spec.data:
                raise
            verdict, told = judged(spec.data)
        return with_manifest(engine, verdict, table, spec, told)
