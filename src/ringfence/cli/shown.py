"""How a release is shown, in text and in JSON: what was done to each attribute, what it cost, the verdict."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ringfence.markup import clipped
from ringfence.release.release import Release

if TYPE_CHECKING:
    from ringfence.search.progress import SearchResult


def release_json(release: Release) -> dict[str, Any]:
    from ringfence.release.manifest import search_figures

    return {
        "release": str(release.table),
        **({} if release.sensitive is None else {"sensitive": str(release.sensitive)}),
        **({} if release.counts is None else {"counts": str(release.counts)}),
        "levels": release.plan.levels,
        "metrics": dict(release.metrics),
        "incomplete": release.incomplete,
        "search": search_figures(release.search),
        **({} if release.item_plan is None else {"items": [asdict(reason) for reason in release.item_plan.reasons]}),
        "verdict": release.audit.as_dict(),
    }


CERTIFICATES = {"row": "row bound: each row by itself", "dual": "dual bound: prices that no group of rows exceeds"}


def _found(search: "SearchResult", *, judged: bool) -> str:
    """Say how good the answer of a search is known to be, what a freer scheme bought, and what it took."""
    from ringfence.audit.verdict import some
    from ringfence.search.progress import MOST_COUNTED

    proof = "proven optimal"
    if not search.optimal and search.bound <= 0:
        proof = "the best that was found; what none can go below is not known"
    elif not search.optimal and search.certificate in CERTIFICATES:
        proof = (
            f"no release of this kind can lose less than {search.bound:,.6g} ({CERTIFICATES[search.certificate]}); this"
            f" one loses {search.cost:,.6g}"
        )
    elif not search.optimal:
        proof = f"not proven optimal: none costs less than {search.bound:,.6g}, at most {search.gap:.1%} can be saved"
    nodes = f"; {some(search.nodes, 'recoding')} judged" if judged else ""
    if judged and search.pruned < MOST_COUNTED:  # more are not counted
        nodes += f", {search.pruned:,} ruled out"
    bought = (
        "" if search.saved is None else f"; {search.saved:.1%} less than the best by levels, {search.by_levels:,.6g}"
    )
    compiled = f", and {search.compiled:.1f} s of compiling" if round(search.compiled, 1) > 0 else ""
    return f"{proof}{bought}{nodes}, {search.seconds:.2f} s{compiled}"


def show_release(release: Release) -> None:
    """Print what was done to each attribute, what it cost, and the verdict."""
    from ringfence.release.card import card_of

    _show_columns(release)
    print(f"\n{card_of(release).summary}")
    for what, search, judged in _searches(release):
        print(f"{what}: {_found(search, judged=judged)}")
    print(f"\n{release.audit}")
    _show_places(Path(release.table).parent.parent)


def _show_columns(release: Release) -> None:
    """Print how each attribute was recoded, and some of the labels that it has in the release."""
    spec, levels = release.spec, release.plan.levels
    columns = {**release.plan.columns}
    columns |= {} if release.item_plan is None else release.item_plan.columns
    released = release.plan.published(release.census)
    rows = [("attribute", "recoding", "labels", "for example")]
    for name, column in columns.items():
        labels, values = list(dict.fromkeys(label for label in column.labels if label is not None)), len(column.leaves)
        if released is not None and name in release.census.names:
            place = release.census.names.index(name)
            published, values = released.labels(place), release.census.quasi[place].occurring
            labels = [label for label in labels if label in published]
        recoding = spec.scheme_of(name) if spec.method.traits.by_scheme else spec.method.name
        if name in levels:
            recoding = f"level {levels[name]}"
        if name == spec.items:
            recoding = "item cut"
        if column.changes_nothing:
            recoding = "as it is"
        rows.append((name, recoding, f"{len(labels):,} of {values:,}", ", ".join(map(clipped, labels[:3]))))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in rows if columns else []:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))


def _searches(release: Release) -> Iterator[tuple[str, "SearchResult", bool]]:
    """Yield what was searched: its name, what was found out, and whether recodings were judged one by one."""
    if release.search is not None:
        yield "search", release.search, release.plan.together is None
    basket = release.decision.basket
    if basket is not None and basket.plan is not release.plan:
        yield "search of item cuts", basket.search, True


def _show_places(folder: Path) -> None:
    """Print where to find what is to be published, and what is not."""
    page = folder / "private" / "report.html"
    print(f"\nto publish:       {folder / 'public'}")
    print(f"to keep private:  {folder / 'private'}" + (f" (open {page} in a browser)" if page.exists() else ""))
