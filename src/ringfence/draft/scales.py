"""Scales: words whose order is known, as answers to surveys have them.

Neighbours on a scale mean nearly the same, so that they may be published together, where other words would be hidden.
A column is taken for a scale if every value is on it and no two are at the same place; words are English, with common
German ones.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache

LEAST = 3
"""Of fewer values, there is nothing to be put between others."""

LISTS = (
    "never / almost never, hardly ever, very rarely, very seldom / rarely, seldom / occasionally, once in a while"
    " / sometimes / often, frequently / very often / usually, mostly / almost always, nearly always / always",
    "never / less than yearly / yearly, once a year / monthly, once a month / weekly, once a week"
    " / several times a week / daily, every day / several times a day",
    "none, no, nothing / minimal, very low, very little / low, little, a little / medium, moderate, middle, average"
    " / high, much, a lot / very high, very much",
    "none / minimal / mild, slight, light / moderate / severe, serious / very severe, critical / fatal",
    "terrible, awful / very poor, very bad / poor, bad / fair, average, acceptable, ok, okay / good / very good"
    " / excellent / outstanding",
    "tiny / very small / small / medium / large, big / very large, very big / huge",
    "xxs / xs / s / m / l / xl / xxl / xxxl",
    "much worse / worse / about the same, the same, same, unchanged, no change / better / much better",
    "far too little, much too little / too little / about right, just right / too much / far too much, much too much",
    "unskilled / semi skilled / skilled / highly skilled",
    "trainee, intern / junior / mid level, intermediate / senior / lead, principal / manager / director",
    "beginner / elementary / intermediate / advanced / expert, proficient",
    "preschool, kindergarten, no schooling / primary, primary school, elementary, elementary school"
    " / lower secondary, middle school / secondary, secondary school, upper secondary, high school"
    " / vocational, some college / associate, associate degree, associates / bachelor, bachelors, bachelor s degree"
    ", bachelor degree / master, masters, master s degree, master degree / doctorate, phd, ph d, doctoral degree",
    "monday / tuesday / wednesday / thursday / friday / saturday / sunday",
    "mon / tue / wed / thu / fri / sat / sun",
    "january / february / march / april / may / june / july / august / september / october / november / december",
    "jan / feb / mar / apr / may / jun / jul / aug / sep, sept / oct / nov / dec",
    "i / ii / iii / iv / v / vi / vii / viii / ix / x",
    "first / second / third / fourth / fifth / sixth / seventh / eighth / ninth / tenth",
    "nie / fast nie, sehr selten / selten / gelegentlich / manchmal / oft, haufig / sehr oft, sehr haufig / meistens"
    " / fast immer / immer",
    "keine, kein, keiner / sehr niedrig, sehr gering / niedrig, gering / mittel / hoch / sehr hoch",
    "sehr schlecht / schlecht / mittel, mittelmassig, teils teils, ausreichend / befriedigend / gut / sehr gut",
    "klein / mittel / gross / sehr gross",
    "leicht / mittel, mittelschwer / schwer / sehr schwer",
    "stimme gar nicht zu, stimme uberhaupt nicht zu, trifft gar nicht zu, trifft uberhaupt nicht zu"
    " / stimme nicht zu, trifft nicht zu / stimme eher nicht zu, trifft eher nicht zu"
    " / teils teils, neutral, weder noch, unentschieden / stimme eher zu, trifft eher zu / stimme zu, trifft zu"
    " / stimme voll zu, stimme voll und ganz zu, trifft voll zu, trifft voll und ganz zu",
    "sehr unzufrieden / unzufrieden / eher unzufrieden / neutral, teils teils, weder noch / eher zufrieden / zufrieden"
    " / sehr zufrieden",
    "montag / dienstag / mittwoch / donnerstag / freitag / samstag, sonnabend / sonntag",
    "januar, janner / februar / marz / april / mai / juni / juli / august / september / oktober / november / dezember",
)
"""Scales from one end to the other; at each place, the ways to say it."""

TOWARDS = "agree, satisfied, likely, important, useful, happy, confident, interested, safe, easy, positive"
AWAY = "disagree, dissatisfied, unsatisfied, unlikely, unimportant, useless, unhappy, unsafe, negative"
POLES = {**dict.fromkeys(TOWARDS.split(", "), 1), **dict.fromkeys(AWAY.split(", "), -1)}
DEGREES = {
    **{"not at all": -8, "not": -5, "not very": -1, "not so": -1},
    **{"slightly": 1, "a little": 1, "a bit": 1, "tend to": 2, "somewhat": 2},
    **{"moderately": 3, "fairly": 3, "rather": 3, "quite": 3, "mostly": 4, "": 5},
    **{"very": 6, "strongly": 6, "highly": 6, "completely": 7, "totally": 7, "fully": 7, "extremely": 7},
}
"""How much of what a pole says: somebody who slightly agrees is nearer to the middle than one who agrees."""
MIDDLE = {"neutral", "undecided", "neither", "unsure", "mixed"}
COUNTED = "grade|level|stage|class|year|step|tier|phase|degree|quartile|quintile|decile|band|q|klasse|stufe"
LEVEL = re.compile(rf"(?:{COUNTED}) ?(\d{{1,3}})")


def scale_of(values: Sequence[str]) -> list[str]:
    """Return values in their order if they are on a scale that is known; else nothing.

    >>> scale_of(["Agree", "neither agree nor disagree", "Strongly disagree", "Strongly agree", "Disagree"])
    ['Strongly disagree', 'Disagree', 'neither agree nor disagree', 'Agree', 'Strongly agree']
    >>> scale_of(["high", "LOW", "medium"]), scale_of(["high", "low", "green"]), scale_of(["Q4", "Q1", "Q2"])
    (['LOW', 'medium', 'high'], [], ['Q1', 'Q2', 'Q4'])
    """
    words = [_plain(value) for value in values]
    for places in ([_degree(word) for word in words], [_level(word) for word in words], *_on_lists(words)):
        known = [place for place in places if place is not None]
        if LEAST <= len({*known}) == len(values):
            return [value for _, value in sorted(zip(known, values, strict=True))]
    return []


def _plain(value: str) -> str:
    """Return a value in small letters without accents, with a blank for whatever is no letter or figure."""
    letters = unicodedata.normalize("NFKD", value.casefold())
    return " ".join(re.sub(r"[^0-9a-z]+", " ", "".join(c for c in letters if not unicodedata.combining(c))).split())


def _degree(words: str) -> int | None:
    """Return how far towards one of two poles an answer is, 0 for the middle; None if it is none."""
    first, _, last = words.rpartition(" ")
    if words in MIDDLE or words.startswith("neither "):
        return 0
    return POLES[last] * DEGREES[first] if last in POLES and first in DEGREES else None


def _level(words: str) -> int | None:
    """Return the number of a level that is counted, as `grade 3` or `Q1`."""
    found = LEVEL.fullmatch(words)
    return int(found[1]) if found else None


def _on_lists(words: Sequence[str]) -> list[list[int | None]]:
    """Return where on each list words are."""
    return [[places.get(word) for word in words] for places in _places()]


@cache
def _places() -> tuple[dict[str, int], ...]:
    split = ([part.split(",") for part in scale.split("/")] for scale in LISTS)
    return tuple({way.strip(): place for place, ways in enumerate(scale) for way in ways} for scale in split)
