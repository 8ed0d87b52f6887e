"""How the tables of a specification are checked: nothing is coerced, and errors say what is allowed."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Context
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.functional_validators import AfterValidator, BeforeValidator
from pydantic_core import CoreSchema, PydanticCustomError
from pydantic_core.core_schema import no_info_plain_validator_function

from ringfence.errors import listed, suggestion

EXACT = Context(prec=400)
"""Enough digits for sums and quotients of any numbers that a specification or a column may hold."""


class SpecTable(BaseModel):
    """A table of the specification: nothing is coerced, and an unknown key is an error that names the nearest one."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, validate_by_alias=True, validate_by_name=False)

    @model_validator(mode="before")
    @classmethod
    def _known_keys(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            known = [field.alias or name for name, field in cls.model_fields.items()]
            for key in value:
                if key not in known:
                    near = suggestion(str(key), known)
                    raise PydanticCustomError(
                        "unknown_key",
                        "unknown key {key}{near}; allowed: {allowed}",
                        {"key": repr(str(key)), "near": near, "allowed": listed(known)},
                    )
        return value


def either(allowed: str, is_scalar: Callable[[Any], bool], table: type[SpecTable] | None = None) -> BeforeValidator:
    """Return a check of a key that takes several kinds of value: so that an error speaks of the kind that was meant."""

    def check(value: Any) -> Any:
        if table is not None and isinstance(value, Mapping):
            return table.model_validate(value)
        if table is not None and are_tables(value):
            return [table.model_validate(item) for item in value]
        if value is None or isinstance(value, SpecTable) or is_scalar(value):
            return value
        raise PydanticCustomError("allowed", "allowed: {allowed}", {"allowed": allowed})

    return BeforeValidator(check)


@dataclass(frozen=True)
class OneOf:
    """Check a key against names that are declared elsewhere, and may become more."""

    names: Callable[[], Iterable[str]]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Check that a value is one of the names, in the words that are used of fixed ones."""

        def check(value: Any) -> str:
            names = list(dict.fromkeys(self.names()))
            if isinstance(value, str) and value in names:
                return value
            *most, last = map(repr, names)
            raise PydanticCustomError("allowed", "allowed: {names}", {"names": f"{', '.join(most)} or {last}"})

        return no_info_plain_validator_function(check)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Say what is declared by now."""
        return {"type": "string", "enum": list(dict.fromkeys(self.names()))}


def is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 1


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def is_positive(value: Any) -> bool:
    return is_number(value) and value > 0


def is_share(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def are_labels(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value) and len({*value}) == len(value) > 0


def are_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, Mapping | SpecTable) for item in value) and len(value) > 0


def _without_zero(value: str) -> str:
    if "\0" in value:
        raise PydanticCustomError("allowed", "allowed: text without a zero byte")
    return value


Number: TypeAlias = Annotated[int | float, either("a number", is_number)]
Positive: TypeAlias = Annotated[Number, Field(gt=0)]
Share: TypeAlias = Annotated[Number, Field(ge=0, le=1)]
Count: TypeAlias = Annotated[int, Field(ge=1)]
Text: TypeAlias = Annotated[str, AfterValidator(_without_zero)]
"""What no system takes for the end of a text before its end."""
Name: TypeAlias = Annotated[str, Field(min_length=1), AfterValidator(_without_zero)]
