"""The section of a report about use: what users of the release are off by, beside the original and a naive guess."""

from collections.abc import Iterator

from markupsafe import Markup

from ringfence.report.page import template
from ringfence.report.words import joined, percent
from ringfence.spec import Spec
from ringfence.yardsticks.measure import Measured, Yardsticks

SIZES = ("at least a tenth of the rows", "a hundredth to a tenth", "a thousandth to a hundredth")


def use_section(use: Measured, spec: Spec) -> Markup:
    """Return the section: a line for each yardstick."""
    html = template("use").render(lines=[*_lines(use, spec)], purpose=spec.purpose, models=use.release.models)
    return Markup(html)


def _lines(use: Measured, spec: Spec) -> Iterator[tuple[str, str, str, str]]:
    """Yield what was measured: of the release, of the original, and of whoever knows each attribute by itself."""

    def line(what: str, of: Yardsticks, naive: Yardsticks, key: str) -> tuple[str, str, str, str]:
        return what, percent(getattr(of, key)), percent(0), percent(getattr(naive, key))

    release, naive = use.release, use.naive
    yield line("COUNT queries over one to three attributes: mean relative error", release, naive, "queries")
    for size, off, naively in zip(SIZES, release.by_size, naive.by_size, strict=True):
        if off is not None and naively is not None:
            yield f"… about {size}", percent(off), percent(0), percent(naively)
    yield line("tables of one attribute: rows not in their cell", release, naive, "singles")
    if len(spec.of_role("quasi")) > 1:
        yield line("tables of two attributes: rows not in their cell", release, naive, "pairs")
    for names in spec.purpose.counts or []:
        key = tuple(names)
        off, naively = release.tables[key], naive.tables[key]
        yield f"table of {joined(names)}, which is what it is for", percent(off), percent(0), percent(naively)
    for name, score in release.models.items():
        own = f"{score.mean:.3f} (± {score.spread / 2:.3f})"
        before = f"{score.original:.3f} (± {score.original_spread / 2:.3f})"
        yield f"model of “{name}”: {score.measure}, higher is better", own, before, f"{score.naive:.3f}"
