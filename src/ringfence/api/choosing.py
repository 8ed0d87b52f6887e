"""Before a release: which k, which method, which specification."""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.api.in_memory import make_audited
from ringfence.api.loading import load
from ringfence.api.making import check_choice, located, named, with_measures
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.events import Listener
from ringfence.methods.checks import check_available, check_front, check_promise, is_for_chosen_k
from ringfence.release.diary import Diary
from ringfence.release.fronts import Frontier, SchemeFrontier
from ringfence.release.jobs import Decider, count_rows, searcher
from ringfence.release.release import Release
from ringfence.spec import Spec
from ringfence.spec.data import Data

if TYPE_CHECKING:
    from ringfence.draft.draft import Draft
    from ringfence.release.comparing import Comparison, Tried


def frontier(source: Any, spec: Spec, *, listener: Listener | None = None) -> Frontier | SchemeFrontier:
    """Return the front of k and loss: what every k costs.

    With the scheme `level`, every node of the lattice is evaluated by roll-up, for all k at once. `spec.frontier` says
    which front: of pairs of node and k ("release", the default), or of nodes alone, as Dewri et al. 2009 have it;
    exactly, or by their search POkA. What `privacy` asks for are minima; none is needed. With one of l, p and t, and
    no suppression, the front has three objectives. With any other scheme, with l, p or t beside a `suppression`, and
    with methods that decide on groups of rows, the k of `frontier.k` are searched one by one, as the method would.
    `source` is as for `anonymize`.
    """
    load()

    from ringfence.census.census import take_census
    from ringfence.methods import decide
    from ringfence.rows.dates import open_original
    from ringfence.rows.engines import engine_for
    from ringfence.rows.sources import ROWS
    from ringfence.search.front.frontier import exact_front
    from ringfence.search.front.poka import poka_front
    from ringfence.search.front.scheme_front import chosen_front, scheme_front

    check_available(spec, promised=False)
    freer = [name for name in spec.of_role("quasi") if spec.scheme_of(name) != "level"]
    check_front(spec, freer)
    diary = Diary(listener)
    with engine_for(spec.data, located(source, spec)) as engine:
        diary("count", "counting the rows")
        source = located(source, spec)
        check_choice(source, spec)
        rows = open_original(engine, source, spec)
        spec = with_measures(engine, rows, spec)
        census = take_census(count_rows(engine, rows, spec), spec, ROWS)
    diary("search", f"{census.rows:,} rows, {len(census.weights):,} different combinations; searching")
    with diary.searching(spec) as watch:
        if is_for_chosen_k(spec):
            return SchemeFrontier(chosen_front(census, spec, watch, decide), census, spec)
        if freer:
            return SchemeFrontier(scheme_front(census, spec, watch), census, spec)
        find = poka_front if spec.frontier.algorithm == "poka" else exact_front
        return Frontier(find(census, spec, watch), census, spec)


def compare(
    source: Any,
    spec: Spec,
    *,
    budget: float = 30.0,
    methods: Sequence[str] | None = None,
    attacks: str | Sequence[str] = (),
    listener: Listener | None = None,
) -> "Comparison":
    """Try every method, scheme and representation that can keep the promise; return them side by side.

    All decide on the same census, each within its share of `budget` seconds. Every release is carried out, audited, and
    measured by what its users would be off by (`yardsticks`), from its published table alone; `spec.purpose` says what
    they want to do with it. A candidate that cannot be made says why. `methods` are the names of some methods, None for
    all; `attacks` are carried out on every release. `listener` is also told what came of each candidate, by an event of
    the stage "compare" whose `candidate` is its row of the table. `source` is as for `anonymize`.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 32, 38, 39] * 5, "town": ["Oslo", "Voss"] * 10})
    >>> attributes = {"age": {"role": "quasi", "hierarchy": {"intervals": [5, 10]}}, "town": {"role": "quasi"}}
    >>> found = compare(people, Spec(attributes=attributes, privacy={"k": 5}), methods=["local", "mondrian"])
    >>> sorted(found.table["name"].to_pylist())[-1]
    'mondrian-sets'
    >>> found.release(found.best.name).audit.ok
    True
    """
    load()

    from ringfence.api.trying import Bench, looked_at
    from ringfence.methods.candidates import candidates
    from ringfence.release.comparing import Comparison
    from ringfence.release.trials import try_all
    from ringfence.rows.dates import open_original
    from ringfence.rows.engines import engine_for
    from ringfence.rows.sources import as_arrow, collected
    from ringfence.yardsticks.models import check_installed

    check_promise(spec)
    if not budget > 0:
        raise SpecError(f"budget = {budget!r}: allowed: a number of seconds above 0")
    if spec.purpose.predict:
        check_installed()
    diary, begun, asked = Diary(listener), time.monotonic(), named(attacks)
    source = collected(located(source, spec))
    source = as_arrow(source) if hasattr(source, "read_next_batch") else source  # a reader would be used up
    with engine_for(spec.data, source) as engine:
        check_choice(source, spec)
        diary("count", "counting the rows")
        rows = open_original(engine, source, spec)
        needed = rows.columns if spec.items is not None else [name for name in rows.columns if name in looked_at(spec)]
        original = engine.loaded(rows.select(*needed))
        spec = with_measures(engine, original, spec)
        bench = Bench(engine, original, engine.size(original), spec, asked, diary)
        tried = try_all(candidates(spec, methods), bench, budget=budget, begun=begun)
    if not any(each.made for each in tried):
        reasons = "; ".join(f"{each.name}: {each.reason}" for each in tried[:3])
        raise Unsatisfiable(f"none of {len(tried)} candidates could be made: {reasons}")

    def remake(chosen: "Tried") -> Release:
        assert chosen.made is not None, "only what was made can be made again"
        decided, quiet = chosen.made.decision, Diary()
        again = decided if spec.items is None else None  # what is decided on baskets depends on the draw before it

        def decider(dated: Spec) -> Decider:
            return searcher(dated, quiet, bench.censuses, again)

        return make_audited(source, chosen.candidate.spec, decider, quiet, attacks=asked)

    figures = next(each.made.decision.metrics for each in tried if each.made)
    counted = int(figures["rows"] + figures["suppressed"])
    return Comparison(spec, tuple(tried), bench.naive, counted, budget, time.monotonic() - begun, remake)


def draft(source: Any, folder: str | Path = ".") -> "Draft":
    """Look at a table and return a drafted specification: roles with reasons, hierarchies that fit.

    `source` is the path of a file, or anything with Arrow inside (pandas, Polars, PyArrow, DuckDB). The draft is a
    `Spec` that runs as it is; `toml` is how `ringfence init` writes it, to be kept in `folder`, with the reasons as
    comments. It is a guess from the names and values of the columns: only you know what others know about these people.

    >>> import pyarrow as pa
    >>> from ringfence import anonymize
    >>> patients = [f"P{n}" for n in range(20)]
    >>> visits = pa.table({"patient": patients * 3, "sex": ["f", "m"] * 30, "nights": [1, 2, 3, 4, 5, 6] * 10})
    >>> drafted = draft(visits)
    >>> drafted.data.entity, drafted.reasons["sex"]
    ('patient', 'the sex, which others know')
    >>> anonymize(visits, drafted).audit.ok
    True
    """
    from ringfence.draft.draft import draft_spec
    from ringfence.draft.guess import guess_data
    from ringfence.draft.written import how_written
    from ringfence.rows.engines import engine_for
    from ringfence.rows.formats import TEXT
    from ringfence.rows.places import find, is_local
    from ringfence.rows.remote import is_spark
    from ringfence.rows.sources import as_arrow, collected, unpacked

    name, data = None, Data()
    if isinstance(source, str | Path):
        place = find(source)
        name = os.path.relpath(Path(source).resolve(), Path(folder).resolve()) if is_local(source) else str(source)
        if place.form is TEXT:
            with unpacked(place.files[0]) as text:
                data = guess_data(text)
    given = source if name is not None or is_spark(source) else as_arrow(collected(source))
    with engine_for(data, given) as engine:
        data, told = how_written(engine, engine.folded(engine.open(given, data)), data)
        return draft_spec(engine, engine.folded(engine.open(given, data)), data, name, told)
