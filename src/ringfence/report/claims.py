"""What a release promises, and what it does not: the points of docs/promise.md, a line each.

Only those are told that the release at hand can keep or run into.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from ringfence.audit.verdict import some
from ringfence.plans.base import Plan
from ringfence.report.evidence import Uniformity
from ringfence.report.words import joined
from ringfence.spec import Spec
from ringfence.spec.hierarchies import FanoutHierarchy


@dataclass(frozen=True)
class Claim:
    """A point of the page: its name, and a sentence or two."""

    name: str
    text: str


def promises(spec: Spec) -> Iterator[Claim]:
    """Yield what the models that were asked for promise."""
    privacy = spec.privacy
    if spec.has_rings:
        yield from _of_rings(spec)
    elif privacy.k is not None and spec.data.composite:
        yield Claim(
            "k-anonymity of people, all rows together",
            "Rows of a person stay together under a number drawn at random. All that the quasi-identifiers of these"
            f" rows say is the same for at least {privacy.k:,} people. So whoever knows them all finds at least"
            f" {privacy.k:,} people that fit, or none. This is about who is who; it says nothing about what they have"
            " in common.",
        )
    elif privacy.k is not None and spec.data.entity is not None:
        yield Claim(
            "k-anonymity of people",
            f"Every class has rows of at least {privacy.k:,} different people, told apart by “{spec.data.entity}”. So"
            f" whoever knows all quasi-identifiers of a person's row finds rows of at least {privacy.k:,} people that"
            " fit, or none. This is about which row is whose; it says nothing about what these rows have in common.",
        )
    elif privacy.k is not None and spec.of_role("quasi"):
        yield Claim(
            "k-anonymity",
            f"Every class has at least {some(privacy.k, 'row')}. So whoever knows all quasi-identifiers of a person"
            f" finds at least {some(privacy.k, 'row')} that fit, or none, and the quasi-identifiers give no reason to"
            " prefer one of them. This is about which row is whose; it says nothing about what these rows have in"
            " common.",
        )
    if privacy.l is not None and not spec.has_rings:
        yield Claim(
            f"l-diversity of {joined(_diverse(spec))}",
            "In every class the sensitive values are varied, so that knowing somebody's class does not give the value"
            " away to whoever can rule out only a few others. The promise is about certainty, not about likelihood.",
        )
    if privacy.p is not None:
        yield Claim(
            "p-sensitivity",
            f"Every class has at least {some(privacy.p, 'different value')} of each sensitive attribute by itself.",
        )
    if privacy.t is not None:
        yield Claim(
            f"t-closeness of {joined(_close(spec))}",
            "Learning somebody's class adds little to what the whole release says about everybody: no more than the"
            " distance t allows.",
        )
    if privacy.m is not None:
        yield Claim(
            "k^m-anonymity",
            f"Every combination of 1 to {privacy.m} published labels of “{spec.items}” is in no basket, or in at least"
            f" {privacy.k}. So whoever knows up to {some(privacy.m, 'item')} of somebody's basket, and nothing else,"
            f" finds at least {privacy.k} baskets that fit, or none.",
        )
    bounded = [name for name, attribute in spec.attributes.items() if attribute.boundary is not None]
    if bounded:
        yield Claim(
            "Boundaries",
            f"No value of {joined(bounded)} is published as a label above its boundary. This is a promise to the"
            " reader, not against an adversary.",
        )


def _of_rings(spec: Spec) -> Iterator[Claim]:
    """Yield what a draw promises."""
    yield Claim(
        "Rings",
        "Whoever knows all quasi-identifiers of everybody, and the whole method, but not the draw, takes each of the"
        " rows that the ring gives a person to be that person's with the same probability: one over their number, which"
        " is at least k. This holds as long as the draw is not known, and for one release.",
    )
    if spec.privacy.l is not None:
        yield Claim(
            f"l-diversity of {joined(_diverse(spec))}",
            "All rows of a ring have different sensitive values, and which rows make it up tells nothing about where"
            " these lie. So no value of a person has a probability above 1/l, for the same adversary.",
        )


def limits(spec: Spec, plan: Plan, uniform: Mapping[str, Uniformity]) -> Iterator[Claim]:
    """Yield what this release does not promise."""
    classes = "class" if spec.of_role("quasi") else "set of baskets that fit"
    if spec.of_role("quasi"):
        yield from _about_values(spec, uniform)
    if spec.privacy.m is not None:
        yield from _about_baskets(spec, spec.privacy.m)
    if spec.method.traits.chosen:
        yield Claim(
            "Reasoning backwards",
            "The release was chosen because it loses little. Whoever knows that can ask why it is no finer, and"
            " sometimes work out what a finer one would have shown (minimality, downcoding).",
        )
    if plan.suppressed_rows:
        yield Claim(
            "Suppressed rows",
            f"How many rows are {'masked' if plan.masked else 'missing'} is published"
            f" ({some(plan.suppressed_rows, 'row')}), and absence can tell something, too.",
        )
    if spec.has_rings:
        yield Claim(
            "Known rows",
            "Whoever knows which rows some people carry can rule out assignments, and learns more about the others of"
            " their rings than he would in a group of rows that are all alike.",
        )
    if spec.output.counts:
        yield Claim(
            "Counts of values",
            "Beside the release stands how many of its rows have each value. That tells nothing of whose a row is. It"
            " does tell how many rows behind a coarser label have a value, which may be few. With counts of another"
            " release of the same people they can be subtracted: publish them once.",
        )
    as_they_are = spec.of_role("sensitive", "insensitive")
    unlisted = ["columns without a role"] if spec.data.unlisted == "publish" else []
    if as_they_are or unlisted:
        named = " and ".join([*([joined(as_they_are)] if as_they_are else []), *unlisted])
        yield Claim(
            "Columns that are published as they are",
            f"That is {named}. Whoever knows such a value of a person can look for it: within a {classes} it may single"
            " out one row. What others could know belongs among the quasi-identifiers.",
        )
    yield Claim(
        "Other releases",
        "Every promise is about this release alone. Two releases about the same people can be combined.",
    )
    yield Claim("Presence", "Nothing hides that somebody is in the table at all.")
    if spec.data.entity is None:
        yield Claim(
            "Several rows of one person",
            f"Rows are counted, not people. If somebody has five rows, a {classes} of five rows may be one person.",
        )
    elif spec.data.composite:
        yield Claim(
            "Rows that stay together",
            "Whoever recognizes one row of a person by something that is published as it is, has all of them. The more"
            " columns there are besides quasi-identifiers, and the more rows, the likelier is that.",
        )
    else:
        yield Claim(
            "Who has many rows",
            "Of a class with the rows of k people, most may be one person's; a row taken at random is then likely to be"
            " theirs. And whoever knows several rows of a person knows several classes that they are in.",
        )
    yield Claim(
        "The whole population",
        "What the release teaches about people of a kind holds for those of them who are not in it, too.",
    )


def _about_baskets(spec: Spec, m: int) -> Iterator[Claim]:
    """Yield what k^m-anonymity leaves open."""
    yield Claim(
        "Knowing more of a basket",
        f"Nothing is promised against whoever knows {m + 1} items of a basket or more, how many items it has, or what"
        " is not in it.",
    )
    yield Claim(
        "What the baskets that fit have in common",
        f"If all {spec.privacy.k} baskets that fit share a further item, whoever knows that somebody's is among them"
        " learns that item.",
    )
    if spec.of_role("quasi"):
        yield Claim(
            "Quasi-identifiers and items together",
            "The two promises stand side by side. Whoever knows the quasi-identifiers of a person and an item of the"
            " basket may find a single row: within a class, baskets differ.",
        )
    name = spec.item_column
    if isinstance(spec.attributes[name].hierarchy, FanoutHierarchy):
        yield Claim(
            "An artificial tree",
            f"The tree of “{name}” was made from its items. Its labels name some of these, and put items together that"
            " need not mean anything alike.",
        )


UNCOUNTED = (
    "Whether there are such classes was not counted for this page; the attack “homogeneity” (--attack homogeneity)"
    " tells how often a value can be guessed from its class."
)


def _about_values(spec: Spec, uniform: Mapping[str, Uniformity]) -> Iterator[Claim]:
    """Yield what the promise leaves open about sensitive values."""
    privacy, sensitive = spec.privacy, spec.of_role("sensitive")
    watched = {*sensitive} if privacy.p is not None else {*_diverse(spec), *_close(spec)}
    bare = [name for name in sensitive if name not in watched]
    if bare:
        found = [uniform[name] for name in bare if name in uniform and uniform[name].classes]
        where = [f"“{each.name}” in {some(each.classes, 'class')} with {some(each.rows, 'row')}" for each in found]
        counted = all(name in uniform for name in bare)  # of what was not counted, nothing is known
        here = "There is no such class here." if counted else UNCOUNTED
        here = f"That is so of {'; of '.join(where)}." if where else here
        yield Claim(
            "Sensitive values that are not protected",
            f"Neither l, p nor t was asked for {joined(bare)}. If all rows of a class have the same value, whoever"
            f" knows that a person is in it knows the value. {here}",
        )
    if watched:
        yield Claim(
            "Background knowledge",
            "l, p and t guard against a number of excluded values or against a distance, not against what a doctor or a"
            " relative happens to know. Values that differ in spelling only, or mean nearly the same, count as"
            " different.",
        )
    if (privacy.l is not None or privacy.p is not None) and privacy.t is None:
        yield Claim(
            "Skewness",
            "A rare value can be far more likely in one class than in the whole. Only t-closeness limits that.",
        )


def _diverse(spec: Spec) -> list[str]:
    """Return the attributes that l-diversity was asked for."""
    return list(dict.fromkeys(part.attribute for part in spec.diversities()))


def _close(spec: Spec) -> list[str]:
    """Return the attributes that t-closeness was asked for."""
    return list(dict.fromkeys(part.attribute for part in spec.closenesses()))
