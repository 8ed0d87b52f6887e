"""Which columns hold dates or numbers, where the specification does not say: by rows, or by what labels look like.

A table whose columns are days, moments or numbers needs no word about it. Of its release there are labels left, which
are text: where all of them are dates in their one spelling, ranges and sets of these, that is what they are if there is
a range among them; and in any spelling, if they are to be on a line, which words are not. The same goes for numbers.
Counts of values beside the release tell as much as its labels, and what they spell in another way is no word.
What a table beside the release says of a column holds, unless labels say nothing about numbers.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from decimal import Decimal

import ibis

from ringfence.audit.count_lines import closed_labels
from ringfence.audit.labels.growing import stated_tree
from ringfence.audit.labels.moments import as_moment, is_clock, is_moment, spelled_moment
from ringfence.audit.labels.reading import read_interval, read_set
from ringfence.audit.labels.spelling import ROOT, as_number, as_set, ends_in, is_number, spelled_number
from ringfence.audit.labels.trees import Tree
from ringfence.rows.engine import Engine
from ringfence.rows.measured import LEAST, MOST, PLAIN, clock_columns, date_columns, number_columns
from ringfence.spec import Spec
from ringfence.spec.written import CLOCK


def told_measures(
    engine: Engine,
    rows: ibis.Table,
    spec: Spec,
    beside: Sequence[ibis.Table | None],
    counts: ibis.Table | None = None,
) -> Spec:
    """Return a specification that says of columns that they hold dates or numbers where a release, or a table beside
    it, does; `counts` are those of its values."""
    known = [table for table in beside if table is not None]
    spec = spec.with_dates([name for table in (rows, *known) for name in date_columns(table)])
    spec = spec.with_dates([name for table in (rows, *known) for name in clock_columns(table)], CLOCK)
    gaps = {None, "", *spec.data.missing_values}  # a text file has no others for what is missing
    labels = {
        name: [text for text in engine.count(rows, [name])[name].to_pylist() if text not in gaps]
        for name in spec.of_role("quasi")
        if name in rows.columns and rows[name].type().is_string() and not spec.attributes[name].dates
    }
    lines = {} if counts is None else closed_labels(engine.fetch(counts))
    shown = {name: [*labels.get(name, ()), *lines.get(name, ())] for name in spec.of_role("quasi")}
    on_a_line = {name: spec.attributes[name].numeric for name in labels}
    spec = spec.with_dates([name for name in labels if _are_dates(shown[name], on_a_line=on_a_line[name])])
    spec = spec.with_dates([name for name in labels if _are_times(shown[name], on_a_line=on_a_line[name])], CLOCK)
    spec = spec.with_dates(
        [
            name
            for name, texts in labels.items()
            if _spelled_anew(texts, lines.get(name, ()), _is_day, spelled_moment)
            or _in_ranges_of_days(texts, lines.get(name, ()))
        ]
    )
    asked = spec.perhaps_numbers
    stated = [name for name in spec.perhaps_in_intervals if _of_intervals(stated_tree(name, spec))]
    numbers = [name for table in known for name in number_columns(engine, table, [*asked, *stated])]
    numbers = [name for name in numbers if name in stated or all(map(_reads_as_number, labels.get(name, ())))]
    judged = {name for table in known for name in table.columns}
    numbers += [
        name
        for name in asked
        if name not in judged
        and (
            _are_numbers(shown[name])
            or _spelled_anew(labels.get(name, ()), lines.get(name, ()), _is_plain, spelled_number)
        )
    ]
    numbers += [name for name in stated if name not in judged]
    numbers += number_columns(engine, rows, [name for name in asked if name not in labels and name not in judged])
    return spec.with_numbers(numbers)


def _of_intervals(tree: Tree | None) -> bool:
    """Whether a stated tree is over numbers, and all its groups are intervals that hold theirs, and no others between.

    Then its leaves are what a table may hold, and so it alone says that these are numbers.
    """
    if tree is None or not all(path[0] is not None and is_number(path[0]) for path in tree.paths):
        return False
    line = sorted((Decimal(path[0] or ""), path[1:-1]) for path in tree.paths)
    groups = {label for _, path in line for label in path}
    for label in groups:
        interval = read_interval(label or "")
        places = [place for place, (_, path) in enumerate(line) if label in path]
        if interval is None or places[-1] - places[0] >= len(places):
            return False
        closed = replace(interval, with_low=True, with_high=True)
        if not all(closed.holds(str(line[place][0])) for place in places):
            return False
    return bool(groups)


def _are_dates(labels: Iterable[str], *, on_a_line: bool) -> bool:
    """Whether labels are dates, ranges and sets of dates; and one is a range at least, unless they are on a line."""
    ranges, others = _kinds(labels, _is_day if on_a_line else _is_spelled_day)
    return ranges > 0 or (on_a_line and others > 0)


def _are_times(labels: Iterable[str], *, on_a_line: bool) -> bool:
    """Whether labels are times of day, ranges and sets of these, in the same way."""
    ranges, others = _kinds(labels, is_clock)
    return ranges > 0 or (on_a_line and others > 0)


def _in_ranges_of_days(labels: Iterable[str], lines: Iterable[str]) -> bool:
    """Whether lines of counts are days, ranges of them among these, as a run spells them, and labels are days as well,
    however their column spells them."""
    return _kinds(lines, _is_spelled_day)[0] > 0 and sum(_kinds(labels, _is_day)) > 0


def _is_spelled_day(text: str) -> bool:
    """Whether a text is a day or a moment in its one spelling."""
    return is_moment(text) and not is_clock(text)


def _is_day(text: str) -> bool:
    """Whether a text is a day or a moment, in any spelling."""
    return as_moment(text) is not None and not is_clock(text)


def _are_numbers(labels: Iterable[str]) -> bool:
    """Whether labels are numbers, ranges and sets of numbers, and one is a range at least."""
    return _kinds(labels, _is_measure)[0] > 0


def _is_measure(text: str) -> bool:
    """Whether a text is a number that a measure may have: others are no numbers to a run either."""
    return is_number(text) and (not (size := abs(Decimal(text))) or LEAST <= size <= MOST)


def _is_plain(text: str) -> bool:
    """Whether text is what a run takes for a number: 45.00 is one, 01 is a code."""
    return re.fullmatch(PLAIN, text) is not None


def _spelled_anew(
    labels: Iterable[str], lines: Iterable[str], fits: Callable[[str], bool], spelled: Callable[[str], str]
) -> bool:
    """Whether labels and lines all fit, and a line has what a label is in another spelling, as words have none."""
    values, counted = {*labels} - {ROOT}, {*lines} - {ROOT}
    return all(map(fits, (*values, *counted))) and any(
        value not in counted and spelled(value) in counted for value in values
    )


def _reads_as_number(label: str) -> bool:
    """Whether a label says something about a number: others may have masked digits, whatever these were."""
    if label == ROOT or read_interval(label) is not None:
        return True
    return all(value is None or as_number(value) is not None for value in ends_in(label) or read_set(label) or (label,))


def _kinds(labels: Iterable[str], fits: Callable[[str], bool]) -> tuple[int, int]:
    """Return how many labels are ranges, and how many others, where all are of values that fit; else none of both."""
    ranges, others = 0, 0
    for label in labels:
        if label == ROOT:
            continue
        ends = ends_in(label)
        values = ends or as_set(label) or (label,)
        if not all(value is None or fits(value) for value in values):
            return 0, 0
        ranges, others = ranges + (ends is not None), others + (ends is None)
    return ranges, others
