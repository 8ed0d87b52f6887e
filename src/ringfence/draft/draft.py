"""Drafting a specification: look at a table, guess roles and hierarchies, and write them down with the reasons.

A draft is a start for somebody who knows the data. It errs on the side of caution: what cannot be judged is taken for
a quasi-identifier or left out, never waved through.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import ibis

from ringfence.draft.hierarchies import ITEM_GROUPS, MOST_QUASI, Fit, ladder, within_reach
from ringfence.draft.page import ColumnDraft, Content, Stated, as_table, as_toml, share, shown
from ringfence.draft.profile import Pair, Profile, held, look_at, measure_together
from ringfence.draft.roles import Guess, as_quasi, guess_role
from ringfence.errors import DataError
from ringfence.rows.engine import Engine
from ringfence.spec.tables import Data

MOST_DIVERSE_VALUES = 1000
"""With more values than this, classes are diverse by themselves."""

MOST_COMMON = 0.9
"""Where one value is commoner than this, l-diversity would cost nearly all detail."""


@dataclass(frozen=True)
class Draft:
    """A drafted specification: its TOML, and what was found out about the columns and about pairs of them.

    `pairs` are those of the quasi-identifiers, the most identifying first; `together` are all of them.
    """

    toml: str = field(repr=False)
    rows: int
    columns: tuple[ColumnDraft, ...]
    pairs: tuple[Pair, ...]
    together: Pair

    def __str__(self) -> str:
        return as_table(self.rows, self.columns, self.pairs, self.together)


def draft_spec(engine: Engine, rows: ibis.Table, data: Data, source: str | None) -> Draft:
    """Return a draft of a specification for some rows: one that runs as it is, and says why it is as it is.

    Each column gets a role by its name and its values, and each quasi-identifier a hierarchy that fits its values. The
    engine counts; only the values of columns with few of them are looked at one by one. Neither the order of the rows
    nor chance has a part in it. `data` says how the rows were read, and `source` where they lie; both go into the
    draft. A table without rows, or without a column that could be recoded, is a DataError.

    >>> import pyarrow as pa
    >>> table = pa.table({"name": ["Ada", "Bo", "Cy", "Di"], "sex": ["f", "m", "m", "f"], "pay": [1.5, 2.5, 2.0, 9.0]})
    >>> from ringfence.rows.duckdb import DuckDB
    >>> with DuckDB(Data()) as engine:
    ...     draft = draft_spec(engine, engine.open(table, Data()), Data(), None)
    >>> [(column.name, column.role) for column in draft.columns]
    [('name', 'identifier'), ('sex', 'quasi'), ('pay', 'sensitive')]
    """
    with held(engine, rows) as kept:
        profiles = look_at(engine, kept)
        if not profiles or profiles[0].rows == 0:
            raise DataError("the data has no rows: there is nothing to draft a specification from")
        guesses, warnings = _roles(profiles)
        quasi = [profile for profile in profiles if guesses[profile.name].role == "quasi"]
        names = [profile.name for profile in quasi]
        together, pairs = measure_together(engine, kept, names) if names else (Pair((), 0, 0.0), [])
    ladders = [ladder(profile, guesses[profile.name].nature) for profile in quasi]
    fits = within_reach(ladders, [profile.distinct for profile in quasi])
    shortened = {profile.name for profile, rungs, fit in zip(quasi, ladders, fits, strict=True) if fit is not rungs[0]}
    fit_of = {profile.name: fit for profile, fit in zip(quasi, fits, strict=True)}
    fit_of |= {profile.name: ITEM_GROUPS for profile in profiles if guesses[profile.name].role == "items"}
    twins = _twins(quasi, pairs)
    attributes = [
        _stated(
            profile,
            guesses[profile.name],
            fit_of.get(profile.name),
            shortened=profile.name in shortened,
            twin=twins.get(profile.name),
        )
        for profile in profiles
    ]
    diverse, advice = _diversity([profile for profile in profiles if guesses[profile.name].role == "sensitive"])
    content = Content(
        data=data,
        source=source,
        rows=profiles[0].rows,
        attributes=attributes,
        k=max(2, min(5, profiles[0].rows // 2)),
        diverse=diverse,
        advice=[*advice, *warnings],
        pairs=pairs,
        together=together,
    )
    columns = tuple(stated.column for stated in attributes)
    return Draft(as_toml(content), profiles[0].rows, columns, tuple(pairs), together)


def _roles(profiles: Sequence[Profile]) -> tuple[dict[str, Guess], list[str]]:
    """Return the role of each column, at least one and not too many of them quasi-identifiers, and what to say of
    that."""
    guesses = {profile.name: guess_role(profile) for profile in profiles}
    quasi = [profile for profile in profiles if guesses[profile.name].role == "quasi"]
    baskets = [profile.name for profile in profiles if guesses[profile.name].role == "items"]
    for name in baskets[1:]:
        guesses[name] = Guess(
            "identifier", f"more lists; left out, since only {baskets[0]} can be items", fallback=None
        )
    if not quasi and not baskets:
        ranked = [
            (rank, profile.distinct, profile.name)
            for profile in profiles
            if (rank := guesses[profile.name].fallback) is not None
        ]
        if not ranked:
            raise DataError(
                "no column could be recoded: each holds '*' or values of a kind that cannot be made coarser"
            )
        *_, name = min(ranked, key=lambda entry: entry[:2])
        guesses[name] = as_quasi(guesses[name])
        return guesses, [
            f"No column looks like a quasi-identifier; {shown(name)} is made one, since there is nothing to recode"
            " without. Give the role quasi to what others may know."
        ]
    surplus = _likeliest([profile.name for profile in quasi], guesses)[MOST_QUASI:]
    for name in surplus:
        reason = f"{guesses[name].reason}; left out, since {len(quasi)} quasi-identifiers are too many"
        guesses[name] = Guess("identifier", reason, fallback=None)
    if not surplus:
        return guesses, []
    return guesses, [
        f"{len(quasi)} columns look like quasi-identifiers. The {MOST_QUASI} likeliest are kept, and"
        f" {len(surplus)} are left out of the release. Give the role insensitive to what nobody knows, and quasi to"
        " what should be published."
    ]


def _likeliest(names: Sequence[str], guesses: Mapping[str, Guess]) -> list[str]:
    """Return quasi-identifiers by what others are likeliest to know: one column on each topic before the next on it."""
    topics = [guesses[name].topic for name in names]
    turn = {name: topics[:at].count(topics[at]) for at, name in enumerate(names)}
    return sorted(names, key=lambda name: (guesses[name].rank == 0, turn[name], -guesses[name].rank))


def _twins(quasi: Sequence[Profile], pairs: Sequence[Pair]) -> dict[str, str]:
    """Return for each column that tells the same as one before it, value for value, the name of that one."""
    distinct = {profile.name: profile.distinct + (profile.missing > 0) for profile in quasi}
    same = [pair.columns for pair in pairs if {distinct[name] for name in pair.columns} == {pair.distinct}]
    return {second: first for first, second in reversed(same) if distinct[second] > 2}


def _stated(profile: Profile, guess: Guess, fit: Fit | None, *, shortened: bool, twin: str | None) -> Stated:
    """Return what the draft says of one column."""
    column = ColumnDraft(
        name=profile.name,
        role=guess.role,
        reason=guess.reason,
        distinct=profile.distinct,
        unique=profile.unique,
        missing=profile.missing / profile.rows,
        hierarchy="" if fit is None else fit.words,
    )
    if fit is None:
        return Stated(column)
    advice = [fit.advice] if fit.advice else []
    if shortened:
        advice.append("Levels are left out, to keep the number of combinations small")
    if twin is not None:
        advice.append(f"It tells the same as {shown(twin)}, value for value: one of them is enough")
    if profile.kind == "text" and profile.numbers >= 0.8:
        advice.append(
            f"{share(profile.numbers)} of the values are numbers: put the others into data.missing_values, or mend"
            " them, and it could have intervals"
        )
    elif profile.kind == "text" and profile.look == "amounts":
        advice.append("Written as 1234.5, numbers could have intervals")
    return Stated(column, fit.hierarchy, fit.order, tuple(advice))


def _diversity(sensitive: Sequence[Profile]) -> tuple[list[str], list[str]]:
    """Return the sensitive attributes of which each class should have two values, and why others are left out."""
    diverse, advice = [], []
    for profile in sensitive:
        name, values = shown(profile.name), profile.distinct + (profile.missing > 0)
        most = max(profile.commonest, profile.missing) / profile.rows
        if values < 2:
            advice.append(f"l-diversity is not asked of {name}: it has one value only.")
        elif most > MOST_COMMON:
            advice.append(
                f"l-diversity is not asked of {name}: {share(most)} of the rows have the same value, so it would cost"
                " nearly all detail."
            )
        elif values > MOST_DIVERSE_VALUES:
            advice.append(f"l-diversity is not asked of {name}: with {values:,} values, few rows share one.")
        else:
            diverse.append(profile.name)
    return diverse, advice
