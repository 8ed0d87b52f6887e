"""The table `privacy`: what is promised."""

from dataclasses import dataclass
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ringfence.spec.checking import (
    Count,
    Name,
    Number,
    Positive,
    Share,
    SpecTable,
    are_tables,
    either,
    is_count,
    is_positive,
    is_share,
)


class AboutAttribute(SpecTable):
    """A condition on the values of the sensitive attribute `of`, which may be left out where there is but one."""

    @property
    def attribute(self) -> str:
        """The attribute that it is about; `Spec` knows which where it was left out, and says so in what it returns."""
        of = getattr(self, "of", None)  # a field of each kind, in its place among the others
        assert isinstance(of, str), "only the specification knows of which attribute"
        return of


class Diversity(AboutAttribute):
    """At least so many well-represented sensitive values in each class."""

    value: Annotated[Number, Field(ge=1)]
    kind: Literal["distinct", "entropy", "recursive"] = "distinct"
    of: Name | None = None
    c: Positive | None = None

    @model_validator(mode="after")
    def _c_with_recursive(self) -> Self:
        if (self.c is not None) != (self.kind == "recursive"):
            raise PydanticCustomError("c", "the key 'c' belongs to kind = 'recursive', which cannot do without it")
        if self.kind != "entropy" and self.value != int(self.value):
            raise PydanticCustomError("value", "'value' must be a whole number unless kind = 'entropy'")
        return self


class Closeness(AboutAttribute):
    """The sensitive values of each class distributed nearly as in the whole release."""

    value: Share
    of: Name | None = None
    distance: Literal["equal", "ordered", "hierarchical"] = "equal"


class Bound(AboutAttribute):
    """A limit on what a class may give away about a sensitive attribute."""

    value: Positive
    of: Name | None = None


class ShareBound(Bound):
    """A limit that is a share of a class."""

    value: Annotated[Number, Field(gt=0, le=1)]


class Likeness(Bound):
    """How much more frequent a sensitive value may be in a class than in the whole release, in shares of the latter."""

    kind: Literal["basic", "enhanced"] = "basic"


class Presence(SpecTable):
    """How likely it may be, at least and at most, that someone of the population is in the release."""

    low: Share = 0
    high: Share

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.low > self.high:
            raise PydanticCustomError("low", "low = {low} is above high = {high}", {"low": self.low, "high": self.high})
        return self


@dataclass(frozen=True)
class ModelTraits:
    """What is declared of a privacy model beside its key: a line for people, and whether methods can promise it.

    What is not promised by any method, the audit judges all the same.
    """

    line: str
    promised: bool = True


class Privacy(SpecTable):
    """The promise: a key for each model."""

    k: Annotated[
        Count | None,
        ModelTraits(
            "k-anonymity: each combination of published quasi-identifiers is shared by at least k rows; with"
            " data.entity, by k people"
        ),
    ] = None
    l: Annotated[  # noqa: E741  the literature's name
        Count | Diversity | list[Diversity] | None,
        either(
            "a whole number from 1 on, a table with value, kind, of and c, or a list of such tables",
            lambda value: is_count(value) or are_tables(value),
            Diversity,
        ),
        ModelTraits(
            "l-diversity: l different sensitive values in each class, or as varied as that (entropy, recursive)"
        ),
    ] = None
    p: Annotated[
        Count | None,
        ModelTraits("p-sensitivity: at least p different values of every sensitive attribute in each class"),
    ] = None
    t: Annotated[
        Share | Closeness | list[Closeness] | None,
        either(
            "a number from 0 to 1, a table with value, of and distance, or a list of such tables",
            lambda value: is_share(value) or are_tables(value),
            Closeness,
        ),
        ModelTraits(
            "t-closeness: sensitive values distributed in each class as in the release, within t (equal, ordered,"
            " hierarchical distance)"
        ),
    ] = None
    m: Annotated[
        Count | None,
        ModelTraits(
            "k^m-anonymity, with k: each combination of 1 to m published items is in at least k baskets, or in none"
        ),
    ] = None
    alpha: Annotated[
        Positive | ShareBound | None,
        either(
            "a number above 0, up to 1, or a table with value and of",
            lambda value: is_positive(value) and value <= 1,
            ShareBound,
        ),
        ModelTraits("(alpha, k)-anonymity: no sensitive value has more than this share of a class", promised=False),
    ] = None
    beta: Annotated[
        Positive | Likeness | None,
        either("a number above 0, or a table with value, of and kind", is_positive, Likeness),
        ModelTraits(
            "beta-likeness: no value is much more frequent in a class than in the release (basic, enhanced)",
            promised=False,
        ),
    ] = None
    delta: Annotated[
        Positive | Bound | None,
        either("a number above 0, or a table with value and of", is_positive, Bound),
        ModelTraits(
            "delta-disclosure privacy: the logarithm of that ratio stays below delta, both ways", promised=False
        ),
    ] = None
    k_map: Annotated[
        Count | None,
        ModelTraits("k-map: each class fits at least so many people of a population (--population)", promised=False),
    ] = None
    presence: Annotated[
        Presence | None,
        ModelTraits(
            "delta-presence: how likely someone of the population is in the release, at least and at most",
            promised=False,
        ),
    ] = None


MODELS: dict[str, ModelTraits] = {
    key: part for key, field in Privacy.model_fields.items() for part in field.metadata if isinstance(part, ModelTraits)
}
"""The privacy models by their keys."""
