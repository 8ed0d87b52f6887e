"""Commands that judge: what every k costs, which release serves best, whether a promise or a bound holds."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ringfence import api
from ringfence.cli.options import Debug, Json, Out
from ringfence.cli.told import print_json, progress
from ringfence.report.artist import artist
from ringfence.spec import Spec


def frontier(
    spec: Annotated[Path, typer.Argument(help="The specification, a TOML file; privacy.k may be left out.")],
    output: Out,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Show what every k costs: frontier.csv, .json, .html and .png, and a table."""
    asked = Spec.load(spec)
    with artist(), progress(json_) as listener:
        front = api.frontier(None, asked, listener=listener)
        page = front.save(output)
    if json_:
        print_json(front.as_dict())
        return
    print(f"{front}\n\n{front.found}")
    print(f"the picture: {page}")


def compare(
    spec: Annotated[Path, typer.Argument(help="The specification, a TOML file; its method is one candidate of many.")],
    output: Out,
    budget: Annotated[float, typer.Option(help="How many seconds to take, about, for all candidates together.")] = 30.0,
    methods: Annotated[
        str | None,
        typer.Option(help="The methods or candidates to try, with commas between; all that can keep the promise."),
    ] = None,
    attack: Annotated[
        list[str] | None, typer.Option(help="An attack to carry out on every release, or all; may be repeated.")
    ] = None,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Try every way to keep the promise, and say which to take: compare.csv, .json, .html and .png, and a table."""
    named = None if methods is None else [name.strip() for name in methods.split(",")]
    asked = Spec.load(spec)
    with artist(), progress(json_) as listener:
        found = api.compare(None, asked, budget=budget, methods=named, attacks=attack or (), listener=listener)
        page = found.save(output)
    if json_:
        print_json(found.as_dict())
        return
    print(f"{found}\n\nthe page: {page}\nmake it for good:\n  ringfence run {output / 'best.toml'} -o DIR")


def audit(
    release: Annotated[str, typer.Argument(help="The table to judge: a file, a folder, a pattern, - or an address.")],
    spec: Annotated[Path, typer.Argument(help="The specification whose promise it should keep.")],
    original: Annotated[str | None, typer.Option(help="The original data, to trace the release back to.")] = None,
    population: Annotated[str | None, typer.Option(help="A table of those that the rows were drawn from.")] = None,
    other: Annotated[str | None, typer.Option(help="Another release of the same data, to be joined with.")] = None,
    counts: Annotated[str | None, typer.Option(help="Counts of values; else those beside the release.")] = None,
    corrupted: Annotated[int, typer.Option(help="How many rows the adversary knows already, for what is left.")] = 0,
    attack: Annotated[list[str] | None, typer.Option(help="An attack to carry out, or all; may be repeated.")] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="A folder for audit.json and audit.html, a page to show.")
    ] = None,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Judge a release by its published values. Exit 0: the promise holds; 1: it does not; 2: it could not be judged."""
    promise = Spec.load(spec)
    with progress(json_):
        verdict = api.audit(
            release,
            promise,
            original,
            population=population,
            other=other,
            counts=counts,
            corrupted=corrupted,
            attacks=attack or (),
        )
    page = None
    if output is not None:
        from ringfence.release.publish import save_audit
        from ringfence.spec.data import shown_name

        page = save_audit(verdict, promise, output, shown_name(release))
    if json_:
        print_json(verdict.as_dict())
    else:
        print(verdict)
        if page is not None:
            print(f"\nthe page:  {page}\nas data:   {page.with_suffix('.json')}")
    if not verdict.ok:
        raise typer.Exit(1 if verdict.findings else 2)


def check(
    certificate: Annotated[Path, typer.Argument(help="A saved certificate: private/certificate.json of a run.")],
    spec: Annotated[Path, typer.Argument(help="The specification of that run.")],
    data: Annotated[
        str | None, typer.Argument(help="The original data, if it is not the specification's data.source.")
    ] = None,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Check that no release can lose less than a certificate says. Exit 0: so it is; 1: not so; 2: cannot be judged."""
    found = api.check_bound(certificate, Spec.load(spec), data)
    if json_:
        print_json(asdict(found))
    elif found.ok:
        print(
            f"checked: no release of groups of {found.rows} rows or more can lose less than {found.bound:,.6g}"
            f" ({found.tuples:,} prices)"
        )
    else:
        print(f"refused: {found.rows} rows cost more by their prices than they lose together:")
        for row in found.exceeded:
            print(f"  {', '.join(row)}")
    if not found.ok:
        raise typer.Exit(1)
