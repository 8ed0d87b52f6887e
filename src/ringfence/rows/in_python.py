"""Values of a column as Python has them."""

from typing import Any

import pyarrow as pa

from ringfence.errors import DataError


def in_python(values: pa.Array, name: str) -> list[Any]:
    """Return values of a column as Python has them; a short float as the number that it is written as: 0.1, not
    0.10000000149.

    Moments and times are compared and written to the microsecond, in years of four digits: others are refused.

    >>> in_python(pa.array([0.1, None], pa.float32()), "size")
    [0.1, None]
    """
    kind = values.type
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        values = values.cast(pa.string()).cast(pa.float64())
    try:
        found: list[Any] = values.cast(_exact(kind)).to_pylist() if pa.types.is_temporal(kind) else values.to_pylist()
    except (pa.ArrowInvalid, OverflowError):
        raise DataError(_said_of_time(values, name)) from None
    return found


def _exact(kind: pa.DataType) -> pa.DataType:
    """Return the type of moments or times to which Python's are exact."""
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", kind.tz)
    return pa.time64("us") if pa.types.is_time64(kind) else kind


def _said_of_time(values: pa.Array, name: str) -> str:
    """Return what to say of the first of the moments or times that Python has not."""
    for value in values:
        try:
            value.cast(_exact(values.type)).as_py()
        except pa.ArrowInvalid as error:
            if "lose data" in str(error):
                return (
                    f"column {name!r} has {value.cast(pa.string())}, which is more exact than microseconds;"
                    " allowed: moments and times to the microsecond, so round them"
                )
        except OverflowError:
            pass
        else:
            continue
        return f"column {name!r} has {_far(value)}; allowed: days and moments of the years 1 to 9999"
    raise AssertionError("all values are those that Python has")


def _far(value: pa.Scalar) -> str:
    """Return a day or a moment that Python has not, as databases write it."""
    endless = 2 ** (value.type.bit_width - 1) - 1
    if abs(value.value) >= endless:
        return "infinity" if value.value > 0 else "-infinity"
    return str(value.cast(pa.string())).removeprefix("<value out of range: ").removesuffix(">")
