"""Which role a column may have, and why: by its name, backed by its values, else by its values alone."""

import re
from dataclasses import dataclass, replace

from ringfence.draft.looks import HARMLESS_LOOKS
from ringfence.draft.page import share
from ringfence.draft.profile import LISTED, Profile, Spread
from ringfence.draft.words import (
    BARE_WEIGHTS,
    OF_BODIES,
    ColumnMeaning,
    Nature,
    is_bare,
    is_bare_key,
    meanings_of,
    words_of,
)
from ringfence.spec.attributes import Role

FEW_ROWS = 50
"""In smaller tables, values that occur once say little."""

FEW_VALUES = 10
"""What identifies people has more values."""

TELLING = 0.05
"""Numbers tell people apart where more than this share of the rows are alone with theirs."""

SOME_CONTACTS = 0.01
"""A column of texts is left out where telephone numbers or addresses stand in this share of them."""

SHORTEST_NOTE = 15
"""What is called a note, and is nowhere as long as this, is a word or a mark."""

DIGITS_OF_KEYS = 7
"""Near-unique whole numbers that all have as many digits as this, or more, are keys."""

MOST_KILOGRAMS = 500
"""A weight above this is not a person's."""

LEAST_KILOGRAMS = 15
"""Where all weights are below this, they are not people's: those of a survey are about 1."""

IN_RANGES = "published in ranges"

WHOLE = (
    "many whole numbers, such as postcodes, years or keys have; make it sensitive if nobody else knows them, an"
    " identifier if they stand for somebody"
)

MARKED = (
    "numbers with a unit or marks that are not read as numbers, so exact that whoever knows one finds the person: left"
    " out; take the marks out to publish them, in intervals"
)


@dataclass(frozen=True)
class Guess:
    """A role and its reason.

    `topic` is what the column is about and `rank` how much that matters, 0 where the role rests on caution alone.
    `fallback` ranks the columns that could be quasi-identifiers if there were no other, the best first; None for those
    that cannot.
    """

    role: Role
    reason: str
    nature: Nature = "amount"
    topic: str = ""
    rank: int = 0
    fallback: int | None = 3


def guess_role(column: Profile) -> Guess:  # noqa: PLR0911, PLR0912  one rule after the other
    """Return the likeliest role of a column.

    What its values are comes first where they speak for themselves (addresses, dates), then what its name means, then
    how many values it has. In doubt a column is taken for a quasi-identifier: that costs detail, not privacy.
    """
    if re.fullmatch(r"!?array<!?(string|u?int\d+|date)>", column.holds):
        return Guess("items", "lists, such as baskets: somebody could be found by a few of the items", fallback=None)
    if column.kind == "other":
        return Guess("identifier", f"holds {column.holds}, which cannot be made coarser: left out", fallback=None)
    if column.has_root:
        reason = "has the value '*', which stands for every value in a release: left out unless that is renamed"
        return Guess("identifier", reason, fallback=None)
    meaning = next((meaning for meaning in meanings_of(column.name) if _fits(meaning, column)), None)
    if meaning is not None and meaning.key == "weights":
        return _weights(column, meaning)
    if meaning is not None and meaning.role == "identifier":
        return _identifier(meaning.reason)
    if column.present == 0:
        named = next(iter(meanings_of(column.name)), None)
        if named is not None:
            return Guess(
                "identifier", f"{named.reason}; has no values here, but the next table may have some", fallback=0
            )
        return Guess("insensitive", "has no values", fallback=0)
    if column.codes is not None and column.codes[0] == "ipv4":
        return _identifier(f"{share(column.codes[1])} of the values are IP addresses, which lead to people")
    if column.look is not None and column.look not in HARMLESS_LOOKS and not column.is_number:
        return _identifier(f"holds {column.look}")
    if column.kind == "day" or column.look == "dates":
        return Guess("quasi", "a date, which others may remember", "day", topic="day", rank=2)
    if column.kind == "clock":
        return Guess("quasi", "a time of day, which others may remember", "day", topic="day", rank=1)
    if column.contacts >= SOME_CONTACTS:
        return _identifier(f"telephone numbers or e-mail addresses stand in {share(column.contacts)} of the values")
    if _is_marked(column):
        return Guess("identifier", MARKED, fallback=4)
    if _is_free_text(column):
        return Guess("identifier", "free text, which may hold names or anything else", fallback=1)
    if meaning is not None and meaning.role == "sensitive" and not singles_out(column, meaning.nature):
        return Guess("sensitive", meaning.reason, meaning.nature, fallback=2)
    if column.distinct == 1 and column.missing == 0:
        note = next((each for each in meanings_of(column.name) if each.key == "note"), None)
        if note is not None and column.kind == "text":
            return Guess("identifier", f"{note.reason}: the same here, but the next table may differ", fallback=0)
        return Guess("insensitive", "the same in every row, so it tells nobody apart", fallback=0)
    if meaning is not None and meaning.role == "sensitive":
        reason = f"{meaning.reason}, but so exact that whoever knows it finds the person"
        reason += f": {IN_RANGES}" if column.is_number else ""
        return Guess("quasi", reason, "amount", meaning.key, meaning.rank)
    if meaning is not None:
        return Guess("quasi", meaning.reason, meaning.nature, meaning.key, meaning.rank)
    return _by_values(column)


def singles_out(column: Profile, nature: Nature = "category") -> bool:
    """Whether numbers are so exact that, published as they are, they would tell people apart.

    What is called an amount is one in whatever way it is written, if there is a digit in it.
    """
    alone = max(column.exact, column.figures) if nature == "amount" else column.exact
    return column.distinct > FEW_VALUES and alone > TELLING * column.present


def _is_marked(column: Profile) -> bool:
    """Whether most texts are numbers, some of which have marks that are not read, and they would tell people apart."""
    marked = column.amounts - column.numbers
    texts = column.kind == "text" and column.codes is None
    return texts and column.amounts > 0.5 and marked > TELLING and singles_out(column)


def _weights(column: Profile, meaning: ColumnMeaning) -> Guess:
    """Return the role of survey weights: published where many rows share each, since analysts need them."""
    if column.distinct * FEW_ROWS <= column.present:
        reason = f"{meaning.reason}: published, since many rows share each"
        return Guess("insensitive", reason, topic="weights", fallback=None)
    reason = f"{meaning.reason}: left out, since few rows share each, and who knows the sample could find people by it"
    return Guess("identifier", reason, topic="weights", fallback=None)


def _identifier(reason: str) -> Guess:
    return Guess("identifier", reason, "category", fallback=4)


def _by_values(column: Profile) -> Guess:
    """Return the role of a column whose name says nothing."""
    spread = column.spread if column.is_number else None
    if column.nearly_unique and column.present > 1 and (spread is None or _counts_on(column, spread)):
        return Guess("identifier", "nearly every row has a value of its own", fallback=1)
    if spread is not None and singles_out(column):
        return Guess("quasi", f"a number so exact that whoever knows it finds the person: {IN_RANGES}", topic="number")
    if spread is not None and spread.whole and column.distinct > LISTED:
        return Guess("quasi", f"{WHOLE}: {IN_RANGES}")
    if spread is not None and column.distinct > LISTED:
        reason = "a measurement with many values; make it quasi if anybody else may know it, since it is published"
        return Guess("sensitive", reason, fallback=2)
    if spread is None and column.distinct > max(1000, column.present // 10):
        return Guess("identifier", "so many different values that each stands for few rows", "category", fallback=1)
    nature: Nature = "amount" if spread is not None else "category"
    reason = "could be known to others; make it insensitive if not"
    return Guess("quasi", reason, nature)


def _counts_on(column: Profile, spread: Spread) -> bool:
    """Whether whole numbers are those of a list: one after the other, or of so many digits that nothing is counted."""
    digits = {len(str(int(end))) for end in (spread.least, spread.greatest)}
    dense = spread.greatest - spread.least < 1.5 * column.distinct
    return spread.whole and (dense or (len(digits) == 1 and min(digits) >= DIGITS_OF_KEYS))


def _fits(meaning: ColumnMeaning, column: Profile) -> bool:  # noqa: PLR0911  one a meaning
    """Whether a column's values may be what its name says."""
    spread = column.spread
    fractions = spread is not None and not spread.whole
    match meaning.key:
        case "note":  # not a mark at school, nor yes and no
            return column.kind == "text" and column.longest >= SHORTEST_NOTE and column.numbers < 0.5
        case "weights":
            bare = {*words_of(column.name)} <= BARE_WEIGHTS  # then it may be a person's own
            heavy = spread is not None and spread.greatest > MOST_KILOGRAMS
            light = spread is not None and fractions and spread.least > 0 and spread.greatest < LEAST_KILOGRAMS
            somebodys = bool({*words_of(column.name)} & OF_BODIES) or column.missing > 0  # a row without a weight?
            fits = spread is not None and column.is_number and spread.least >= 0
            return fits and (heavy or light or not bare) and not somebodys
        case "year":
            return spread is not None and spread.whole and spread.least >= 1000 and spread.greatest < 3000
        case "key":
            often = column.distinct > max(LISTED, column.present // 20)
            return not fractions and (is_bare_key(column.name) or column.nearly_unique or often)
        case "person":
            return not fractions and is_bare_key(column.name) and (column.nearly_unique or column.distinct > FEW_VALUES)
        case "device" if not is_bare(column.name, meaning):
            return False
        case "contact" | "address" | "account" | "official" | "online" | "device":
            return not fractions and (column.distinct > FEW_VALUES or column.rows < FEW_ROWS)  # not yes, no, unknown
    return True


def _is_free_text(column: Profile) -> bool:
    """Whether texts are all different, or sentences: then no list of values can have been meant."""
    numbers = column.look == "amounts" or "string" not in column.holds  # infinity may be one
    if column.kind != "text" or column.rows < FEW_ROWS or column.is_code or numbers:
        return False
    return column.nearly_unique or (column.sentences >= 0.2 and column.distinct > LISTED and column.unique > 0.05)


def as_quasi(guess: Guess) -> Guess:
    """Return the guess for a column that is made a quasi-identifier for want of another."""
    reason = f"{guess.reason}; quasi here because a release needs a quasi-identifier and no column looked like one"
    return replace(guess, role="quasi", reason=reason, rank=0)
