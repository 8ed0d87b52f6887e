"""A global plan as SQL, for people who may only hand in statements: the same text for PostgreSQL and DuckDB.

Labels stand in it as lists of values, and are looked up by joins. A row whose value the plan does not know finds no
label and is left out, and so are classes that the plan suppresses and those with fewer than k rows here: of the other
models the plan's own rows were the measure, so that what comes out is to be audited.
"""

import re
from collections.abc import Iterator, Sequence

from ringfence.errors import SpecError
from ringfence.plans.recode import ColumnPlan, GlobalPlan
from ringfence.rows.same_value import missing_words
from ringfence.rows.sources import OWN
from ringfence.spec import Spec

NONE = f"{OWN} none"
"""What a missing value is compared as: a text that no data has."""
NUMBERS = ("double%", "real", "float", "numeric%", "decimal%")
"""Types whose values may have needless zeros as text, as DuckDB and PostgreSQL call them."""
NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
SPELLINGS = (
    ("^[+]", ""),
    ("^(-?)[.]", r"\10."),
    ("^(-?)0+([0-9])", r"\1\2"),
    ("([.][0-9]*[1-9])0+$|[.]0*$", r"\1"),
    ("^-0$", "0"),
)
"""What is done to a number as text, one after the other, to spell it as leaves are: 020, 20.0 and +20 are 20."""


def as_sql(plan: GlobalPlan, table: str, target: str) -> str:
    """Return the statement that makes `target`, a table, of the rows of `table`; names may have a schema before them.

    >>> from ringfence import Spec
    >>> spec = Spec(attributes={"town": {"role": "quasi", "hierarchy": "flat"}}, privacy={"k": 2})
    >>> column = ColumnPlan(1, ("a", None), ("*", "*"))
    >>> print(as_sql(GlobalPlan({"town": column}, (), 0, False, (), spec.dumps()), "people", "released"))
    CREATE TABLE "released" AS
    WITH l0(v, l) AS (VALUES ('a', '*'), ('7b1f6c9e none', '*')),
    recoded AS (
      SELECT l0.l AS "town"
      FROM "people" AS t
      JOIN l0 ON l0.v = COALESCE(NULLIF(CAST(t."town" AS VARCHAR), ''), '7b1f6c9e none')
    ),
    counted AS (SELECT *, COUNT(*) OVER (PARTITION BY "town") AS "7b1f6c9e rows" FROM recoded)
    SELECT "town" FROM counted
    WHERE "7b1f6c9e rows" >= 2
    ORDER BY gen_random_uuid();
    """
    spec = Spec.loads(plan.spec, "the plan's specification")
    _refuse(plan, spec)
    names = [*plan.columns]
    words = missing_words(spec.data.missing_values)
    shown = {}
    for name, attribute in spec.attributes.items():
        recoded = name in names and not plan.columns[name].changes_nothing
        if attribute.role != "identifier":
            shown[name] = f"l{names.index(name)}.l" if recoded else _as_it_is(f"t.{_name(name)}", words)
    lists = [_labels(f"l{place}", column) for place, column in enumerate(plan.columns.values())]
    plain = {
        name: _plain(f"t.{_name(name)}", words, column, numeric=spec.attributes[name].numeric)
        for name, column in plan.columns.items()
    }
    joins = [
        f"  JOIN l{place} ON l{place}.v = COALESCE({plain[name]}, {_text(NONE)})" for place, name in enumerate(names)
    ]
    complete = [
        f"{plain.get(name) or _without(f'CAST(t.{_name(name)} AS VARCHAR)', words)} IS NOT NULL"
        for name in plan.complete
    ]
    conditions = [*complete, *_anti(plan)]
    quasi = ", ".join(map(_name, names))
    size = _name(f"{OWN} rows")
    return "\n".join(
        [
            f"CREATE TABLE {_whole(target)} AS",
            f"WITH {_listed([*lists, *_failing(plan)])},",
            "recoded AS (",
            f"  SELECT {', '.join(f'{cell} AS {_name(name)}' for name, cell in shown.items())}",
            f"  FROM {_whole(table)} AS t",
            *joins,
            *([f"  WHERE {' AND '.join(conditions)}"] if conditions else []),
            "),",
            f"counted AS (SELECT *, COUNT(*) OVER (PARTITION BY {quasi}) AS {size} FROM recoded)",
            f"SELECT {', '.join(map(_name, shown))} FROM counted",
            f"WHERE {size} >= {spec.k}",
            "ORDER BY gen_random_uuid();",
        ]
    )


def _refuse(plan: GlobalPlan, spec: Spec) -> None:
    """Refuse what SQL that was written down beforehand cannot do."""
    told = [name for name in plan.columns if spec.attributes[name].format not in (None, "iso")]
    reasons = {
        "data.entity: k counts people": spec.data.entity is not None,
        "method.keep_suppressed: rows are masked": plan.masked,
        "data.unlisted = 'publish': its columns are not named": spec.data.unlisted == "publish",
        "baskets": spec.items is not None,
        "data.decimal and data.thousands: numbers are rewritten": spec.data.decimal != "." or bool(spec.data.thousands),
        f"attributes.{(told or [''])[0]}.format: text is read as dates": bool(told),
    }
    for reason, holds in reasons.items():
        if holds:
            raise SpecError(
                f"this plan cannot be written as SQL ({reason}); apply it by: ringfence apply PLAN DATA -o ..."
            )


def _labels(name: str, column: ColumnPlan) -> str:
    pairs = ", ".join(f"({_known(leaf)}, {_known(shown)})" for leaf, shown in _cells(column))
    return f"{name}(v, l) AS (VALUES {pairs})"


def _cells(column: ColumnPlan) -> Iterator[tuple[str | None, str | None]]:
    """Yield each leaf with its label; a missing value that is published as such has none."""
    for leaf, label in column.known.items():
        yield (NONE if leaf is None else leaf), label


def _failing(plan: GlobalPlan) -> list[str]:
    if not plan.suppressed:
        return []
    columns = [*plan.columns.values()]
    rows = ", ".join(
        f"({', '.join(_known(column.labels[leaf] or NONE) for column, leaf in zip(columns, leaves, strict=True))})"
        for leaves in plan.suppressed
    )
    return [f"failing({', '.join(f'c{place}' for place in range(len(columns)))}) AS (VALUES {rows})"]


def _anti(plan: GlobalPlan) -> list[str]:
    if not plan.suppressed:
        return []
    same = " AND ".join(f"c{place} = COALESCE(l{place}.l, {_text(NONE)})" for place in range(len(plan.columns)))
    return [f"NOT EXISTS (SELECT 1 FROM failing WHERE {same})"]


def _are_numbers(column: ColumnPlan) -> bool:
    """Whether all leaves are numbers: the column of a table may then be one of floats or decimals."""
    return all(leaf is None or NUMBER.fullmatch(leaf) for leaf in column.leaves)


def _plain(cell: str, words: Sequence[str], column: ColumnPlan, *, numeric: bool) -> str:
    """Return a cell as text, missing where it stands for a missing value.

    Numbers are spelled as leaves are: in a column of floats or decimals, and of `numeric` attributes in text as well.
    Other text may be codes, which differ by their zeros. What is published as it stands shows its spelling to
    everybody: of that, text has to be spelled as the leaf is, and -0 is not taken for 0.
    """
    text = _without(f"CAST({cell} AS VARCHAR)", words)
    if not _are_numbers(column):
        return text
    spelled = text
    for pattern, instead in SPELLINGS[: -1 if column.changes_nothing else None]:
        spelled = f"REGEXP_REPLACE({spelled}, {_text(pattern)}, {_text(instead)})"
    spelled = _without(spelled, [word for word in words if word])
    if numeric and not column.changes_nothing:
        return spelled
    kinds = " OR ".join(f"CAST(PG_TYPEOF({cell}) AS VARCHAR) LIKE {_text(kind)}" for kind in NUMBERS)
    return f"CASE WHEN {kinds} THEN {spelled} ELSE {text} END"


def _without(text: str, words: Sequence[str]) -> str:
    """Return a text, missing where it is one of some words."""
    for word in words:
        text = f"NULLIF({text}, {_text(word)})"
    return text


def _as_it_is(cell: str, words: Sequence[str]) -> str:
    """Return a cell in its type, missing where its text stands for a missing value."""
    return f"CASE WHEN CAST({cell} AS VARCHAR) NOT IN ({', '.join(map(_text, words))}) THEN {cell} END"


def _known(label: str | None) -> str:
    return "NULL" if label is None else _text(label)


def _listed(parts: Sequence[str]) -> str:
    return ",\n".join(parts)


def _text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _whole(name: str) -> str:
    return ".".join(map(_name, name.split(".")))
