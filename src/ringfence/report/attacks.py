"""Attacks for people: what each does in plain words, and how often it succeeds, in a picture and in a table."""

from collections.abc import Sequence

from markupsafe import Markup

from ringfence.audit.verdict import Attack, Verdict, some
from ringfence.report import vega
from ringfence.report.page import inline, template
from ringfence.report.style import ACCENT, INK, RELEASE, finish, named, shown
from ringfence.report.subject import Section
from ringfence.report.vega import Chart, Layer, Options, layered

CHART_WIDTH = 720
MOST_LETTERS = 52
AXIS = [
    "how often the guess is right",
    "bar: of all; ring: at worst; brown: promised at most; grey: without the release",
]
BASELINE = "#838d98"  # the grey of the original, dark enough for a thin line

WORDS = {
    "linkage": (
        "Finding a row",
        "Someone knows what a person's columns say, looks up the rows that fit, and picks one of them. Of each number"
        " of columns, the choice that tells most is shown.",
    ),
    "homogeneity": (
        "Reading a value",
        "He looks up the rows that fit a person, and takes that person to have the value that most of them have.",
    ),
    "background": (
        "Ruling values out",
        "He does the same, but knows of some values seen there that they are not this person's.",
    ),
    "minimality": (
        "Reasoning about the method",
        "He knows that rows are only put together where they must be. So where they were, some of them would have"
        " shared too few values, and he works out which.",
    ),
    "corruption": (
        "Knowing other people's rows",
        "He already knows which rows are those of some others near the person, and so has fewer to pick from.",
    ),
    "items": (
        "Knowing part of a basket",
        "He knows some things that were in a person's basket, looks up the baskets that have them, and picks one.",
    ),
    "intersection": (
        "Comparing two releases",
        "He looks a person up in two releases of the same table, and keeps the values that both show.",
    ),
}
"""Each attack by its name: a title, and what the adversary does."""


def attack_section(verdict: Verdict) -> Section | None:
    """Show the attacks that were carried out; None where none were."""
    if not verdict.attacks and verdict.refinement is None:
        return None
    title, charts = "", {}
    if verdict.attacks:
        title = headline(verdict.attacks)
        charts["attacks"] = draw_attacks(verdict.attacks, title)
    groups = [
        (*WORDS[name], [attack for attack in verdict.attacks if attack.name == name])
        for name in dict.fromkeys(attack.name for attack in verdict.attacks)
    ]
    html = template("attacks").render(
        title=title,
        svg=inline(charts["attacks"], title) if charts else None,
        groups=groups,
        refinement=verdict.refinement,
    )
    return Section(Markup(html), charts)


def headline(attacks: Sequence[Attack]) -> str:
    """Say whether attacks keep to what was promised, and whether some that nothing was promised of are certain.

    >>> found = Attack("linkage", "knowing 'age'", 0.1, 0.2, 0.25, 0.01)
    >>> headline([found])
    'Where the promise sets a limit, no attack goes beyond it'
    >>> headline([found, Attack("homogeneity", "the commonest 'pay'", 0.5, 1.0, None, 0.3)])
    'Where the promise sets a limit, no attack goes beyond it; where it sets none, some are found out for certain'
    """
    limited = [attack for attack in attacks if attack.within is not None]
    beyond = [attack for attack in limited if not attack.within]
    certain = any(attack.within is None and attack.worst > 1 - 1e-9 for attack in attacks)
    said = ["Where the promise sets a limit, no attack goes beyond it"]
    if beyond:
        said = [
            f"{some(len(beyond), 'attack')} of {len(limited)} go{'es' * (len(beyond) == 1)} beyond what was promised"
        ]
    elif not limited:
        said = ["The promise sets no limit to these attacks"]
    if certain:
        said.append(f"{'where it sets none, ' * bool(limited)}some are found out for certain")
    return "; ".join(said)


def draw_attacks(attacks: Sequence[Attack], title: str) -> Chart:
    """Draw how often each attack is right, with what the promise allows, the worst case and the guess without."""
    rows = [
        {
            "name": shown(attack.how, MOST_LETTERS),
            "place": place,
            "success": attack.success,
            "worst": attack.worst,
            "baseline": attack.baseline,
            "promised": attack.promised,
        }
        for place, attack in enumerate(attacks)
    ]
    base, y = Layer(rows), named(rows, CHART_WIDTH // 2)
    axis = vega.options(format="~%", tickCount=5, title=AXIS)

    def at(field: str) -> Options:
        return vega.shows(f"{field}:Q", scale=vega.options(domain=[0, 1]), axis=axis)

    limited = Layer([row for row in rows if row["promised"] is not None])
    return finish(
        layered(
            base.mark("bar", color=RELEASE, height={"band": 0.5}).encode(x=at("success"), y=y),
            base.mark("tick", color=BASELINE, opacity=1, thickness=3, height={"band": 0.5}).encode(
                x=at("baseline"), y=y
            ),
            base.mark("point", color=INK, opacity=1, size=60, filled=False, strokeWidth=2).encode(x=at("worst"), y=y),
            limited.mark("tick", color=ACCENT, opacity=1, thickness=3, height={"band": 0.95}).encode(
                x=at("promised"), y=y
            ),
            width=CHART_WIDTH,
            height=vega.step(26),
            fit=True,
        ),
        title,
    )
