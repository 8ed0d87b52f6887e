"""The draft as people read it: a commented TOML file, and a table for the terminal."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

from ringfence.draft.profile import Pair
from ringfence.spec.attributes import Role
from ringfence.spec.data import Data

WIDTH = 110
SHOWN_PAIRS = 10
SHOWN_GAPS = 5
MANY_COMBINATIONS = 300_000

SECTIONS: dict[Role, str] = {
    "identifier": "Identifiers name a person. They are left out of the release.",
    "quasi": "Quasi-identifiers may be known to others, who could find a person by them. They are made coarser until"
    " nobody stands out.",
    "sensitive": "Sensitive attributes are what nobody should learn about a person. They are published as they are.",
    "items": "Baskets: whoever knows a few items of somebody's should not find it. Items are put into groups until none"
    " does.",
    "insensitive": "Insensitive attributes neither identify nor hurt anybody. They are published as they are.",
}


@dataclass(frozen=True)
class ColumnDraft:
    """One column of a draft: its role and why, how identifying it is, and how it is made coarser.

    `kind` says what it holds: text, numbers, dates, yes or no, lists. `distinct` counts values, missing ones left out;
    `unique` is the share of rows that no other row shares its value with; `missing` is the share of rows without a
    value. `hierarchy` is in words, empty for columns without any.
    """

    name: str
    role: Role
    reason: str
    distinct: int
    unique: float
    missing: float
    hierarchy: str
    kind: str


@dataclass(frozen=True)
class Stated:
    """What the TOML says of one column besides the draft's figures. Groups show what is `ranged` as a range,
    and what is `vast` as an interval of its hierarchy."""

    column: ColumnDraft
    hierarchy: Mapping[str, Any] | None = None
    order: str | Sequence[str] | None = None
    formats: Sequence[str] = ()
    advice: tuple[str, ...] = ()
    listed: bool = False
    ranged: bool = False
    vast: bool = False


@dataclass(frozen=True)
class Content:
    """All that goes into a draft's TOML."""

    data: Data
    source: str | None
    rows: int
    attributes: Sequence[Stated]
    k: int
    people: int | None
    told: Sequence[str]
    diverse: Sequence[str]
    advice: Sequence[str]
    pairs: Sequence[Pair]
    together: Pair


def as_toml(content: Content) -> str:
    """Return a specification as TOML, with comments that say why it is as it is."""
    lines = [*_head(content), "", *_data(content), "", *_privacy(content), "", *_method(content)]
    lines += ["", *_output()] if content.together.columns else []
    for role, meaning in SECTIONS.items():
        chosen = [stated for stated in content.attributes if stated.column.role == role]
        if chosen:
            lines += ["", "", *_comment(meaning)]
        for stated in chosen:
            lines += ["", *_attribute(stated)]
    return "\n".join([*lines, *(["", "", *_pairs(content)] if content.together.columns else [])]) + "\n"


def _head(content: Content) -> Iterator[str]:
    what = f"of {shown(content.source)}" if content.source else "of a table"
    yield from _comment(
        f"A draft {what}: {_some(content.rows, 'row')}, {_some(len(content.attributes), 'column')}. It runs as it is,"
        " but it is a guess from the names and values of the columns. Only you know what others know about these"
        " people: check every role, and every hierarchy, before you publish anything. Where a column becomes"
        " insensitive or an identifier, take out the lines below its role: they are for the role that it had."
    )


def _data(content: Content) -> Iterator[str]:
    given = content.data.model_dump(exclude_defaults=True, exclude={"source"})
    yield "[data]"
    if content.source is not None:
        yield f"source = {value(content.source)}"
    for line in content.told:
        yield from _comment(line)
    for key, what in given.items():
        if key == "entity":
            yield from _comment(
                f"Rows belong to {content.people:,} people, who may have several: k counts people, not rows, so that"
                " nobody's many visits pass for a crowd."
            )
        if key == "weights":
            yield from _comment("Survey weights add up to the population, of which the audit tells how many stand out.")
        yield f"{key} = {value(what)}"


def _privacy(content: Content) -> Iterator[str]:
    yield "[privacy]"
    if content.together.columns:
        one = content.k == 2
        whom = "other" if one else "others"
        if content.people is not None:
            whom = "other person, whatever rows they have," if one else "other people, whatever rows they have,"
        yield from _comment(f"k: nobody can be told from {content.k - 1} {whom} by the quasi-identifiers.")
    yield f"k = {content.k}"
    if any(stated.column.role == "items" for stated in content.attributes):
        yield from _comment("m: whoever knows up to so many items of a basket finds at least k baskets that fit.")
        yield "m = 2"
    if content.diverse:
        yield from _comment("l: among these, at least two values of a sensitive attribute occur.")
        asked = [{"value": 2, "of": name} for name in content.diverse]
        yield f"l = {value(asked[0] if len(asked) == 1 else asked)}"
    for line in content.advice:
        yield from _comment(line)


def _method(content: Content) -> Iterator[str]:
    yield "[method]"
    if not content.together.columns:
        yield 'name = "itemsets"'
        return
    yield from _comment(
        "Rows that are nearly alike are put into groups of k or a few more, and each group is published under the"
        " narrowest ranges and labels that hold its values. No row is left out. A value may be shown in one way here"
        " and in another there: where every value has to be recoded the same way everywhere, say"
        ' name = "optimal" and suppression = 0.05, and give trees to words: it hides more.'
    )
    yield 'name = "local"'
    yield from _comment("What is kept small: how far off users are who count rows of the release.")
    yield 'metric = "use"'
    yield from _comment(
        "Cells that ordinary software can read: no lists. Words that differ within a group are shown as the group of"
        " their tree that holds them, or as '*'. Left out, they are listed, {a, b}, which tells far more to whoever can"
        " read it: ringfence compare shows both, and all other methods, side by side."
    )
    gaps = [each.column.name for each in content.attributes if each.ranged and each.column.missing]
    if gaps:
        names = ", ".join(map(shown, gaps[:SHOWN_GAPS])) + (" and others" if len(gaps) > SHOWN_GAPS else "")
        yield from _comment(
            f"But where values of {names} are missing beside others, cells are lists: {{[1, 5], null}}."
        )
    yield 'representation = "plain"'
    if content.together.distinct > MANY_COMBINATIONS:
        yield "# So many rows are grouped in one pass. Left out, they are grouped with more care, which takes longer."
        yield 'effort = "fast"'


def _output() -> Iterator[str]:
    yield "[output]"
    yield from _comment(
        "How many rows have each value, beside the release: who counts is off by far less. No count is of fewer than k."
    )
    yield "counts = true"


def _attribute(stated: Stated) -> Iterator[str]:
    column = stated.column
    reason = f"{column.reason[:1].upper()}{column.reason[1:]}"
    yield from _comment(". ".join([reason, _figures(column), *stated.advice]) + ".")
    header = f"attributes.{key(column.name)}"
    yield f"[{header}]"
    yield f"role = {value(column.role)}"
    if stated.hierarchy is None:
        return
    if stated.formats:
        yield f"format = {value(stated.formats[0] if len(stated.formats) == 1 else stated.formats)}"
    if stated.order is not None:
        words = stated.order
        yield from [f"order = {value(words)}"] if isinstance(words, str) else _list("order = ", [*map(value, words)])
    if column.role == "quasi":
        yield from _representation(stated)
    if not stated.hierarchy:
        yield f'hierarchy = "flat"  # {column.hierarchy}'
    else:
        yield f"hierarchy = {value(stated.hierarchy)}  # {column.hierarchy}"


def _representation(stated: Stated) -> Iterator[str]:
    """Say how groups of rows show an attribute, where a set of its values would not do."""
    given = stated.hierarchy or {}
    if "mask" in given or given.get("codes", "countries") != "countries":
        yield 'representation = "hierarchy"  # one group of codes, where a set would list some from everywhere'
    elif stated.vast:
        yield 'representation = "hierarchy"  # ranges of so many values, one a group, would take gigabytes'
    elif stated.listed:
        yield 'representation = "hierarchy"  # numbers that stand for something: a range of them would say nothing'
    elif "fanout" in given and not stated.column.missing:  # with missing ones, a range would be a list
        yield 'representation = "range"  # neighbours in this order, by the first and the last of them: [a, d]'


def _list(start: str, items: Sequence[str]) -> Iterator[str]:
    """Write a list on one line, or in several where it is long."""
    line = f"{start}[{', '.join(items)}]"
    if len(line) <= WIDTH:
        yield line
        return
    yield f"{start}["
    row = "   "
    for item in items:
        if len(row) + len(item) + 2 > WIDTH and row.strip():
            yield row
            row = "   "
        row += f" {item},"
    yield row
    yield "]"


def _figures(column: ColumnDraft) -> str:
    missing = f"; missing in {share(column.missing)} of the rows" if column.missing else ""
    return f"{_some(column.distinct, 'value')}; {_alone(column.unique)}{missing}"


def _alone(unique: float) -> str:
    if unique in (0, 1):
        return f"{'every' if unique else 'no'} row is alone with its own"
    return f"{share(unique)} of the rows are alone with theirs"


def _some(count: int, what: str) -> str:
    return f"{count:,} {what}{'s' * (count != 1)}"


def _pairs(content: Content) -> Iterator[str]:
    together = content.together
    count = len(together.columns)
    whose = "It has" if count == 1 else f"{'Both' if count == 2 else f'All {count}'} together have"
    yield from _comment(
        f"How identifying the quasi-identifiers are. {whose} {_some(together.distinct, 'combination')} of values;"
        f" {_alone(together.unique)}."
    )
    if content.pairs:
        yield "# The most identifying pairs:"
        yield from (f"#   {line}" for line in pair_lines(content.pairs))


def pair_lines(pairs: Sequence[Pair]) -> list[str]:
    """Return the most identifying pairs, one a line."""
    names = [" x ".join(map(shown, pair.columns)) for pair in pairs[:SHOWN_PAIRS]]
    width = max(map(len, names), default=0)
    return [
        f"{name.ljust(width)}  {pair.distinct:>9,} combinations  {share(pair.unique):>12} of the rows alone"
        for name, pair in zip(names, pairs, strict=False)
    ]


def as_table(rows: int, columns: Sequence[ColumnDraft], pairs: Sequence[Pair], together: Pair) -> str:
    """Return a draft as a table for a terminal."""
    cells = [("column", "role", "values", "alone", "missing", "made coarser", "why")]
    cells += [
        (
            shown(column.name),
            column.role,
            f"{column.distinct:,}",
            share(column.unique),
            share(column.missing),
            column.hierarchy,
            column.reason,
        )
        for column in columns
    ]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    numeric = (2, 3, 4)
    lines = [
        "  ".join(
            cell.rjust(width) if at in numeric else cell.ljust(width)
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]
    alone = f"; {share(together.unique)} of them are alone in the quasi-identifiers together"
    lines += ["", f"{rows:,} rows{alone if together.columns else ''}"]
    if pairs:
        lines += ["the most identifying pairs:", *(f"  {line}" for line in pair_lines(pairs))]
    return "\n".join(lines)


# Words and TOML


def share(part: float) -> str:
    """Return a share in percent, never rounded to none or all of it.

    >>> share(0), share(0.00001), share(0.123), share(0.99999), share(1)
    ('0 %', 'under 0.1 %', '12.3 %', 'over 99.9 %', '100 %')
    """
    if part in (0, 1):
        return f"{part:.0%}".replace("%", " %")
    if part < 0.001:
        return "under 0.1 %"
    return "over 99.9 %" if part > 0.999 else f"{100 * part:.1f} %"


def shown(name: str) -> str:
    """Return a name as it can stand in a line of text: short, and without characters that cannot be seen."""
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in name)
    return plain if len(plain) <= 40 else f"{plain[:37]}..."


def _comment(words: str) -> list[str]:
    plain = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in words)
    return [f"# {line}" for line in wrap(plain, WIDTH - 2, break_long_words=False, break_on_hyphens=False)]


def key(name: str) -> str:
    """Return a name as a key of TOML.

    >>> key("age"), key("ZIP code"), key('a"b')
    ('age', '"ZIP code"', '"a\\\\"b"')
    """
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _quoted(name)


def value(what: Any) -> str:
    """Return a value as TOML writes it: text, a number, a truth value, a list, or a table on one line."""
    if isinstance(what, bool):
        return "true" if what else "false"
    if isinstance(what, int | float):
        return repr(what)
    if isinstance(what, Mapping):
        return "{ " + ", ".join(f"{key(name)} = {value(below)}" for name, below in what.items()) + " }"
    if isinstance(what, list | tuple):
        return "[" + ", ".join(map(value, what)) + "]"
    return _quoted(str(what))


def _quoted(words: str) -> str:
    """Write text as JSON does: all its escapes are TOML's too. TOML wants one character more escaped."""
    return json.dumps(words, ensure_ascii=False).replace("\x7f", "\\u007f")
