"""Drafting a specification: look at a table, guess roles and hierarchies, and write them down with the reasons.

A draft is a start for somebody who knows the data. It errs on the side of caution: what cannot be judged is taken for
a quasi-identifier or left out, never waved through.
"""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ibis
from pydantic import PrivateAttr

from ringfence.draft.hierarchies import ITEM_GROUPS, Fit, advise_mending, fit
from ringfence.draft.page import ColumnDraft, Content, Stated, as_table, as_toml, share, shown
from ringfence.draft.people import Owner, perhaps_whose, whose_rows
from ringfence.draft.profile import Pair, Profile, held, look_at, measure_together
from ringfence.draft.roles import Guess, as_quasi, guess_role
from ringfence.draft.twins import Twin, find_twins
from ringfence.errors import DataError
from ringfence.rows.engine import Engine
from ringfence.spec import Spec
from ringfence.spec.data import Data

MOST_DIVERSE_VALUES = 1000
"""With more values than this, classes are diverse by themselves."""

MOST_COMMON = 0.9
"""Where one value is commoner than this, l-diversity would cost nearly all detail."""

MOST_QUASI = 15
"""With more quasi-identifiers than this nobody is like anybody else, and little is left of each."""


MOST_COVERED = 10**9
"""Plans list the values that each range covers: where rows times values are more than this, that takes more than five
gigabytes, while intervals of a hierarchy are few."""


@dataclass(frozen=True)
class Findings:
    """What was found out about a table: its rows, each column, and how identifying columns are together.

    `pairs` are those of the quasi-identifiers, the most identifying first; `together` are all of them.
    """

    toml: str
    rows: int
    columns: tuple[ColumnDraft, ...]
    pairs: tuple[Pair, ...]
    together: Pair


class Draft(Spec):
    """A drafted specification, with the reasons for all that it says.

    It is a `Spec` like any other. `toml` is how `ringfence init` writes it, with the reasons as comments; `reasons` has
    those of the roles, column by column; printed, it is a table of what was found out about each column.
    """

    _findings: Findings = PrivateAttr()

    @classmethod
    def of(cls, findings: Findings) -> "Draft":
        """Return the specification that a commented TOML states."""
        draft = cls(**tomllib.loads(findings.toml))
        draft._findings = findings
        return draft

    @property
    def toml(self) -> str:
        """The specification as TOML, with comments that say why it is as it is."""
        return self._findings.toml

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return self._findings.rows

    @property
    def columns(self) -> tuple[ColumnDraft, ...]:
        """What was found out about each column."""
        return self._findings.columns

    @property
    def reasons(self) -> dict[str, str]:
        """Why each column has its role."""
        return {column.name: column.reason for column in self.columns}

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """How identifying each two quasi-identifiers are, the most identifying first."""
        return self._findings.pairs

    @property
    def together(self) -> Pair:
        """How identifying all quasi-identifiers are together."""
        return self._findings.together

    def __str__(self) -> str:
        return as_table(self.rows, self.columns, self.pairs, self.together)


def draft_spec(engine: Engine, rows: ibis.Table, data: Data, source: str | None, told: Sequence[str] = ()) -> Draft:
    """Return a draft of a specification for some rows: one that runs as it is, and says why it is as it is.

    Each column gets a role by its name and its values, and each quasi-identifier a hierarchy that fits its values. The
    engine counts; only the values of columns with few of them are looked at one by one. Neither the order of the rows
    nor chance has a part in it. `data` says how the rows were read, `told` why, and `source` where they lie; all go
    into the draft. A table without rows, or without a column that could be recoded, is a DataError.

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
        guesses = {profile.name: guess_role(profile) for profile in profiles}
        owner = whose_rows(engine, kept, profiles, guesses)
        unsure = perhaps_whose(profiles, guesses) if owner is None else None
        if owner is not None:
            guesses[owner.name] = Guess("identifier", owner.reason, fallback=None)
        twins = _without_twins(engine, kept, profiles, guesses)
        warnings = _settle_roles(profiles, guesses)
        quasi = [profile for profile in profiles if guesses[profile.name].role == "quasi"]
        names = [profile.name for profile in quasi]
        together, pairs = measure_together(engine, kept, names) if names else (Pair((), 0, 0.0), [])
    order_of = {twin.kept: twin.order for twin in twins}
    fits = {
        profile.name: fit(profile, guesses[profile.name].nature, order_of.get(profile.name, ()))
        for profile in profiles
        if guesses[profile.name].role == "quasi" or profile.codes is not None
    }
    attributes = [_stated(profile, guesses[profile.name], fits.get(profile.name)) for profile in profiles]
    sensitive = [profile for profile in profiles if guesses[profile.name].role == "sensitive"]
    diverse, advice = _diversity(sensitive, owner)
    people = profiles[0].rows if owner is None else owner.people
    weights = next((name for name, guess in guesses.items() if guess.topic == "weights"), None)
    stated = {"entity": None if owner is None else owner.name, "weights": weights}
    content = Content(
        data=data.model_copy(update={key: name for key, name in stated.items() if name is not None}),
        source=source,
        rows=profiles[0].rows,
        attributes=attributes,
        k=max(2, min(5, people // 2)),
        people=None if owner is None else owner.people,
        told=told,
        diverse=diverse,
        advice=[*advice, *warnings, *([] if unsure is None else [_repeats(unsure)])],
        pairs=pairs,
        together=together,
    )
    columns = tuple(each.column for each in attributes)
    return Draft.of(Findings(as_toml(content), profiles[0].rows, columns, tuple(pairs), together))


def _without_twins(
    engine: Engine, rows: ibis.Table, profiles: Sequence[Profile], guesses: dict[str, Guess]
) -> list[Twin]:
    """Leave out columns that say the same as others, and return them."""
    quasi = [profile for profile in profiles if guesses[profile.name].role == "quasi"]
    if len(quasi) < 2:
        return []
    twins = find_twins(engine, rows, quasi)
    for twin in twins:
        told = ", which is put into its order by it" if twin.order else ""
        reason = f"says the same as {shown(twin.kept)}, value for value{told}: one of them is enough"
        guesses[twin.name] = Guess("identifier", reason, fallback=None)
    return twins


def _settle_roles(profiles: Sequence[Profile], guesses: dict[str, Guess]) -> list[str]:
    """Make at least one and not too many of the columns quasi-identifiers, and return what to say of that."""
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
        return [
            f"No column looks like a quasi-identifier; {shown(name)} is made one, since there is nothing to recode"
            " without. Give the role quasi to what others may know."
        ]
    surplus = _likeliest([profile.name for profile in quasi], guesses)[MOST_QUASI:]
    for name in surplus:
        reason = f"{guesses[name].reason}; left out, since {len(quasi)} quasi-identifiers are too many"
        guesses[name] = Guess("identifier", reason, fallback=None)
    if not surplus:
        return []
    return [
        f"{len(quasi)} columns look like quasi-identifiers. The {MOST_QUASI} likeliest are kept, and"
        f" {len(surplus)} are left out of the release. Give the role insensitive to what nobody knows, and quasi to"
        " what should be published."
    ]


def _repeats(column: Profile) -> str:
    """Say that rows are counted, though a column is called after people and repeats."""
    name = shown(column.name)
    gaps = f", once rows without a value ({column.missing:,}) have one" if column.missing else ""
    return (
        f"k counts rows, though {name} repeats: {column.distinct:,} values in {column.rows:,} rows. If it says whose a"
        f' row is, set entity = "{name}" in [data]{gaps},'
        " so that nobody's many rows pass for a crowd."
    )


def _likeliest(names: Sequence[str], guesses: Mapping[str, Guess]) -> list[str]:
    """Return quasi-identifiers by what others are likeliest to know: one column on each topic before the next on it."""
    topics = [guesses[name].topic for name in names]
    turn = {name: topics[:at].count(topics[at]) for at, name in enumerate(names)}
    return sorted(names, key=lambda name: (guesses[name].rank == 0, turn[name], -guesses[name].rank))


def _stated(profile: Profile, guess: Guess, given: Fit | None) -> Stated:
    """Return what the draft says of one column."""
    found = ITEM_GROUPS if guess.role == "items" else given if guess.role in ("quasi", "sensitive") else None
    column = ColumnDraft(
        name=profile.name,
        role=guess.role,
        reason=guess.reason,
        distinct=profile.distinct,
        unique=profile.unique,
        missing=profile.missing / profile.rows,
        hierarchy="" if found is None else found.words,
        kind=_kind(profile),
    )
    if found is None:
        return Stated(column)
    advice = tuple(words for words in (found.advice, advise_mending(profile, found)) if words)
    on_line = profile.kind in ("day", "clock") or "intervals" in found.hierarchy or found.order == "numeric"
    ranged = guess.role == "quasi" and on_line
    vast = ranged and bool(found.hierarchy) and profile.rows * profile.distinct > MOST_COVERED
    return Stated(column, found.hierarchy, found.order, found.formats, advice, found.listed, ranged and not vast, vast)


def _kind(profile: Profile) -> str:
    """Say what a column holds, in a word."""
    if profile.holds.lstrip("!").startswith("array"):
        return "lists"
    if profile.days is not None or profile.kind == "day":
        return "dates"
    if profile.is_number:
        return "numbers"
    return {"truth": "yes or no", "other": "other"}.get(profile.kind, "text")


def _diversity(sensitive: Sequence[Profile], owner: Owner | None) -> tuple[list[str], list[str]]:
    """Return the sensitive attributes of which each class should have two values, and why others are left out.

    Where people have several rows, different values must be those of different people to tell anything.
    """
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
        elif owner is not None and profile.name not in owner.constant:
            advice.append(
                f"l-diversity is not asked of {name}: it differs between the rows of one person, who could be alone"
                " with all its values."
            )
        elif values > MOST_DIVERSE_VALUES:
            advice.append(f"l-diversity is not asked of {name}: with {values:,} values, few rows share one.")
        else:
            diverse.append(profile.name)
    return diverse, advice
