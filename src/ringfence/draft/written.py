"""How the cells of a table are written, found out from all of them: missing values, and the marks of numbers."""

from typing import Any

import ibis

from ringfence.draft.page import shown
from ringfence.draft.profile import held, value_counts
from ringfence.draft.spellings import PLAIN_NUMBERS, missing_words, number_marks
from ringfence.rows.engine import Engine
from ringfence.spec.data import Data

MOST_READ = 200_000
"""Of columns with more values than this, the spelling is not looked at."""


def how_written(engine: Engine, rows: ibis.Table, data: Data) -> tuple[Data, list[str]]:
    """Return how the cells of some rows are to be read, and why."""
    with held(engine, rows) as kept:
        kinds = {name: kind for name, kind in kept.schema().items() if kind.is_string() or kind.is_numeric()}
        sizes = {name: engine.variety(kept, [name])[name] for name in kinds}  # one at a time: of all, sets may be large
        columns = {name: value_counts(engine, kept, name) for name, size in sizes.items() if size <= MOST_READ}
    found: dict[str, Any] = {}
    words, told = missing_words(columns)
    if words:
        found["missing_values"] = [*dict.fromkeys([*data.missing_values, *words])]
    known = {
        name: {word: count for word, count in counts.items() if word not in words}
        for name, counts in columns.items()
        if kinds[name].is_string()
    }
    marks, shows = number_marks(known, data.delimiter)
    if marks != PLAIN_NUMBERS:
        found |= {"decimal": marks.decimal} if marks.decimal != "." else {}
        found |= {"thousands": marks.thousands} if marks.thousands is not None else {}
        told.append(f"numbers are written so in {', '.join(map(shown, shows))}")
    return data.model_copy(update=found), [f"{line[0].upper()}{line[1:]}." for line in told]
