"""The section of a report about use: what users of the release are off by, beside the original and a naive guess."""

from collections.abc import Callable, Iterator

import numpy as np
from markupsafe import Markup

from ringfence.arrays import Bools, Floats
from ringfence.report.page import inline, template
from ringfence.report.plots import query_errors
from ringfence.report.style import shown
from ringfence.report.subject import Section
from ringfence.report.words import blame, joined, percent
from ringfence.spec import Spec
from ringfence.values.hierarchy import MISSING
from ringfence.yardsticks.measure import Measured, Yardsticks
from ringfence.yardsticks.queries import Answered, CountQuery
from ringfence.yardsticks.reading import OriginalValues, Truth

SIZES = ("at least a tenth of the rows", "a hundredth to a tenth", "a thousandth to a hundredth")


EXAMPLES = 4
MOST_LISTED = 6
"""Of more values than this, a question in words names the first three."""


def use_section(use: Measured, spec: Spec) -> Section:
    """Return the section: a line for each yardstick, some questions in words, and how far off answers are."""
    answers, charts = use.release.answers, {}
    title = _error_title(answers.errors)
    if len(answers.queries):
        charts["query-errors"] = query_errors(answers.errors, title)
    html = template("use").render(
        lines=[*_lines(use, spec)],
        bought=_bought(use, spec),
        blamed=None if (found := use.release.blamed) is None else blame(found.name, found.with_it, found.without),
        purpose=spec.purpose,
        models=use.release.models,
        queries=len(answers.queries),
        examples=_examples(answers),
        title=title,
        svg=inline(charts["query-errors"], title) if charts else None,
    )
    return Section(Markup(html), charts)


def _error_title(errors: Floats) -> str:
    if not errors.any():
        return "Every answer is exact"
    half, most = np.quantile(errors, [0.5, 0.9])
    return f"Half of the answers are off by {percent(half)} or less, nine in ten by {percent(most)} or less"


def _examples(answers: Answered) -> list[tuple[str, float, float]]:
    """Return the first few different questions with their answers, true and estimated."""
    found: dict[str, tuple[str, float, float]] = {}
    for query, estimate in zip(answers.queries, answers.estimates.tolist(), strict=True):
        question = in_words(query, answers.truth)
        found.setdefault(question, (question, query.actual, estimate))
        if len(found) == EXAMPLES:
            break
    return list(found.values())


def in_words(query: CountQuery, truth: Truth) -> str:
    """Return a query as a question."""
    parts = [f"“{name}” {_asked(truth.domains[name], wanted)}" for name, wanted in query.wanted.items()]
    return f"How many rows have {', '.join(parts[:-1])}{' and ' * (len(parts) > 1)}{parts[-1]}?"


def _asked(domain: OriginalValues, wanted: Bools) -> str:
    """Say which values of an attribute are asked for: from one to another, if they lie on a line."""
    line = [value for value in domain.line.tolist() if wanted[value]]
    names = [shown(domain.values[value] or MISSING) for value in line or np.flatnonzero(wanted).tolist()]
    if len(line) > 1:
        return f"{names[0]} to {names[-1]}"
    if len(names) > MOST_LISTED:
        return f"{', '.join(names[:3])} or one of {len(names) - 3} others"
    return " or ".join(names)


def _bought(use: Measured, spec: Spec) -> str | None:
    """Say what counts of values buy, where they are published."""
    if use.without is None:
        return None
    off, without = use.release.off(spec.purpose), use.without.off(spec.purpose)
    return (
        f"With the counts of values beside the release, users are off by {percent(off)} on average; by the labels"
        f" alone, {percent(without)}."
    )


def _lines(use: Measured, spec: Spec) -> Iterator[tuple[str, list[str]]]:
    """Yield what was measured: of the release, where it has counts beside it also without them, of the original, and of
    whoever knows each attribute by itself."""
    sides = [use.release, *([] if use.without is None else [use.without])]

    def line(what: str, off: Callable[[Yardsticks], float | None]) -> tuple[str, list[str]]:
        told = [*map(off, sides), 0.0, off(use.naive)]
        return what, ["" if value is None else percent(value) for value in told]

    yield line("COUNT queries over one to three attributes: mean relative error", lambda side: side.queries)
    for place, size in enumerate(SIZES):
        if use.release.by_size[place] is not None:
            yield line(f"… about {size}", lambda side, place=place: side.by_size[place])  # type: ignore[misc]
    yield line("tables of one attribute: rows not in their cell", lambda side: side.singles)
    if len(spec.of_role("quasi")) > 1:
        yield line("tables of two attributes: rows not in their cell", lambda side: side.pairs)
    for names in spec.purpose.counts or []:
        what = f"table of {joined(names)}, which is what it is for"
        yield line(what, lambda side, key=tuple(names): side.tables[key])  # type: ignore[misc]
    for name, score in use.release.models.items():
        own = [_score(side.models[name].mean, side.models[name].spread) for side in sides]
        before = _score(score.original, score.original_spread)
        yield f"model of “{name}”: {score.measure}, higher is better", [*own, before, f"{score.naive:.3f}"]


def _score(mean: float, spread: float) -> str:
    return f"{mean:.3f} (± {spread / 2:.3f})"
