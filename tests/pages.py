"""Parquet files taken apart: every page of every column, unpacked, without asking a reader what is in it."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_ZIGZAG, _LISTS, _STRUCT, _BINARY = (3, 4, 5, 6), (9, 10), 12, 8


def unpacked(path: Path) -> bytes:
    """The bytes of a Parquet file as they stand, and after them its pages as they were before they were packed."""
    content = path.read_bytes()
    parts, metadata = [content], pq.read_metadata(path)
    for group in range(metadata.num_row_groups):
        for number in range(metadata.num_columns):
            column = metadata.row_group(group).column(number)
            place = column.data_page_offset
            if column.has_dictionary_page:
                place = min(place, column.dictionary_page_offset)
            stop = place + column.total_compressed_size
            while place < stop:
                fields, place = _struct(content, place)
                page = content[place : place + fields[3]]
                place += fields[3]
                codec = column.compression.lower()
                parts.append(page if codec == "uncompressed" else pa.decompress(page, fields[2], codec, asbytes=True))
    return b"\n".join(parts)


def _struct(content: bytes, place: int) -> tuple[dict[int, int], int]:
    """The whole numbers among the fields of a struct in Thrift's compact protocol, and where it ends."""
    fields: dict[int, int] = {}
    number = 0
    while content[place]:
        kind, step = content[place] & 15, content[place] >> 4
        place += 1
        if step:
            number += step
        else:
            number, place = _number(content, place)
        value, place = _value(content, place, kind)
        if kind in _ZIGZAG:
            fields[number] = value
    return fields, place + 1


def _value(content: bytes, place: int, kind: int) -> tuple[int, int]:
    if kind in (1, 2):  # truth is in the kind itself
        return kind, place
    if kind in _ZIGZAG:
        return _number(content, place)
    if kind == _BINARY:
        length, place = _varint(content, place)
        return 0, place + length
    if kind == _STRUCT:
        return 0, _struct(content, place)[1]
    assert kind in _LISTS, f"a page's header holds what none should: {kind}"
    size, inner = content[place] >> 4, content[place] & 15
    place += 1
    if size == 15:
        size, place = _varint(content, place)
    for _ in range(size):
        _, place = _value(content, place, inner)
    return 0, place


def _varint(content: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while content[place] & 128:
        value |= (content[place] & 127) << shift
        shift += 7
        place += 1
    return value | content[place] << shift, place + 1


def _number(content: bytes, place: int) -> tuple[int, int]:
    value, place = _varint(content, place)
    return (value >> 1) ^ -(value & 1), place
