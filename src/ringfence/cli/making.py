"""Commands that make something: samples, drafts, releases."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from ringfence import api
from ringfence.cli.options import Debug, Json, Out
from ringfence.cli.shown import release_json, show_release
from ringfence.cli.told import print_error, print_json, progress
from ringfence.errors import SpecError, Unsatisfiable
from ringfence.report.artist import artist
from ringfence.spec import Spec

DEMO_CANDIDATES = ["optimal-level", "local-use-sets", "local-use-nodes"]
"""What the demo compares: the usual recoding, and what is the most useful, with and without lists in cells; all others
take longer than a first look should."""


def demo(
    output: Out = Path("ringfence-demo"),
    rows: Annotated[
        int | None, typer.Option(min=100, help="How many rows to make: 30,000, of visits 6,000 unless told.")
    ] = None,
    baskets: Annotated[bool, typer.Option("--baskets", help="Make shopping baskets instead of people.")] = False,
    visits: Annotated[
        bool, typer.Option("--visits", help="Make visits of patients to a hospital, and draft their specification.")
    ] = False,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001  read by `main`
) -> None:
    """Run the whole flow on sample people, baskets or visits: make a table, compare, anonymize, audit the release."""
    from ringfence.rows.staging import naming
    from ringfence.samples import write_baskets, write_people, write_visits

    if baskets and visits:
        raise SpecError("--baskets and --visits are two demos; choose one")
    name = "visits" if visits else "baskets" if baskets else "people"
    rows = rows or (6_000 if visits else 30_000)
    with naming(output):
        output.mkdir(parents=True, exist_ok=True)
        if visits:
            (output / "visits.toml").write_text(api.draft(write_visits(output, rows), output).toml, encoding="utf-8")
            spec = Spec.load(output / "visits.toml")
        else:
            spec = Spec.load((write_baskets if baskets else write_people)(output, rows))
    found = None
    with artist(), progress(json_, output) as listener:
        if name == "people":
            found = api.compare(None, spec, budget=300, methods=DEMO_CANDIDATES, listener=listener)
            found.save(output / "compare")
            spec = found.spec_of(found.best_plain.name)
            spec.dump(output / "people.toml")
        release = api.run(spec, output, listener=listener)
    if json_:
        print_json(release_json(release) | ({} if found is None else {"comparison": found.as_dict()}))
        return
    print(f"{rows:,} sample {name} in {output / f'{name}.csv'}, specification in {output / f'{name}.toml'}\n")
    if found is not None:
        print(f"{found.page().in_three_lines()}\nThe picture: {output / 'compare' / 'compare.png'}\n")
    show_release(release)
    stated, original = output / f"{name}.toml", output / f"{name}.csv"
    print(f"\nTry it yourself:\n  ringfence run {stated} -o {output}{' --explain' * baskets}")
    if found is not None:
        print(f"  ringfence compare {stated} -o {output / 'compare'}")
    audited = f"{release.table} {stated} --original {original}"
    print(f"  ringfence audit {audited} --attack all -o {output / 'verdict'}")


def init(
    data: Annotated[str, typer.Argument(help="The table to look at: a file, a folder, a pattern, - or an address.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The specification to write, a TOML file.")],
    force: Annotated[bool, typer.Option("--force", help="Write over a file that is there.")] = False,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Look at a file and draft a specification: guessed roles with reasons, hierarchies that fit."""
    if output.exists() and not force:
        raise SpecError(f"{str(output)!r} is there already; --force writes over it")
    with progress(json_):
        draft = api.draft(data, output.parent)
    from ringfence.rows.staging import write_files

    write_files(output.parent, {output.name: draft.toml.encode()})
    if json_:
        print_json({"spec": str(output), "columns": [asdict(column) for column in draft.columns]})
        return
    print(f"{draft}\n\nThe draft is in {output}. Check the roles, then:\n  ringfence run {output} -o DIR")


def run(
    spec: Annotated[Path, typer.Argument(help="The specification, a TOML file.")],
    output: Out,
    report: Annotated[bool, typer.Option(help="Make the page for the people who answer for the release.")] = True,
    plots: Annotated[bool, typer.Option("--plots", help="Save the page's charts as PNG and SVG too.")] = False,
    start: Annotated[
        Path | None,
        typer.Option(help="A plan to begin the search with, private/plan.json of an earlier run: optimal, any scheme."),
    ] = None,
    attack: Annotated[
        list[str] | None, typer.Option(help="An attack to carry out on the release, or all; may be repeated.")
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say which rows boundaries cost; of baskets, why items were generalized.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Let through what is known not to be sound, for experiments.")
    ] = False,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Anonymize as a specification says; write public/ and private/ into a folder."""
    asked = Spec.load(spec)
    with artist(report or plots), progress(json_, output) as listener:
        release = api.run(
            asked,
            output,
            report=report,
            plots=plots,
            start=start,
            attacks=attack or (),
            listener=listener,
            force=force,
        )
    explanations = {}
    if explain:
        explanations["explanation"] = release.explain()
        if release.item_plan is not None and release.item_plan is not release.plan:
            explanations["explanation of items"] = release.item_plan.explain()
    if json_:
        print_json(release_json(release) | {key: asdict(told) for key, told in explanations.items()})
    else:
        show_release(release)
        for told in explanations.values():
            print("\n" + "\n".join(told.sentences))
    if not release.audit.ok:  # forced
        raise typer.Exit(1)


def apply(
    plan: Annotated[Path, typer.Argument(help="A saved plan: private/plan.json of an earlier run.")],
    data: Annotated[
        str | None, typer.Argument(help="New rows with the same columns: a file, a folder, a pattern, -, an address.")
    ] = None,
    output: Annotated[
        str | None,
        typer.Option("-o", "--output", help="The file to write, .csv or .parquet, or an address with #table."),
    ] = None,
    unknown: Annotated[str, typer.Option(help="Values that the plan does not know: error, or suppress.")] = "error",
    sql: Annotated[
        bool,
        typer.Option(
            "--sql", help="Print the statement that does it in PostgreSQL or DuckDB; DATA and -o are names of tables."
        ),
    ] = False,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Recode new rows by a saved plan, suppress what fails, audit. Exit 1, and write nothing, where that fails."""
    if sql:
        from ringfence.plans.recode import GlobalPlan
        from ringfence.plans.sql import as_sql

        statement = as_sql(GlobalPlan.load(plan), data or "people", output or "released")
        if json_:
            print_json({"sql": statement})
        else:
            print(statement)
        return
    if data is None or output is None:
        raise SpecError("ringfence apply needs DATA and -o, the rows and where they go; with --sql, it needs neither")
    try:
        with progress(json_):
            release = api.apply_to_file(plan, data, output, unknown=unknown)
    except Unsatisfiable as error:
        print_error(type(error).__name__, str(error), json_)
        raise typer.Exit(1) from None
    if json_:
        print_json(release_json(release))
        return
    from ringfence.audit.verdict import some

    metrics = release.metrics
    lost = metrics["suppressed"] + metrics["unknown"]
    rows, classes = some(int(metrics["rows"]), "row"), some(int(metrics["classes"]), "class")
    print(f"{rows} in {classes} written to {output}, {lost:,} suppressed\n")
    print(release.audit)
