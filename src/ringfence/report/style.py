"""The look that all charts share, how values are put into words on them, and how they become pictures.

Grey is the original and blue the release, everywhere. Fields of the data have fixed names, and columns of the user's
appear as values only: Vega reads dots, brackets and quotes in field names as syntax.
"""

import json
from typing import Any

from ringfence.report import vega
from ringfence.report.vega import Chart, Options, Rows

ORIGINAL, RELEASE, ACCENT, INK, FAINT = "#a3abb5", "#1c5d99", "#a8450f", "#222b35", "#5b6672"
WIDTH = 460
SMALL_WIDTH = 310
LINE_LENGTH = 62  # characters of a title

CONFIG: dict[str, Any] = {
    "aria": False,  # the page says of each chart what it shows; labels on every mark would drown that
    "font": "Arial, Helvetica, sans-serif",
    "background": "white",
    "view": {"stroke": None},
    "title": {"anchor": "start", "fontSize": 14, "fontWeight": "bold", "color": INK, "offset": 12, "frame": "bounds"},
    "axis": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelColor": INK,
        "titleColor": FAINT,
        "gridColor": "#e6e9ed",
        "domainColor": "#b8c0c9",
        "tickColor": "#b8c0c9",
        "labelLimit": 200,
    },
    "text": {"fontSize": 12, "color": INK},
}


def finish(chart: Chart, title: str) -> Chart:
    """Return a chart with its title and the look of all."""
    return {**chart, "title": _wrapped(title), "config": CONFIG}


def named(rows: Rows, widest: int = 200) -> Options:
    """Return an axis of names in the order of `place`: names may repeat once they are shortened, places do not."""
    names = {str(row["place"]): row["name"] for row in rows}
    # Vega reads the dictionary as an expression: JSON is one, with all its quotes and brackets inside of strings.
    look_up = f"({json.dumps(names)})[datum.value]"
    axis = vega.options(title=None, domain=False, ticks=False, labelPadding=8, labelExpr=look_up, labelLimit=widest)
    return vega.shows("place:O", sort=None, axis=axis)


def shown(label: str | None, most: int = 40) -> str:
    """Return a value or label as a chart shows it: shortened, and on one line.

    >>> shown(None), shown("a\\nb"), shown("a long story", 6)
    ('(missing)', 'a b', 'a lon…')
    """
    text = "(missing)" if label is None else " ".join(label.split()) or "(blank)"
    return text if len(text) <= most else text[: most - 1] + "…"


def _wrapped(title: str) -> list[str]:
    lines = [""]
    for word in title.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > LINE_LENGTH:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def as_svg(chart: Chart, *, titled: bool) -> str:
    """Return a chart as SVG; without its title where a page sets that as text."""
    return vega.svg(chart if titled else {key: said for key, said in chart.items() if key != "title"})
