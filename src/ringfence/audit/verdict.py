"""What the audit says in the end: findings, and the verdict that holds them."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from ringfence.audit.refinement.found import Refinement
from ringfence.audit.risk import Risk, as_json, shown_risk
from ringfence.errors import shortened
from ringfence.markup import clipped, paragraph, table

SCHEMA = "ringfence audit 1"
"""Names what `Verdict.as_dict` looks like; docs/audit.schema.json says it in full."""

_MERGE = "generalize these rows further, or suppress them"
MENDS = {
    **dict.fromkeys(("k", "l", "p", "t", "alpha", "beta", "delta", "k_map", "presence"), _MERGE),
    "m": "publish the labels of rare combinations under a common, more general one",
    "labels": "publish labels of the hierarchy and scheme, or state the right ones in the specification",
    "loose": "publish labels of the hierarchy or ranges on its grid that tell no value, for three rows or more",
    "boundary": "publish these values no higher than their boundary, suppress their rows, or raise the boundary",
    "recoding": "publish every value under one label, and do not mix releases",
    "repeated": "publish each label once in a basket",
    "form": "write all baskets in the same way: labels in one order, and nothing else",
    "missing": "remove these rows, or set data.missing = 'value'",
    "identifier": "remove these columns",
    "unlisted": "remove these columns, give each a role under [attributes], or set data.unlisted = 'publish'",
    "rows": "publish the rows of the original, each once, and suppress no more than allowed",
    "original": "publish only rows of the original, under labels that hold their values",
    "anatomy": "publish each person in one bucket and each value of a bucket once, and nothing that ties the two",
    "counts": "publish true counts, each of k rows or more, or none",
    "manifest": "publish the file that the manifest speaks of, or run again",
}
"""What mends a finding, by its rule."""


@dataclass(frozen=True)
class Finding:
    """A violation: the rule, a sentence, how many rows it is about, and the labels of one class where it is seen.

    The rules are: k, l, p, t, m (the models), labels (not of the hierarchy or the scheme), loose (labels that tell
    values, where they may not), boundary (generalized past it), recoding (a value under several labels), repeated (a
    label twice in a basket), form (baskets written in several ways), missing (values that may not be missing),
    identifier and unlisted (columns that may not be there), rows (there are none, too many, or too many are
    suppressed), original (rows that cannot be traced back to it), alpha, beta, delta, k_map and presence (more models),
    anatomy (two tables that do not fit together, or tell more than they may), counts (of values beside it: too small,
    or not true), manifest (the file is another one).
    """

    rule: str
    message: str
    rows: int
    example: Mapping[str, str | None]

    def __post_init__(self) -> None:
        object.__setattr__(self, "message", shortened(self.message))

    @property
    def mend(self) -> str:
        """What would mend it."""
        return MENDS[self.rule]

    def __str__(self) -> str:
        return self.message + (f" (for example {_shown(self.example)})" if self.example else "")


@dataclass(frozen=True)
class Example:
    """A class of the release: its published labels (None for missing), how many rows it has, and of how many people
    they are, where that is known."""

    labels: Mapping[str, str | None]
    rows: int
    people: int | None = None

    def __str__(self) -> str:
        whose = "" if self.people is None else f" of {self.people:,} {'person' if self.people == 1 else 'people'}"
        return f"{some(self.rows, 'row')}{whose}: {_shown(self.labels)}"


@dataclass(frozen=True)
class Attack:
    """How often a guess is right: over all targets, and for the one who fares worst.

    `promised` is the most that the promise allows for anyone, None where it says nothing of this attack; `baseline` is
    what a guess without the release would get.
    """

    name: str
    how: str
    success: float
    worst: float
    promised: float | None
    baseline: float

    @property
    def within(self) -> bool | None:
        """Whether nobody fares worse than the promise allows; None where it says nothing."""
        return None if self.promised is None else self.worst <= self.promised + 1e-9

    def __str__(self) -> str:
        promised = "nothing promised" if self.promised is None else f"promised: at most {_percent(self.promised)}"
        return (
            f"{self.how}: right for {_percent(self.success)}, for the one who fares worst {_percent(self.worst)}"
            f" ({promised}; without the release {_percent(self.baseline)})"
            f"{' ABOVE THE PROMISE' if self.within is False else ''}"
        )


def _percent(share: float) -> str:
    """Return a share in percent, to three digits.

    >>> _percent(0.004723), _percent(1 / 6), _percent(1), _percent(0)
    ('0.472 %', '16.7 %', '100 %', '0 %')
    """
    return f"{100 * share:.3g} %"


@dataclass(frozen=True)
class Verdict:
    """Whether a release keeps its promise, what was measured, what is wrong, and its smallest classes.

    `measured` has k (rows of the smallest class), rows, classes, masked (rows with `*` in every
    quasi-identifier) and missing (rows that miss a quasi-identifier); and, if there are rows, l, p and t where the
    specification asks for them. Of several l (or t), each stands under its attribute, "l:illness", and where that is
    not enough its kind too, "l:illness:entropy". l is the fewest distinct values, the least effective number of values
    (the exponential of the entropy), or for recursive diversity the largest l that holds in all classes for the given
    c, 0 if none does. Of baskets, m is the largest size, up to the one asked for, at which every combination of labels
    is in k of them, and k (beside quasi-identifiers "k:" and their attribute) the fewest that hold one; without
    quasi-identifiers there are no classes, masked or missing.

    With the original, `measured` also has its rows ("original"), how many are missing ("suppressed") and the cells past
    boundaries ("past_boundary", "past_boundary_most" where it may be more). Of a release without classes (method
    `ring`), k and l are the largest for which some draw keeps every match at 1/k and every value at 1/l; "matches" are
    the pairs of rows that may be the same, "ineffective" those that only seem so. "after_corruption" is the fewest
    candidates that are left for a row when others are known, "after_corruption_bound" what of it is certain. Of two
    tables (method `anatomy`), there are l, rows and buckets: l is the largest for which no value has more than one in l
    of a bucket's rows; there is no k. Where k counts people (`data.entity`), k are the people of the class that has the
    fewest, where that is not certain from k to "k_most", and only known beside the original; "k_rows" are the rows of
    the smallest class, "largest_share" is the largest share of a class's rows that are one person's. Where a person's
    rows stay together (`data.composite`), k are the people that have the rarest record, of "people" in all. Of counts
    of values beside the release, "least_count" is the smallest.
    """

    ok: bool
    measured: Mapping[str, float | int]
    findings: tuple[Finding, ...]
    smallest: tuple[Example, ...]
    notes: tuple[str, ...] = ()
    """What must be known to read the verdict."""
    risk: Risk | None = None
    """How likely it is that someone is found; None of a release without rows or quasi-identifiers."""
    attacks: tuple[Attack, ...] = ()
    """What attacks that were asked for achieve."""
    refinement: Refinement | None = None
    """What comes out of the labels alone, where that attack was asked for."""
    unjudged: tuple[str, ...] = ()
    """What could not be judged, and what that needs; as long as there is any, the promise is not known to hold."""

    def with_findings(self, findings: Sequence[Finding]) -> "Verdict":
        """Return the verdict with more that is wrong."""
        return replace(self, ok=self.ok and not findings, findings=(*self.findings, *findings))

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON would have it."""
        return {
            "schema": SCHEMA,
            **vars(self),
            "findings": [{**asdict(finding), "mend": finding.mend} for finding in self.findings],
            "smallest": [*map(asdict, self.smallest)],
            "notes": [*self.notes],
            "risk": None if self.risk is None else as_json(self.risk),
            "attacks": [*map(asdict, self.attacks)],
            "refinement": None if self.refinement is None else asdict(self.refinement),
            "unjudged": [*self.unjudged],
        }

    def __str__(self) -> str:
        lines = ["The promise holds." if self.ok else "The promise does not hold."]
        if self.unjudged and not self.findings:
            lines = ["It could not be judged whether the promise holds."]
        lines += [f"Not judged: {what}." for what in self.unjudged]
        lines += [
            f"  {key} = {value:,.6g}" if isinstance(value, float) else f"  {key} = {value:,}"
            for key, value in self.measured.items()
        ]
        if self.findings:
            lines.append("Findings:")
            for finding in self.findings:
                lines += [f"  [{finding.rule}] {finding}", f"    to mend it: {finding.mend}"]
        if self.smallest:
            lines += [
                "Smallest classes:",
                *(f"  {each}" for each in self.smallest),
            ]
        if self.risk is not None:
            lines += ["Risk:", *shown_risk(self.risk)]
        if self.attacks:
            lines += ["Attacks:", *(f"  [{attack.name}] {attack}" for attack in self.attacks)]
        if self.refinement is not None:
            lines += ["What comes out of the labels alone:", *(f"  {part}" for part in self.refinement.sentences)]
        return "\n".join([*lines, *(f"Note: {note}." for note in self.notes)])

    def _repr_html_(self) -> str:
        head = paragraph(str(self).partition("\n")[0], strong=True)
        found = [(finding.rule, f"{finding.rows:,}", finding, finding.mend) for finding in self.findings]
        findings = table(["rule", "rows", "finding", "what would mend it"], found) if found else ""
        tried: list[tuple[str, object]] = [(attack.name, attack) for attack in self.attacks]
        tried += [("refinement", part) for part in self.refinement.sentences] if self.refinement is not None else []
        attacks = table(["attack", "what it achieves"], tried) if tried else ""
        return head + table(["measured", "value"], self.measured.items()) + findings + attacks


def some(count: int, what: str) -> str:
    """Return a number of things in words.

    >>> some(1, "row"), some(2000, "row"), some(2, "class")
    ('1 row', '2,000 rows', '2 classes')
    """
    plural = "es" if what.endswith("s") else "s"
    return f"{count:,} {what}{plural * (count != 1)}"


def _shown(labels: Mapping[str, str | None]) -> str:
    """Return the labels of a class as text."""
    return ", ".join(
        f"{name!r}: {'missing' if label is None else repr(clipped(label))}" for name, label in labels.items()
    )
