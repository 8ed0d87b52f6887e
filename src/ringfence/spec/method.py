"""The tables `method`, `purpose` and `frontier`: how a release is found, what it is for, which k are tried."""

from typing import Annotated, Literal, Self, TypeAlias

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from ringfence.declared import METHODS, METRICS, MethodTraits, Scheme, Wanted
from ringfence.spec.attributes import Labels
from ringfence.spec.checking import Count, OneOf, Positive, Share, SpecTable, either, is_count

MethodName: TypeAlias = Annotated[str, OneOf(lambda: METHODS)]
MetricName: TypeAlias = Annotated[str, OneOf(lambda: METRICS)]
Technique: TypeAlias = Literal["pruning", "useless", "useful", "seeding", "requeueing", "best_first", "rearranging"]
Search: TypeAlias = Annotated[str, OneOf(lambda: (each for method in METHODS.values() for each in method.searches))]


class MethodTable(SpecTable):
    """How to find the release, and what counts as a loss."""

    name: MethodName = "optimal"
    scheme: Scheme = "level"
    search: Search = "auto"
    techniques: list[Technique] | None = None
    specialize: bool = True
    metric: MetricName = "glm"
    suppression: Share | None = None
    keep_suppressed: bool = False
    levels: dict[str, Annotated[int, Field(ge=0)]] | None = None
    target: str | None = None
    partition: Literal["whole", "lexicographic", "hilbert", "mondrian", "cluster", "local"] | None = None
    order: Literal["nearest", "gray", "lexicographic", "hilbert"] = "nearest"
    max_ring: Count | None = None
    uncut: bool = False
    draw: Literal["walks", "paper"] = "walks"
    homogeneous: bool = False
    paper_diversity: bool = False
    representation: Wanted | None = None
    labels: Labels = "tight"
    effort: Literal["fast", "good", "best"] = "good"
    bound: Literal["row", "dual"] = "row"
    relaxed: bool = False
    ties: Literal["best", "paper"] = "best"
    max_group: Count = 50_000
    shards: Count | None = None
    time_limit: Positive | None = None
    seed: int | None = None

    @property
    def traits(self) -> MethodTraits:
        """What is declared of the method."""
        return METHODS[self.name]

    @property
    def suppression_limit(self) -> float:
        """The share of rows that may be dropped: as given, else the method's own."""
        return self.traits.suppression if self.suppression is None else self.suppression

    @property
    def minimized(self) -> str:
        """The loss that is kept small: methods that decide on groups of rows have one of their own."""
        return self.traits.minimized(self.metric)

    @property
    def fixed_seed(self) -> int:
        """The seed of what is random in a search: as given, else always the same."""
        return (self.seed or 0) % 2**64

    @property
    def parted(self) -> str:
        """Into which groups rows are parted before rings are made of them: as given, else as `homogeneous` needs it."""
        return self.partition or ("lexicographic" if self.homogeneous else "whole")

    @model_validator(mode="after")
    def _levels_for_levels(self) -> Self:
        if ("levels" in self.traits.options) != (self.levels is not None):
            raise PydanticCustomError(
                "levels", "the key 'levels' belongs to name = 'levels', which cannot do without it"
            )
        return self


MOST_COUNTED_TOGETHER = 3
"""Attributes of a table that users are said to make: with more, nearly every row has a cell of its own."""


class Purpose(SpecTable):
    """What the release is for: what it is judged by in reports, and where methods are compared."""

    counts: Annotated[list[list[str]], Field(min_length=1)] | None = None
    predict: Annotated[list[str], Field(min_length=1)] | None = None
    describe: Annotated[str, Field(min_length=1)] | None = None

    @model_validator(mode="after")
    def _tables_of_few(self) -> Self:
        for names in self.counts or []:
            if not 1 <= len({*names}) == len(names) <= MOST_COUNTED_TOGETHER:
                raise PydanticCustomError(
                    "counts",
                    "'counts' has {names}; allowed: lists of one to three different attributes",
                    {"names": repr(names)},
                )
        if self.predict is not None and len({*self.predict}) < len(self.predict):
            raise PydanticCustomError("predict", "'predict' names an attribute twice")
        return self


class FrontierTable(SpecTable):
    """How to find the whole front of k and loss."""

    algorithm: Literal["exact", "poka"] = "exact"
    k: Annotated[list[Count], Field(min_length=1)] | None = None
    points: Literal["release", "nodes"] = "release"
    depth: Annotated[
        Literal["average"] | Count,
        either('"average" or a whole number from 1 on', lambda value: value == "average" or is_count(value)),
    ] = "average"
    careful: bool = False
