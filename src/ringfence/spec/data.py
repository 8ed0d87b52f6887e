"""Where rows come from and where they go: the tables `data` and `output`."""

import re
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, unquote, urlsplit

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from ringfence.spec.attributes import CellType
from ringfence.spec.checking import Name, SpecTable, Text, either
from ringfence.spec.written import BETWEEN_THOUSANDS


def is_size(value: Any) -> bool:
    """Whether this is a size of memory that an engine can do with: it wants 32 MB to read a text file at all."""
    size = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([KMGT])(i?)B", value) if isinstance(value, str) else None
    if size is None:
        return False
    unit: int = (1024 if size[3] else 1000) ** (1 + "KMGT".index(size[2]))
    return 50e6 <= float(size[1]) * unit <= 1e15


def is_delimiter(value: Any) -> bool:
    """Whether this can stand between the fields of a text file."""
    return isinstance(value, str) and 1 <= len(value.encode(errors="replace")) <= 4 and not {*value} & {*"\r\n\0"}


def is_quote(value: Any) -> bool:
    """Whether this can stand around the fields of a text file."""
    return isinstance(value, str) and len(value) == 1 and value.isascii() and value.isprintable() and value != " "


class Data(SpecTable):
    """Where the rows are and how to read them."""

    source: Name | None = None
    table: Text | None = None
    query: Name | None = None
    sheet: Text | None = None
    types: dict[str, CellType] = {}  # noqa: RUF012  pydantic copies it
    delimiter: Annotated[
        str, either("one to four characters (bytes, in UTF-8), none of them a line break or a zero", is_delimiter)
    ] = ","
    quote: Annotated[str, either("one character of ASCII that is no blank", is_quote)] = '"'
    encoding: Name = "utf-8"
    decimal: Literal[".", ","] = "."
    thousands: Annotated[
        str | None,
        either("'.', ',', an apostrophe, a blank, or a no-break or thin one", lambda value: value in BETWEEN_THOUSANDS),
    ] = None
    unlisted: Literal["error", "drop", "publish"] = "error"
    missing: Literal["value", "suppress", "error"] = "value"
    missing_values: list[Text] = [""]  # noqa: RUF012  pydantic copies it
    entity: str | None = None
    composite: bool = False
    weights: str | None = None
    basket_id: str | None = None
    memory_limit: Annotated[str | None, either("a size from 50MB to 1000TB, such as 4GB or 500 MiB", is_size)] = None

    @model_validator(mode="after")
    def _keys_agree(self) -> Self:
        if self.table is not None and self.query is not None:
            raise PydanticCustomError("query", "table and query both say which rows are meant; leave one of them out")
        if self.quote in self.delimiter:
            raise PydanticCustomError(
                "quote",
                "quote = {quote} is in delimiter = {delimiter}; fields could not be told apart",
                {"quote": repr(self.quote), "delimiter": repr(self.delimiter)},
            )
        if self.thousands == self.decimal:
            raise PydanticCustomError(
                "thousands",
                "thousands = {mark} stands before the decimals too; set decimal to the other of '.' and ','",
                {"mark": repr(self.thousands)},
            )
        return self


class Output(SpecTable):
    """Where a release goes, if not into the files of a folder, and whether counts of values go with it."""

    to: Name | None = None
    table: Name | None = None
    partition_by: list[Name] = []  # noqa: RUF012  pydantic copies it
    counts: bool = False

    @model_validator(mode="after")
    def _keys_go_together(self) -> Self:
        if self.to is not None and not self.is_folder and not re.match("(postgres(ql)?|spark)://", self.to):
            raise PydanticCustomError("output", "to is a folder, or an address with postgresql:// or spark://")
        spark = self.to is not None and self.to.startswith("spark://")
        if spark and bool(urlsplit(self.to or "").path.strip("/")) == (self.table is not None):
            raise PydanticCustomError(
                "output", "name one: a folder in to, as in spark:///data/released, or a table, with to = 'spark://'"
            )
        if not spark and not self.is_folder and (self.to is None) != (self.table is None):
            what = "to" if self.to is None else "table"
            raise PydanticCustomError("output", "to and table go together; {what} is not there", {"what": what})
        if self.is_folder and self.table is not None:
            raise PydanticCustomError("output", "to is a folder, which has no table")
        if len({*self.partition_by}) < len(self.partition_by):
            raise PydanticCustomError("output", "partition_by names a column twice")
        if self.partition_by and not spark and not self.is_folder:
            raise PydanticCustomError("output", "partition_by is for releases that go to a folder, or to spark://")
        return self

    @property
    def is_folder(self) -> bool:
        """Whether a release goes into Parquet files of a folder on this machine."""
        return self.to is not None and "://" not in self.to

    @property
    def address(self) -> str | None:
        """The database or the cluster and the table in it, or a folder; None where a release goes into files."""
        return self.to if self.to is None or self.table is None else f"{self.to}#{quote(self.table)}"


def shown_name(source: str | Path) -> str:
    """Return what a source is called on pages: the last part of its path, without what may be a key.

    >>> shown_name("data/people.csv"), shown_name("https://host/people.csv?key=1"), shown_name("-")
    ('people.csv', 'people.csv', 'standard input')
    """
    name = str(source)
    if name == "-":
        return "standard input"
    if "#" in name and "://" in name:
        return unquote(urlsplit(name).fragment)
    return PurePath(urlsplit(name).path if "://" in name else name).name
