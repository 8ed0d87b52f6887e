"""Numbers that are written with other marks than a point: `1.234,50` is 1234.5 where a specification says so.

Text is rewritten at the door, so that nothing behind it knows of other marks: where a whole cell is a number with such
marks, it becomes the same number without them. Cells of any other form stay as they are, and so does all that is not
text. A release is written with points.
"""

import re
from functools import partial

import ibis
import pyarrow as pa
import pyarrow.compute as pc

from ringfence.rows.coded import is_coded, is_text, replaced, retold
from ringfence.spec.data import Data


def marked_number(data: Data) -> str | None:
    """Return the form of numbers that have to be rewritten; None where they are written as usual.

    The marks between thousands must stand between all of them, and a mark before decimals needs some: so a date, a
    version or a list of numbers is none.
    """
    point = re.escape(data.decimal)
    decimals = rf"({point}[0-9]+)"
    forms = [] if data.decimal == "." else [rf"[0-9]+{decimals}"]
    if data.thousands is not None:
        forms.append(rf"[0-9]{{1,3}}({re.escape(data.thousands)}[0-9]{{3}})+{decimals}?")
    return rf"^ *[+-]?({'|'.join(forms)}) *$" if forms else None


def plain_number_rows(rows: ibis.Table, data: Data) -> ibis.Table:
    """Return rows that an engine reads, with plain numbers in the place of those that have other marks."""
    form = marked_number(data)
    names = [name for name, kind in rows.schema().items() if kind.is_string()]
    if form is None or not names:
        return rows
    plain = []
    for name in names:
        bare = rows[name] if data.thousands is None else rows[name].replace(data.thousands, "")
        plain.append(rows[name].re_search(form).ifelse(bare.replace(data.decimal, "."), rows[name]).name(name))
    return rows.mutate(plain)


def plain_number_table(table: pa.Table, data: Data) -> pa.Table:
    """Return a table with plain numbers in the place of texts that are numbers with other marks.

    >>> given = pa.table({"pay": ["1.234,50", "-7,5", "31.12.2024", None]})
    >>> plain_number_table(given, Data(decimal=",", thousands="."))["pay"].to_pylist()
    ['1234.50', '-7.5', '31.12.2024', None]
    """
    form = marked_number(data)
    if form is None:
        return table
    texts = [place for place, kind in enumerate(table.schema.types) if is_text(kind) or is_coded(kind)]
    return replaced(
        table, {place: retold(table.column(place), partial(_plain, form=form, data=data)) for place in texts}
    )


def _plain(given: pa.Array, form: str, data: Data) -> pa.Array:
    bare = given if data.thousands is None else pc.replace_substring(given, data.thousands, "")
    plain = pc.replace_substring(bare, data.decimal, ".")
    return pc.if_else(pc.match_substring_regex(given, form), plain, given)
