"""Whose a row is: the column that says it, where people have several rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ibis

from ringfence.draft.profile import LISTED, Profile
from ringfence.draft.roles import FEW_VALUES, Guess
from ringfence.draft.words import belongs_to, meanings_of
from ringfence.rows.engine import Engine

SAME = 0.98
"""What belongs to a person is the same in all rows of so many people: there are slips of the pen."""

MOSTLY_SAME = 0.5
"""Of so many, where the column is called after people: that weighs more than slips, and to count people is safer."""

MOST_ROWS = 200
"""Nobody has more rows than this on average; a hospital or a year has."""

NEEDED = {3: (0, MOSTLY_SAME), 2: (0, MOSTLY_SAME), 1: (1, SAME), 0: (2, SAME)}
"""How many columns must be the same in all rows of a person, and of how many people at least, by how much a name tells
(`belongs_to`)."""

FEWEST_PEOPLE = 20
"""What is not called after people, and has fewer values, stands for something else."""


@dataclass(frozen=True)
class Owner:
    """The column that says whose a row is, how many people there are, why it is taken for that, and the columns of
    which everybody has one value."""

    name: str
    people: int
    reason: str
    constant: frozenset[str]


def whose_rows(
    engine: Engine, rows: ibis.Table, profiles: Sequence[Profile], guesses: Mapping[str, Guess]
) -> Owner | None:
    """Return the column that says whose a row is; None where each row is somebody else's, or nothing tells.

    It repeats, and it is called after people, or after what people have for themselves, such as an official number; or
    it is a key, or looks like one, and what belongs to a person (name, sex, date of birth) is the same in all its rows.
    A column that repeats and stands for many people at once, such as a hospital, has several of these. One with gaps
    cannot be it, since a row without an owner may be anybody's.
    """
    personal = [profile.name for profile in profiles if _is_personal(profile)]
    candidates = [profile for profile in profiles if not profile.missing and _may_be(profile, guesses[profile.name])]
    candidates.sort(key=lambda profile: (-belongs_to(profile.name), -profile.distinct))
    for candidate in candidates:
        needed, least = NEEDED[belongs_to(candidate.name)]
        others = [profile.name for profile in profiles if profile.name != candidate.name and profile.kind != "other"]
        telling = [name for name in others if name in personal]
        if len(telling) < needed:
            continue
        same = _same(engine, rows, candidate.name, telling)
        shown = [name for name in personal if same.get(name, 0) >= SAME]
        broken = [name for name in personal if name != candidate.name and same.get(name, 0) < least]
        if broken or len(shown) < needed:
            continue
        proof = f"; {_listed(shown)} stay{'s' * (len(shown) == 1)} the same in the rows of each" if shown else ""
        reason = f"says whose a row is: {candidate.distinct:,} people in {candidate.rows:,} rows{proof}"
        constant = {name for name, share in _same(engine, rows, candidate.name, others).items() if share == 1}
        return Owner(candidate.name, candidate.distinct, reason, frozenset(constant))
    return None


def perhaps_whose(profiles: Sequence[Profile], guesses: Mapping[str, Guess]) -> Profile | None:
    """Return a column that repeats and is called after people, where none was found to say whose a row is."""
    named = [each for each in profiles if belongs_to(each.name) == 3 and _may_be(each, guesses[each.name])]
    return max(named, key=lambda profile: profile.distinct, default=None)


def _may_be(profile: Profile, guess: Guess) -> bool:
    """Whether a column repeats, for enough people, and holds no measurements or notes."""
    sure = belongs_to(profile.name)
    fewest, most = (FEW_VALUES, profile.present - 1) if sure == 3 else (FEWEST_PEOPLE, 0.95 * profile.present)
    repeats = fewest <= profile.distinct <= most and profile.rows <= MOST_ROWS * profile.distinct
    unnamed = not meanings_of(profile.name) and profile.distinct > LISTED
    is_key = guess.role == "identifier" or sure == 1 or unnamed
    measured = profile.spread is not None and not profile.spread.whole
    return repeats and is_key and not measured and profile.kind in ("text", "number")


def _is_personal(profile: Profile) -> bool:
    keys = [meaning.key for meaning in meanings_of(profile.name)]
    born = keys[:1] in (["day"], ["year"]) and any(
        part in profile.name.casefold() for part in ("birth", "born", "geb", "naiss", "nac", "nasc", "dob", "yob")
    )
    return born or keys[:1] in (["sex"], ["name"])


def _same(engine: Engine, rows: ibis.Table, whose: str, names: Sequence[str]) -> dict[str, float]:
    """Return for each other column the share of people of whom all rows have the same value, a missing one included."""
    names = [name for name in names if name != whose]
    if not names:
        return {}
    each = rows.group_by(rows[whose]).aggregate(
        **{
            f"c{at}": rows[name].nunique() + (rows[name].isnull().any() & rows[name].notnull().any()).cast("int64")
            for at, name in enumerate(names)
        }
    )
    shares = engine.fetch(each.aggregate(**{f"c{at}": (each[f"c{at}"] <= 1).mean() for at in range(len(names))}))
    return {name: float(shares[f"c{at}"][0].as_py()) for at, name in enumerate(names)}


def _listed(names: Sequence[str]) -> str:
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)
