"""What is wrong with a specification, in a sentence: key, value, what is allowed."""

import re
from collections.abc import Mapping
from typing import get_args

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ringfence.errors import listed, suggestion
from ringfence.spec.attributes import Role
from ringfence.spec.checking import SpecTable

NEEDED = 'it needs a table for each column, such as [attributes.age] with role = "quasi"'
TABLES = ("dict_type", "model_type", "model_attributes_type", "mapping_type")
"""What pydantic calls it where something else stands in the place of a table."""
KINDS = {
    "string_type": "text in quotes",
    "int_type": "a whole number",
    "bool_type": "true or false",
    "list_type": "a list, in brackets",
}


def sentence(error: ValidationError) -> str:
    """Say in a sentence what is wrong with a specification: key, value, what is allowed.

    The first thing, and how many more there are; but all keys that do not go with the roles of their attributes, since
    who gives many columns another role takes them all out at once.
    """
    details = error.errors(include_url=False)
    told = [detail for detail in details if detail["type"] == details[0]["type"] == "role"] or details[:1]
    more = f" (and {len(details) - len(told)} more)" if len(details) > len(told) else ""
    return "; ".join(map(_clause, told)) + more


def _clause(detail: ErrorDetails) -> str:
    """Say one thing that is wrong. Where pydantic names the member of a union in the path, the path leaves it out."""
    members = re.compile(r"int|float|Diversity|Closeness|constrained-.*|list\[.*|literal\[.*")
    named = 2 if detail["loc"][:1] == ("attributes",) else 0  # a column may be called anything
    path = [part for at, part in enumerate(detail["loc"]) if at < named or not members.fullmatch(str(part))]
    key = ".".join(map(str, path))
    value, kind = detail["input"], detail["type"]
    shown = "" if isinstance(value, Mapping | SpecTable) else f" = {value!r}"
    if kind == "missing":
        allowed = f"; allowed: {listed(get_args(Role))}" if path[-1:] == ["role"] else ""
        return f"{key} is missing" + (f": {NEEDED}" if key == "attributes" else allowed)
    message = detail["msg"].replace("Input should be", "allowed:", 1)
    if kind in TABLES:
        message = "allowed: a TOML table" + {"attributes": f"; {NEEDED}"}.get(key, "")
    elif kind == "string_too_short":
        message = "allowed: text that is not empty"
    elif kind in KINDS:
        message = f"allowed: {KINDS[kind]}"
    names = re.findall(r"""['"]([\w-]+)['"]""", message) if message.startswith("allowed:") else []
    near = suggestion(value, names) if isinstance(value, str) else ""
    return f"{key}{shown}{near}: {message[0].lower()}{message[1:]}".removeprefix(": ")
