"""What requests may hold: checked before anything is done, and described by OpenAPI."""

from typing import Any

from pydantic import BaseModel, Field

from ringfence.spec.attributes import Role
from ringfence.studio.shelf import SAMPLES


class Change(BaseModel):
    """Tables of the specification that take the place of those there are; of attributes each by itself, null removes
    one."""

    tables: dict[str, dict[str, Any] | None] = Field(
        examples=[{"attributes": {"age": {"role": "sensitive"}}, "privacy": {"k": 10}}]
    )
    what: str = Field(default="changed", max_length=200, description="what was done, for the history")


class RoleAsked(BaseModel):
    """A role for a column."""

    column: str
    role: Role


class PeopleAsked(BaseModel):
    """The column that says whose a row is; none where each row is somebody else's."""

    column: str | None = None


class Sample(BaseModel):
    """Which sample data to open."""

    sample: str = Field(examples=list(SAMPLES))


class FrontAsked(BaseModel):
    """Which front to find: of a loss, with so many rows that may be suppressed, over a scheme."""

    metric: str = "glm"
    suppression: float = Field(default=0.05, ge=0, le=1)
    scheme: str = "level"
    secrets: bool = Field(default=False, description="keep l, p and t, too; then nothing may be suppressed")
    seconds: float | None = Field(default=None, gt=0, description="at most so long; the best so far is then shown")


class Chosen(BaseModel):
    """A point of the front."""

    k: int = Field(ge=1)
    scheme: str = "level"


class RunAsked(BaseModel):
    """How to make a release: which attacks to carry out on it, and what to call it."""

    attacks: list[str] = []
    name: str | None = Field(default=None, max_length=100)


class CompareAsked(BaseModel):
    """How long to compare."""

    budget: float = Field(default=30, gt=0, le=3600, description="seconds for all candidates together")
    methods: list[str] | None = Field(
        default=None, min_length=1, description="names of methods to try; all that apply if not given"
    )


class AskedCandidate(BaseModel):
    """A candidate of a comparison."""

    name: str


class AskedAttacks(BaseModel):
    """Which attacks to carry out."""

    attacks: list[str] = []
