"""The page of a release in two tables: people with a bucket, and the sensitive values of each bucket."""

from collections import Counter
from collections.abc import Iterator

from markupsafe import Markup

from ringfence.audit.verdict import some
from ringfence.plans.anatomy import AnatomyPlan
from ringfence.report.claims import Claim
from ringfence.report.page import every_page, template
from ringfence.report.subject import Section, Subject
from ringfence.report.words import joined
from ringfence.spec import Spec


def anatomy_page(subject: Subject) -> Section:
    """Return the page: the verdict, what was asked and done, what is promised, and what is not."""
    plan, spec = subject.decision.plan, subject.spec
    assert isinstance(plan, AnatomyPlan), "this is the page of such plans"
    html = template("anatomy").render(
        **every_page(subject),
        asked=int(spec.diversities()[0].value),
        plan=plan,
        rows=sum(plan.sizes),
        incomplete=subject.incomplete,
        sizes=sorted(Counter(plan.sizes).items()),
        limits=list(_limits(plan, spec)),
    )
    return Section(Markup(html), {})


def _limits(plan: AnatomyPlan, spec: Spec) -> Iterator[Claim]:
    """Yield what two tables do not protect."""
    yield Claim(
        "Identity",
        f"The quasi-identifiers, {joined(spec.of_role('quasi'))}, are published as they are. Whoever knows them finds"
        " the person's row, if it is one of its kind. There is no k.",
    )
    yield Claim(
        "Presence",
        "The table shows who is in it and who is not. Where that is the very thing to hide, as in a table of patients,"
        " do not publish this release.",
    )
    yield Claim(
        "Known rows",
        "The values of a bucket are all different. Whoever knows the values of some of its people rules these out for"
        " the others, and who knows all but one knows that one, too.",
    )
    yield Claim(
        "Background knowledge",
        f"One chance in l is what the tables give. Whoever knows how likely a value of {plan.sensitive} is for people"
        " of an age or a place can do better. Values that mean nearly the same count as different.",
    )
    published = spec.of_role("insensitive")
    unlisted = ["columns without a role"] if spec.data.unlisted == "publish" else []
    if published or unlisted:
        named = " and ".join([*([joined(published)] if published else []), *unlisted])
        yield Claim(
            "Other columns",
            f"That is {named}. They stand beside the person as they are. If one depends on {plan.sensitive}, it gives"
            " the value away.",
        )
    yield Claim(
        "Other releases",
        "The promise is about this release alone. Two releases of the same people have different buckets, and what two"
        f" buckets have in common may be a single value; so publish one, of {some(sum(plan.sizes), 'row')}, once.",
    )
    yield Claim(
        "Several rows of one person",
        "Rows are counted, not people. Whoever has several is less protected.",
    )
