"""Make a case that fails small: take out rows, columns and settings as long as it fails in the same way."""

from collections.abc import Iterator
from dataclasses import replace

from .cases import IDENTIFIER, Case
from .trial import Outcome, shape, try_out

KEPT = 48  # as much of what is wrong must stay the same


def shrunk(outcome: Outcome) -> Outcome:
    """Return the outcome of a smaller case that is wrong in the same way; baskets are small already."""
    found = True
    while found and isinstance(outcome.case, Case):
        found = False
        for smaller in _smaller(outcome.case):
            tried = try_out(smaller)
            if tried.result == "wrong" and shape(tried)[:KEPT] == shape(outcome)[:KEPT]:
                outcome, found = tried, True
                break
    return outcome


def _smaller(case: Case) -> Iterator[Case]:
    """Every case with something less, the largest parts first."""
    yield from _fewer_rows(case)
    yield from _fewer_columns(case)
    yield from _fewer_settings(case)


def _fewer_rows(case: Case) -> Iterator[Case]:
    for size in (case.rows // 2, case.rows // 4, 1):
        for first in range(0, case.rows, size) if size else ():
            kept = [r for r in range(case.rows) if not first <= r < first + size]
            if kept:
                yield _with_rows(case, kept)


def _fewer_columns(case: Case) -> Iterator[Case]:
    for name in case.of_role("quasi", "sensitive", "insensitive"):
        if name not in str(case.privacy):
            yield _without_column(case, name)
    if case.people:
        columns = {name: column for name, column in case.columns.items() if name != case.data["entity"]}
        attributes = {name: attribute for name, attribute in case.attributes.items() if name != case.data["entity"]}
        yield replace(case, people=(), data={}, columns=columns, attributes=attributes)


def _fewer_settings(case: Case) -> Iterator[Case]:
    for key in case.settings:
        if key not in ("name", "scheme", "levels", "homogeneous"):
            yield replace(case, settings={k: v for k, v in case.settings.items() if k != key})
    for name, attribute in case.attributes.items():
        for key in attribute:
            if key not in ("role", "hierarchy"):
                less = {k: v for k, v in attribute.items() if k != key}
                yield replace(case, attributes={**case.attributes, name: less})
    for key in case.privacy:
        if len(case.privacy) > 1:
            yield replace(case, privacy={k: v for k, v in case.privacy.items() if k != key})


def _with_rows(case: Case, kept: list[int]) -> Case:
    columns = {
        name: replace(column, values=tuple(column.values[r] for r in kept)) for name, column in case.columns.items()
    }
    return replace(case, columns=columns, people=tuple(case.people[r] for r in kept) if case.people else ())


def _without_column(case: Case, name: str) -> Case:
    assert name != IDENTIFIER
    settings = dict(case.settings)
    if name in settings.get("levels", {}):
        settings["levels"] = {k: v for k, v in settings["levels"].items() if k != name}
    return replace(
        case,
        columns={k: column for k, column in case.columns.items() if k != name},
        attributes={k: attribute for k, attribute in case.attributes.items() if k != name},
        settings=settings,
    )
