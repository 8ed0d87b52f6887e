"""What the tables of docs/papers/ring say, in sentences made from them, so that they say nothing else."""

import csv
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

Tables = Mapping[str, Sequence[Mapping[str, str]]]
FIGURES = [f"figure-{n}" for n in range(9, 16)]


def read_tables(folder: Path) -> Tables:
    """Return the tables of the page."""
    found = {}
    for name in [*FIGURES, "posteriors"]:
        with (folder / f"{name}.csv").open(encoding="utf-8") as file:
            found[name] = list(csv.DictReader(file))
    return found


def with_findings(text: str, tables: Tables) -> str:
    """Return the text of the page with its findings, where it asks for them: `<!-- agrees -->` up to `<!-- end -->`."""
    for name, find in FINDINGS.items():
        shown = "\n".join([f"<!-- {name} -->", *(f"- {line}" for line in find(tables)), "<!-- end -->"])
        opening, end = f"<!-- {name} -->", "<!-- end -->"
        if opening in text:
            before, _, rest = text.partition(opening)
            text = before + shown + rest.partition(end)[2]
    return text


def _over(tables: Tables, figure: str) -> tuple[str, list[dict[str, Mapping[str, str]]]]:
    """Return what a figure varies, and for each of its points the row of each method."""
    rows = tables[figure]
    key = next(key for key in ("rows", "attributes", "k", "l") if len({row.get(key) for row in rows}) > 1)
    points = list(dict.fromkeys(row[key] for row in rows))
    return key, [{row["method"]: row for row in rows if row[key] == point} for point in points]


def _ratios(tables: Tables, figures: Sequence[str], one: str, other: str, what: str = "gcp") -> list[float]:
    """Return how much one method loses for each unit that another does, at every point where the other loses any."""
    points = [point for figure in figures for point in _over(tables, figure)[1]]
    return [float(p[one][what]) / float(p[other][what]) for p in points if float(p[other][what]) > 0]


def _range(values: Sequence[float]) -> str:
    low, high = (f"{value:.2f}" for value in (min(values), max(values)))
    return low if low == high else f"{low} to {high}"


def _where(tables: Tables, figure: str, better: str, worse: str) -> str:
    """Return at which points one method loses less than another, by the figures that the table shows."""
    key, points = _over(tables, figure)
    found = [f"{int(p[better][key]):,}" for p in points if float(p[better]["gcp"]) < float(p[worse]["gcp"])]
    if not found:
        return "nowhere"
    return f"at all {len(points)} points" if len(found) == len(points) else f"at {key} = {', '.join(found)}"


def _share(tables: Tables, figures: Sequence[str], one: str, other: str, what: str = "gcp") -> str:
    return _range(_ratios(tables, figures, one, other, what))


def _agrees(tables: Tables) -> list[str]:
    part, where = partial(_share, tables), partial(_where, tables)
    growth = _over(tables, "figure-12")[1]
    times = {name: float(growth[-1][name]["gcp"]) / float(growth[4][name]["gcp"]) for name in ("NH", "HS")}
    slower = float(growth[-1]["NH"]["seconds"]) / float(growth[-1]["HP"]["seconds"])
    return [
        f"Rings lose no more than the same groups published alike: NH loses {part(FIGURES[:5], 'NH', 'HP')} of what"
        " HP does (Figs. 9 to 13).",
        f"On Adult NH loses less than HS {where('figure-11', 'NH', 'HS')} of Fig. 11 and"
        f" {where('figure-13', 'NH', 'HS')} of Fig. 13:"
        f" {part(['figure-11', 'figure-13'], 'NH', 'HS')} of it.",
        f"Losses grow with k: from k = 10 to 100, {times['NH']:.0f} times for NH and {times['HS']:.0f}"
        " times for HS on Census"
        " (Fig. 12).",
        f"The paper's draw takes most of the time for large k: NH takes {slower:.0f} times as long as HP"
        " at k = 100 (Fig. 12).",
    ]


def _differs(tables: Tables) -> list[str]:
    part, where = partial(_share, tables), partial(_where, tables)
    both, census = ["figure-14", "figure-15"], ["figure-9", "figure-12"]
    mean = _over(tables, "figure-14")[1][0]["NH"]["mean size"]
    return [
        f"HS loses less than NH {where('figure-9', 'HS', 'NH')} of Fig. 9, and"
        f" {where('figure-12', 'HS', 'NH')} in Fig. 12: NH loses {part(census, 'NH', 'HS')} times as much on"
        " Census with three attributes. The paper has NH far below. Our HS cuts its curve where sets lose least; the"
        " paper's took the groups that were cut for ranges, and published them as sets.",
        f"NH takes {part(['figure-9'], 'NH', 'HS', 'seconds')} times as long as HS in Fig. 9; in the paper it is"
        " slightly cheaper. Times here start from counts of tuples, the paper's from rows.",
        "There is no jump of HP at five attributes of Adult (Fig. 11): it depends on which neighbour a"
        " small part is merged"
        " with, which the paper leaves open.",
        f"With l-diversity NH does not beat HS by a large factor: it loses {part(both, 'NH', 'HS')} times as much"
        f" (Figs. 14, 15). HS does not lose about as much as AT, but {part(both, 'HS', 'AT')} of it.",
        f"The mean ring of NH at l = 5 with two attributes has {mean} rows, in the paper 11.2: it"
        " depends on what a huge part"
        " is and how it is split, which the paper leaves open.",
    ]


def _ours(tables: Tables) -> list[str]:
    part, where = partial(_share, tables), partial(_where, tables)
    both = ["figure-14", "figure-15"]
    told = {row["method"]: row["worst posterior"] for row in tables["posteriors"]}
    return [
        f"*ring* loses {part(FIGURES[:5], 'ring', 'NH')} of what NH does (Figs. 9 to 13).",
        f"The sound l-diverse *ring* loses {part(both, 'ring', 'NH')} times what NH does, which is not sound, and"
        f" {part(both, 'ring', 'HS')} times what HS does, which keeps another promise. It loses less than AT"
        f" {where('figure-14', 'ring', 'AT')} of Fig. 14 and {where('figure-15', 'ring', 'AT')} of Fig. 15.",
        f"Of six people with the values a, a, b, b, c, d and l = 2, who knows the method can tell a"
        f" value with {told['HS']}"
        f" under HS and {told['NH']} under NH; AT and *ring* keep to {told['ring']}.",
    ]


FINDINGS: dict[str, Callable[[Tables], list[str]]] = {"agrees": _agrees, "differs": _differs, "ours": _ours}
