"""The picture of an item plan: the item tree as an outline, down to the labels that are published.

Of a tree of thousands of items only the generalized part is drawn: the groups that lose most, and what leads to them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ringfence.markup import shortened
from ringfence.report import vega
from ringfence.report.item_evidence import ItemEvidence, LabelGroup
from ringfence.report.plots import bars
from ringfence.report.style import FAINT, INK, RELEASE, finish, shown
from ringfence.report.vega import Chart, Layer, layered
from ringfence.report.words import percent

MOST_GROUPS = 24
LINE_HEIGHT = 19
WIDE = 940
INDENT = 18
SAMPLE_AT, ROWS_AT, BAR_AT, BAR = 300, WIDE - 170, WIDE - 150, 90
SHOWN_ITEMS = 5


@dataclass(frozen=True)
class OutlineLine:
    """A line of the outline: a node at some depth of it, and what is said beside it."""

    depth: int
    label: str
    beside: str
    group: LabelGroup | None


def outline(evidence: ItemEvidence) -> list[OutlineLine]:
    """Return the tree down to the groups that lose most; nodes with nothing to tell apart are passed over."""
    return list(_lines(evidence, {group.node: group for group in evidence.groups[:MOST_GROUPS]}))


def _lines(evidence: ItemEvidence, chosen: dict[int, LabelGroup]) -> Iterator[OutlineLine]:
    tree = evidence.tree
    parents = tree.parent[: tree.root]
    leads: set[int] = set()
    for node in chosen:
        while node != tree.root and node not in leads:
            leads.add(node)
            node = int(tree.parent[node])  # noqa: PLW2901  the climb to the root
    leads.add(tree.root)
    stack = [(tree.root, 0)]
    while stack:
        node, depth = stack.pop()
        if node in chosen:
            yield OutlineLine(depth, shown(tree.labels[node], 34), _sample(chosen[node]), chosen[node])
            continue
        children = np.flatnonzero(parents == node).tolist()
        inside = [child for child in children if child in leads]
        beside = _rest(evidence, [child for child in children if child not in leads])
        tells = node == tree.root or beside or len(inside) > 1
        if tells:
            label = "all items" if node == tree.root else shown(tree.labels[node], 34)
            yield OutlineLine(depth, label, beside, None)
        stack += [(child, depth + bool(tells)) for child in reversed(inside)]


def _sample(group: LabelGroup) -> str:
    words = [shown(item, 18) for item in group.items]
    return f"{len(words):,}: {shortened(words, SHOWN_ITEMS)}"


def _rest(evidence: ItemEvidence, nodes: Sequence[int]) -> str:
    """Say what is below some nodes that are not drawn: items as they are, and groups."""
    tree, kept, groups = evidence.tree, 0, 0
    for node in nodes:
        published = np.unique(evidence.nodes[tree.first[node] : tree.stop[node]])
        several = (tree.stop - tree.first)[published] > 1
        kept, groups = kept + int((~several).sum()), groups + int(several.sum())
    found = [f"{kept:,} item{'s' * (kept != 1)} unchanged"] if kept else []
    found += [f"{groups:,} more group{'s' * (groups != 1)}"] if groups else []
    return "besides: " + ", ".join(found) if found else ""


def cut(evidence: ItemEvidence, title: str) -> Chart:
    """Draw the outline: published labels in blue with some of their items, rows and share of the loss."""
    lines = outline(evidence)
    top = max((line.group.share for line in lines if line.group), default=1.0) or 1.0
    texts = [
        _text(-1.2, SAMPLE_AT, "items under it", FAINT),
        _text(-1.2, 0, "item tree, published labels in blue", FAINT),
        _text(-1.2, BAR_AT, "share of the loss", FAINT),
    ]
    numbers, boxes = [_text(-1.2, ROWS_AT, "rows with it", FAINT)], []
    for at, line in enumerate(lines):
        texts.append(_text(at, line.depth * INDENT, line.label, RELEASE if line.group else INK))
        texts.append(_text(at, SAMPLE_AT, line.beside, INK if line.group else FAINT))
        if line.group is not None:
            numbers.append(_text(at, ROWS_AT, f"{line.group.rows:,}", INK))
            width = BAR * line.group.share / top
            boxes.append({"x": BAR_AT, "x2": BAR_AT + width, "y": at - 0.3, "y2": at + 0.3})
            texts.append(_text(at, BAR_AT + width + 5, percent(line.group.share), FAINT))
    return finish(_drawn(lines, texts, numbers, boxes), title)


def _drawn(
    lines: Sequence[OutlineLine],
    texts: Sequence[dict[str, Any]],
    numbers: Sequence[dict[str, Any]],
    boxes: Sequence[dict[str, float]],
) -> Chart:
    x = vega.shows("x:Q", scale=None, axis=None)
    y = vega.shows(
        "y:Q", scale=vega.options(domain=[-1.7, len(lines) - 0.3], reverse=True, nice=False, zero=False), axis=None
    )
    look = {"text": "text:N", "color": vega.shows("colour:N", scale=None)}
    marks = [
        Layer(_strokes(lines))
        .mark("rule", color="#b8c0c9", strokeWidth=1.1, strokeCap="square")
        .encode(x=x, x2=vega.ends("x2"), y=y, y2=vega.ends("y2")),
        Layer(boxes).mark("rect", color="#9fc3e4").encode(x=x, x2=vega.ends("x2"), y=y, y2=vega.ends("y2")),
        Layer(texts).mark("text", align="left", baseline="middle", limit=400).encode(x=x, y=y, **look),
        Layer(numbers).mark("text", align="right", baseline="middle").encode(x=x, y=y, **look),
    ]
    return layered(*marks, width=WIDE, height=round(LINE_HEIGHT * (len(lines) + 1.4)))


def _strokes(lines: Sequence[OutlineLine]) -> list[dict[str, float]]:
    """Join every line to the one above it that is one step less deep."""
    strokes: list[dict[str, float]] = []
    above: list[int] = []
    for at, line in enumerate(lines):
        above = above[: line.depth]
        if above:
            bend = (line.depth - 1) * INDENT + 5
            strokes.append({"x": bend, "x2": bend, "y": above[-1] + 0.42, "y2": at})
            strokes.append({"x": bend, "x2": line.depth * INDENT - 3, "y": at, "y2": at})
        above.append(at)
    return strokes


def widths(shares: Sequence[tuple[str, float]], title: str) -> Chart:
    """Draw what share of all items of all rows is published as what."""
    rows = [
        {"name": name, "place": place, "share": share, "label": percent(share)}
        for place, (name, share) in enumerate(shares)
    ]
    top = max(share for _, share in shares) or 1.0
    return finish(bars(rows, top, "share of all items of all rows, by what is known of them"), title)


def _text(y: float, x: float, text: str, colour: str) -> dict[str, Any]:
    return {"x": x, "y": y, "text": text, "colour": colour}
