"""Small pieces of HTML for notebooks: everything that comes from data is escaped."""

from collections.abc import Iterable, Sequence
from html import escape


def table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return an HTML table.

    >>> table(["label", "rows"], [("<20", 5)])
    '<table><thead><tr><th>label</th><th>rows</th></tr></thead><tbody><tr><td>&lt;20</td><td>5</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(header)}</th>" for header in headers)
    body = "".join(f"<tr>{''.join(f'<td>{escape(str(cell))}</td>' for cell in row)}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(text: str, *, strong: bool = False) -> str:
    """Return a paragraph of text."""
    return f"<p><strong>{escape(text)}</strong></p>" if strong else f"<p>{escape(text)}</p>"


def folded(title: str, content: str) -> str:
    """Return HTML that is shown when its title is clicked.

    >>> folded("Plan", paragraph("as it is"))
    '<details><summary>Plan</summary><p>as it is</p></details>'
    """
    return f"<details><summary>{escape(title)}</summary>{content}</details>"


def clipped(label: str, most: int = 60) -> str:
    """Return a label, cut off where it is long: a set may have hundreds of values.

    >>> clipped("{Oslo, Bergen, Voss}", 12)
    '{Oslo, Berg…'
    """
    return label if len(label) <= most else label[: most - 1] + "…"


def shortened(words: Sequence[str], shown: int = 5) -> str:
    """Return the first of many words and how many more there are.

    >>> shortened(["a", "b", "c"], 2)
    'a, b and 1 more'
    """
    rest = f" and {len(words) - shown:,} more" if len(words) > shown else ""
    return ", ".join(words[:shown]) + rest
