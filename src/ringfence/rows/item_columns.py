"""Columns of items: text with a separator, lists, and the lines of a basket file (FIMI, SPMF)."""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.errors import DataError, SpecError
from ringfence.spec.data import Data

ITEMS = "items"
"""The only column of a basket file."""

SPMF_END = re.compile(r"(^|\s)-2\s*$")


def read_baskets(path: Path, data: Data, shown: str) -> pa.Table:
    """Read one basket a line, items between blanks: a table with one column of lists. An empty line is an empty basket.

    In SPMF's form -1 stands after each item (or group of items) and -2 ends the line; lines that begin with @, # or %
    say something else.
    """
    lines = basket_lines(path, data.encoding, shown)
    if is_spmf(lines):
        lines = [line for line in lines if line[:1] not in ("@", "#", "%")]
        lines = [re.sub(r"(?<!\S)-[12](?!\S)", " ", line) for line in lines]
    lists = pc.utf8_split_whitespace(pc.utf8_trim_whitespace(pa.array(lines, pa.string())))
    return pa.table({ITEMS: item_lists(pa.chunked_array([lists]), None, ITEMS)})


def basket_lines(path: Path, encoding: str, shown: str) -> list[str]:
    """Return the lines of a basket file as they stand."""
    try:
        text = path.read_text(encoding=encoding).removeprefix("\ufeff")
    except (UnicodeError, LookupError) as error:
        raise DataError(f"cannot read {shown} as {encoding}: {error}; set data.encoding") from None
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]  # the last line ends like the others, or does not


def is_spmf(lines: Iterable[str]) -> bool:
    """Whether lines of a basket file end as SPMF's do.

    >>> is_spmf(["@CONVERTED_FROM_TEXT", "1 -1 2 -1 -2"]), is_spmf(["1 2", "3"])
    (True, False)
    """
    told = (line for line in lines if line.strip() and not line.startswith(("@", "#", "%")))
    return SPMF_END.search(next(told, "")) is not None


def file_is_spmf(path: Path, encoding: str) -> bool:
    """Whether a basket file, known to be readable, is in SPMF's form."""
    with path.open(encoding=encoding) as lines:
        return is_spmf(lines)


def item_lists(column: pa.ChunkedArray, separator: str | None, name: str) -> pa.ListArray:
    """Return the items of each basket as lists: text is split at the separator, blanks around items are cut off.

    A missing basket is an empty one, and neither a missing item nor an empty text is an item.
    """
    flat = column.combine_chunks()
    if pa.types.is_dictionary(flat.type):
        flat = flat.cast(flat.type.value_type)
    if pa.types.is_null(flat.type):
        flat = flat.cast(pa.list_(pa.string()))
    if pa.types.is_string(flat.type) or pa.types.is_large_string(flat.type):
        if separator is None:
            raise SpecError(
                f"column {name!r} holds text; attributes.{name}.separator must say what stands between items"
            )
        flat = pc.split_pattern(flat.cast(pa.string()), separator)
    elif not (pa.types.is_list(flat.type) or pa.types.is_large_list(flat.type)):
        raise DataError(
            f"column {name!r} holds {flat.type}, which are no baskets; allowed: text with a separator, lists,"
            " or one item a row with data.basket_id"
        )
    owners = pc.list_parent_indices(flat).to_numpy()
    items = pc.list_flatten(flat)
    if pa.types.is_dictionary(items.type):
        items = items.cast(items.type.value_type)
    if pa.types.is_nested(items.type):
        raise DataError(f"column {name!r} holds {flat.type}; allowed: lists of text, numbers or dates")
    items, there = _present(items)
    offsets = np.searchsorted(owners[there], np.arange(len(flat) + 1))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)


def _present(items: pa.Array) -> tuple[pa.Array, "np.typing.NDArray[np.bool_]"]:
    """Return the items that are any, text without blanks around it, and which they are."""
    if pa.types.is_string(items.type) or pa.types.is_large_string(items.type):
        items = pc.utf8_trim_whitespace(items)
        kept = pc.fill_null(pc.greater(pc.utf8_length(items), 0), False)
    else:
        kept = pc.invert(pc.is_null(items, nan_is_null=True))
    return items.filter(kept), kept.to_numpy(zero_copy_only=False)
