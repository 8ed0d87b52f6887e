"""Charts in the words of Vega-Lite (https://vega.github.io/vega-lite), as plain dictionaries.

A chart is rows, a mark and what channels of the mark show: `Layer(rows).mark("bar", color="red").encode(x="share:Q")`.
What is said here is what Vega-Lite reads; nothing checks it but the pictures.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ringfence.report.artist import drawn

Chart: TypeAlias = dict[str, Any]
"""A whole chart, as Vega-Lite reads it."""
Options: TypeAlias = dict[str, Any]
Rows: TypeAlias = Sequence[Mapping[str, Any]]

TYPES = {"Q": "quantitative", "O": "ordinal", "N": "nominal", "T": "temporal"}


def shows(short: str, **more: Any) -> Options:
    """Return a channel that shows a field of the rows.

    >>> shows("share:Q", axis=None)
    {'field': 'share', 'type': 'quantitative', 'axis': None}
    """
    name, kind = short.split(":")
    return {"field": name, "type": TYPES[kind], **more}


def ends(name: str) -> Options:
    """Return a channel that lets marks end at a field of the rows."""
    return {"field": name}


def pixel(place: float) -> Options:
    """Return a channel that puts all marks, or their ends, at one place from the left or from the top."""
    return {"value": place}


def options(**more: Any) -> Options:
    """Return the options of an axis, a scale or a legend."""
    return more


def step(pixels: int) -> Options:
    """Return the height of a chart that has so many pixels for each of its names."""
    return {"step": pixels}


@dataclass(frozen=True)
class Layer:
    """Rows, the mark that is drawn for each, how it looks, and what its channels show."""

    rows: Rows
    look: Mapping[str, Any] = field(default_factory=dict)
    channels: Mapping[str, Any] = field(default_factory=dict)

    def mark(self, kind: str, **look: Any) -> "Layer":
        """Return the same with another mark."""
        return replace(self, look={"type": kind, **look})

    def encode(self, **channels: Any) -> "Layer":
        """Return the same with more channels; a text is a field."""
        said = {name: shows(shown) if isinstance(shown, str) else shown for name, shown in channels.items()}
        return replace(self, channels={**self.channels, **said})

    @property
    def spec(self) -> Options:
        """The layer as Vega-Lite reads it."""
        rows = [dict(row) for row in self.rows]
        return {"data": {"values": rows}, "mark": dict(self.look), "encoding": dict(self.channels)}


def layered(*layers: Layer, width: int, height: int | Options, fit: bool = False) -> Chart:
    """Lay layers over each other; with `fit`, the width includes the names at the axis."""
    size = {"autosize": {"type": "fit-x", "contains": "padding"}} if fit else {}
    return {"layer": [each.spec for each in layers], "width": width, "height": height, **size}


def below(*charts: Chart, **more: Any) -> Chart:
    """Put charts below each other."""
    return {"vconcat": [*charts], **more}


def beside(*charts: Chart, **more: Any) -> Chart:
    """Put charts beside each other."""
    return {"hconcat": [*charts], **more}


def svg(chart: Chart) -> str:
    """Return a chart as SVG."""
    found = drawn("svg", chart)
    return str(_library().vegalite_to_svg(chart)) if found is None else found.decode()


def png(chart: Chart) -> bytes:
    """Return a chart as PNG, at twice the size on screen."""
    found = drawn("png", chart)
    return bytes(_library().vegalite_to_png(chart, scale=2)) if found is None else found


def html(chart: Chart) -> str:
    """Return a page with a chart, which needs nothing else."""
    return str(_library().vegalite_to_html(chart, bundle=True))


def _library() -> Any:
    """Return what draws charts, loaded when it is needed."""
    import vl_convert

    return vl_convert
