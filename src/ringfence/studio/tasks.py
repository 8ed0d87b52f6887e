"""What a worker can be asked to do, each a verb of Ringfence: draft, look at a hierarchy, find fronts, run, judge.

Specifications come as the nested tables that TOML would have; what goes back is what JSON can hold.
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import ringfence as rf
from ringfence.audit.verdict import Verdict
from ringfence.draft.draft import Draft
from ringfence.draft.hierarchies import fit
from ringfence.draft.profile import look_at
from ringfence.draft.roles import guess_role
from ringfence.errors import DataError, SpecError
from ringfence.events import Event
from ringfence.plans.recode import GlobalPlan
from ringfence.release.card import card_of
from ringfence.release.fronts import Frontier, SchemeFrontier
from ringfence.release.manifest import search_figures
from ringfence.report.claims import limits, promises
from ringfence.report.evidence import uniformities
from ringfence.report.words import kept
from ringfence.rows.duckdb import DuckDB
from ringfence.rows.duckdb_words import quoted
from ringfence.rows.formats import DUCKDB, format_of
from ringfence.rows.item_columns import item_lists
from ringfence.rows.sources import ROWS
from ringfence.samples import write_baskets, write_people, write_visits
from ringfence.spec import Spec
from ringfence.studio.forests import Forest, forest, occurring_items
from ringfence.studio.seen import FirstRows, seen, seen_items
from ringfence.studio.worker import as_told
from ringfence.values.builders import self_contained

FIRST = 30
"""How many of the first rows are looked at."""

Parts = Mapping[str, Any]


class Desk:
    """What a worker keeps between two tasks: the values of columns, and fronts with the plans on them."""

    def __init__(self, folder: Path, tell: Callable[[Any], bool]) -> None:
        self._folder, self._tell = folder, tell
        self._counts: dict[tuple[str, str | None, bool], tuple[list[Any], list[int]]] = {}
        self._first: FirstRows | None = None
        self._is_alone = False
        self._front: Frontier | None = None
        self._plans: dict[tuple[str, int], GlobalPlan] = {}

    def _spec(self, parts: Parts) -> Spec:
        spec = Spec(**parts).at(self._folder)
        if not self._is_alone:  # also in a project that was saved
            check_alone(spec.locate(spec.data.source or ""))
            self._is_alone = True
        return spec

    def _listen(self, event: Event) -> bool:
        return self._tell({"event": as_told(event)})

    # Look

    def draft(self, source: str) -> dict[str, Any]:
        """Look at a file: a drafted specification with its reasons, and the first rows."""
        check_alone(self._folder / source)
        drafted = rf.draft(self._folder / source, self._folder)
        return self._looked_at(drafted, tomllib.loads(drafted.toml))

    def sample(self, kind: str) -> dict[str, Any]:
        """Make sample data and look at it; people and baskets come with a specification of their own."""
        if kind == "visits":
            name = write_visits(self._folder, 6_000).name
            return {"source": name, **self.draft(name)}
        stated = (write_people if kind == "people" else write_baskets)(self._folder, 30_000)
        parts = tomllib.loads(stated.read_text(encoding="utf-8"))
        stated.unlink()
        source = str(parts["data"]["source"])
        drafted = rf.draft(self._folder / source, self._folder)
        return {"source": source, **self._looked_at(drafted, parts)}

    def _looked_at(self, drafted: Draft, parts: dict[str, Any]) -> dict[str, Any]:
        first = self._first_rows(drafted.at(self._folder))
        together = drafted.together
        return {
            "spec": parts,
            "rows": drafted.rows,
            "columns": [asdict(column) for column in drafted.columns],
            "pairs": [asdict(pair) for pair in drafted.pairs[:10]],
            "together": asdict(together) if together.columns else None,
            "people": _people(drafted),
            "first": {"columns": list(first.columns), "rows": first.as_text()},
        }

    def suggest(self, spec: Parts, name: str) -> dict[str, Any]:
        """Return what a draft would say of a column if it were a quasi-identifier: a hierarchy that fits its values."""
        stated = self._spec(spec)
        with DuckDB(stated.data) as engine:
            rows = engine.open(stated.locate(stated.data.source or ""), stated.data)
            if name not in rows.columns:
                raise SpecError(f"the data has no column {name!r}")
            (profile,) = look_at(engine, rows.select(name))
        found = fit(profile, guess_role(profile).nature)
        suggested: dict[str, Any] = {"hierarchy": dict(found.hierarchy) or "flat"}
        if found.order is not None:
            suggested["order"] = found.order if isinstance(found.order, str) else [*found.order]
        if found.formats:
            suggested["format"] = [*found.formats]
        return suggested

    def _first_rows(self, spec: Spec) -> FirstRows:
        if self._first is None:
            with DuckDB(spec.data) as engine:
                rows = engine.open(spec.locate(spec.data.source or ""), spec.data)
                self._first = FirstRows.of(engine.fetch(rows.limit(FIRST)))
        return self._first

    def hierarchy(self, spec: Parts, name: str) -> Forest:
        """Return the tree of an attribute over the values that occur, or the items, and what it does not cover."""
        stated = self._spec(spec)
        separator = stated.attributes[name].separator
        are_baskets = stated.attributes[name].role == "items" and stated.data.basket_id is None
        asked = (name, separator if are_baskets else None, are_baskets)
        if asked not in self._counts:
            with DuckDB(stated.data) as engine:
                rows = engine.open(stated.locate(stated.data.source or ""), stated.data)
                if name not in rows.columns:
                    raise SpecError(f"the data has no column {name!r}")
                counted = engine.count(rows, [name])
            values, counts = counted[name], counted[ROWS].to_numpy().astype(np.int64)
            if are_baskets:
                values, counts = occurring_items(item_lists(values, separator, name), counts)
            self._counts[asked] = values.to_pylist(), counts.tolist()
        return forest(name, stated, *self._counts[asked])

    # Explore

    def front(self, spec: Parts) -> dict[str, Any]:
        """Find the front over levels, and keep it."""
        found = rf.frontier(None, self._spec(spec), listener=self._listen)
        assert isinstance(found, Frontier), "asked over levels"
        self._front = found
        self._plans.clear()
        heights = dict(zip(found.census.names, found.census.heights, strict=True))
        points = [
            {
                "k": point.k,
                "loss": point.loss,
                "suppressed": point.suppressed,
                "classes": point.classes,
                "levels": dict(zip(found.census.names, point.levels, strict=True)),
            }
            for point in found.front.answers  # what is best for every k, also where the front has a third objective
        ]
        return {
            "points": points,
            "knees": [point.k for point in found.knees],
            "heights": heights,
            "steps": {quasi.name: _level_examples(quasi.hierarchy) for quasi in found.census.quasi},
            "rows": found.census.rows,
            "complete": found.front.complete,
            "found": found.found,
            "cloud": _thinned(found),
        }

    def overlay(self, spec: Parts) -> dict[str, Any]:
        """Find the best recodings of a freer scheme for some k, and return them with their plans."""
        found = rf.frontier(None, self._spec(spec), listener=self._listen)
        assert isinstance(found, SchemeFrontier), "asked over another scheme"
        points = [
            {
                "k": point.k,
                "loss": point.loss,
                "bound": point.search.bound,
                "proven": point.search.optimal,
                "suppressed": int(point.decision.metrics["suppressed"]),
                "classes": int(point.decision.metrics["classes"]),
                "labels": {name: len(part.blocks()) for name, part in point.decision.recoding.columns.items()},
            }
            for point in found.front.points
        ]
        return {
            "points": points,
            "found": found.found,
            "plans": {point.k: point.decision.recoding for point in found.front.points},
        }

    def keep(self, scheme: str, plans: Mapping[int, GlobalPlan]) -> None:
        """Keep the plans of a scheme, to look at them."""
        self._plans |= {(scheme, k): plan for k, plan in plans.items()}

    def view(self, spec: Parts, scheme: str, k: int) -> dict[str, Any] | None:
        """Return what the best recoding for a k makes of the table. The front must have been found before."""
        if self._front is None:
            self.front(spec)
        assert self._front is not None
        if scheme == "level" and (scheme, k) not in self._plans:
            self._plans[scheme, k] = self._front.plan(k)
        plan = self._plans.get((scheme, k))
        if plan is None:
            raise SpecError(f"no release for k = {k} with the scheme {scheme!r} has been looked for")
        stated = self._spec(spec)
        asked = self._front.spec.model_copy(
            update={
                "privacy": stated.privacy.model_copy(update={"k": k}),
                "method": stated.method.model_copy(update={"scheme": scheme}),
            }
        )
        return seen(self._front.census, plan, asked, self._first_rows(stated))

    # Decide and judge

    def run(self, spec: Parts, folder: str, attacks: Sequence[str], as_name: str) -> dict[str, Any]:
        """Make a release in a folder, and return all that is known of it. `as_name` is what the data is called."""
        stated = self._spec(spec)
        release = rf.run(stated, self._folder / folder, attacks=attacks, listener=self._listen)
        named = self_contained(stated)
        named = named.model_copy(update={"data": named.data.model_copy(update={"source": as_name})})
        (self._folder / folder / "spec.toml").write_text(named.dumps(), encoding="utf-8")
        return self._result(release, stated)

    def _result(self, release: rf.Release, stated: Spec) -> dict[str, Any]:
        plan, spec, verdict = release.plan, release.spec, release.audit
        card, items = card_of(release), None
        released = plan.published(release.census)
        uniform = {} if released is None else {each.name: each for each in uniformities(released)}
        if release.item_plan is not None and spec.data.basket_id is None:
            items = seen_items(release.item_plan, spec, self._first_rows(stated))
        return {
            "headline": card.verdict,
            "rows": card.rows,
            "lost": card.lost,
            "method": spec.method.name,
            "scheme": spec.method.scheme if spec.method.traits.by_scheme else None,
            "metrics": {name: float(value) for name, value in release.metrics.items()},
            "search": search_figures(release.search),
            "promises": [asdict(claim) for claim in promises(spec)],
            "limits": [asdict(claim) for claim in limits(spec, plan, uniform)],
            **_judged(spec, verdict),
            "seen": seen(release.census, plan, spec, self._first_rows(stated)),
            "items": items,
        }

    def compare(self, spec: Parts, budget: float, methods: Sequence[str] | None) -> dict[str, Any]:
        """Try every method that can keep the promise; candidates are told as they are done."""
        stated = self._spec(spec)

        def listen(event: Event) -> bool:
            if event.candidate is not None:
                self._tell({"part": finite(event.candidate)})
            return self._listen(event)

        found = rf.compare(None, stated, budget=budget, methods=methods, listener=listen)
        made = [each.name for each in found.ranked if each.made is not None]
        return {
            **finite(found.as_dict()),
            "plain": found.best_plain.name,
            "specs": {name: tomllib.loads(found.spec_of(name).dumps()) for name in made},
        }

    def judge(self, spec: Parts, release: str, original: str | None, attacks: Sequence[str]) -> dict[str, Any]:
        """Judge a table by a specification; with attacks, and with the original where it is given."""
        stated = self._spec(spec)
        check_alone(self._folder / release)
        verdict = rf.audit(
            self._folder / release,
            stated,
            None if original is None else self._folder / original,
            attacks=tuple(attacks),
        )
        return _judged(stated, verdict)


def check_alone(path: Path) -> None:
    """Refuse a database with views that read from elsewhere: whoever sent it would choose what, on this machine."""
    if format_of(path) is not DUCKDB:
        return
    try:
        with duckdb.connect(str(path), read_only=True, config={"enable_external_access": "false"}) as database:
            views = database.execute("SELECT schema_name, view_name FROM duckdb_views() WHERE NOT internal").fetchall()
            for schema, name in views:
                database.execute(f"SELECT * FROM {quoted(schema)}.{quoted(name)} LIMIT 0")
    except duckdb.PermissionException:
        raise DataError(
            f"the view {name!r} of {path.name!r} reads from outside of its file, which is not allowed here: save its"
            " rows as a table"
        ) from None
    except duckdb.Error as error:
        raise DataError(f"cannot read {path.name!r} as a DuckDB file: {str(error).splitlines()[0]}") from None


def finite(content: Any) -> Any:
    """Return what JSON can hold: numbers that are none become null.

    >>> finite({"a": [1.0, float("nan")]})
    {'a': [1.0, None]}
    """
    if isinstance(content, Mapping):
        return {str(key): finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not isfinite(content) else content


def _judged(spec: Spec, verdict: Verdict) -> dict[str, Any]:
    """Return what an audit found, in figures and in sentences."""
    return {
        "ok": verdict.ok,
        "verdict": verdict.as_dict(),
        "kept": [asdict(line) for line in kept(spec, verdict)],
        "refined": [] if verdict.refinement is None else [*verdict.refinement.sentences],
    }


def _people(drafted: Draft) -> dict[str, Any] | None:
    """Return whose the rows are, where the draft says that people have several."""
    entity = drafted.data.entity
    return None if entity is None else {"column": entity, "reason": drafted.reasons.get(entity, "")}


def _level_examples(hierarchy: rf.Hierarchy) -> list[dict[str, Any]]:
    """Return for each level of a hierarchy how many labels it has, and one of them."""
    found = []
    middle = hierarchy.leaves // 2
    for level in hierarchy.levels:
        found.append({"labels": len({*level.tolist()}), "example": hierarchy.labels[int(level[middle])]})
    return found


def _thinned(found: Frontier) -> list[tuple[int, float]]:
    """Return some of the recodings that others are better than, to be drawn behind the front."""
    ks, losses = found.front.cloud_k, found.front.cloud_loss
    step = max(1, len(ks) // 1200)
    return [(int(k), float(loss)) for k, loss in zip(ks[::step], losses[::step], strict=True)]
