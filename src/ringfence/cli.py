"""The command line: each command builds a specification, calls a verb, and shows what came out.

Exit codes: 0 done, or the promise holds; 1 the promise does not hold; 2 bad input, or it could not be judged; 3 no
release can satisfy the specification; 4 a mistake of ours; 130 interrupted.
"""

import io
import json
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ringfence import api
from ringfence.errors import EngineError, RingfenceError, SpecError, Unsatisfiable
from ringfence.events import Listener
from ringfence.markup import clipped
from ringfence.release.release import Release
from ringfence.spec import Spec
from ringfence.version import __version__

if TYPE_CHECKING:
    from ringfence.search.progress import SearchResult

app = typer.Typer(
    name="ringfence",
    help="Make personal data publishable: the least harmful release that keeps a stated promise, and proof of it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

UsageError: Any = typer.BadParameter.__mro__[1]
"""What Typer raises for a mistyped command. It may bring a Click of its own, so the class is taken from there."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Out = Annotated[Path, typer.Option("-o", "--output", help="The folder to write to.")]


def _show_version(asked: bool) -> None:
    if asked:
        print(f"ringfence {__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Take what stands before a command."""


DEMO_CANDIDATES = ["optimal-level", "local-use-sets", "local-use-nodes"]
"""What the demo compares: the usual recoding, and what is the most useful, with and without lists in cells; all others
take longer than a first look should."""


@app.command()
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
    with _progress(json_, output) as listener:
        if name == "people":
            found = api.compare(None, spec, budget=300, methods=DEMO_CANDIDATES, listener=listener)
            found.save(output / "compare")
            spec = found.spec_of(found.best_plain.name)
            spec.dump(output / "people.toml")
        release = api.run(spec, output, listener=listener)
    if json_:
        _print_json(_release_json(release) | ({} if found is None else {"comparison": found.as_dict()}))
        return
    print(f"{rows:,} sample {name} in {output / f'{name}.csv'}, specification in {output / f'{name}.toml'}\n")
    if found is not None:
        print(f"{found.page().in_three_lines()}\nThe picture: {output / 'compare' / 'compare.png'}\n")
    _show_release(release)
    stated, original = output / f"{name}.toml", output / f"{name}.csv"
    print(f"\nTry it yourself:\n  ringfence run {stated} -o {output}{' --explain' * baskets}")
    if found is not None:
        print(f"  ringfence compare {stated} -o {output / 'compare'}")
    audited = f"{release.table} {stated} --original {original}"
    print(f"  ringfence audit {audited} --attack all -o {output / 'verdict'}")


@app.command()
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
    with _progress(json_):
        draft = api.draft(data, output.parent)
    try:
        output.write_text(draft.toml, encoding="utf-8")
    except OSError as error:
        raise EngineError(f"cannot write {str(output)!r}: {error.strerror or error}") from error
    if json_:
        _print_json({"spec": str(output), "columns": [asdict(column) for column in draft.columns]})
        return
    print(f"{draft}\n\nThe draft is in {output}. Check the roles, then:\n  ringfence run {output} -o DIR")


@app.command()
def run(
    spec: Annotated[Path, typer.Argument(help="The specification, a TOML file.")],
    output: Out,
    report: Annotated[bool, typer.Option(help="Make the page for the people who answer for the release.")] = True,
    plots: Annotated[bool, typer.Option("--plots", help="Save the page's charts as PNG and SVG too.")] = False,
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
    with _progress(json_, output) as listener:
        release = api.run(
            Spec.load(spec), output, report=report, plots=plots, attacks=attack or (), listener=listener, force=force
        )
    explanations = {}
    if explain:
        explanations["explanation"] = release.explain()
        if release.item_plan is not None and release.item_plan is not release.plan:
            explanations["explanation of items"] = release.item_plan.explain()
    if json_:
        _print_json(_release_json(release) | {key: asdict(told) for key, told in explanations.items()})
    else:
        _show_release(release)
        for told in explanations.values():
            print("\n" + "\n".join(told.sentences))
    if not release.audit.ok:  # forced
        raise typer.Exit(1)


@app.command()
def frontier(
    spec: Annotated[Path, typer.Argument(help="The specification, a TOML file; privacy.k may be left out.")],
    output: Out,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Show what every k costs: frontier.csv, .json, .html and .png, and a table."""
    with _progress(json_) as listener:
        front = api.frontier(None, Spec.load(spec), listener=listener)
        page = front.save(output)
    if json_:
        _print_json(front.as_dict())
        return
    print(f"{front}\n\n{front.found}")
    print(f"the picture: {page}")


@app.command()
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
    with _progress(json_) as listener:
        found = api.compare(
            None, Spec.load(spec), budget=budget, methods=named, attacks=attack or (), listener=listener
        )
        page = found.save(output)
    if json_:
        _print_json(found.as_dict())
        return
    print(f"{found}\n\nthe page: {page}\nmake it for good:\n  ringfence run {output / 'best.toml'} -o DIR")


@app.command()
def audit(
    release: Annotated[str, typer.Argument(help="The table to judge: a file, a folder, a pattern, - or an address.")],
    spec: Annotated[Path, typer.Argument(help="The specification whose promise it should keep.")],
    original: Annotated[str | None, typer.Option(help="The original data, to trace the release back to.")] = None,
    population: Annotated[str | None, typer.Option(help="A table of those that the rows were drawn from.")] = None,
    other: Annotated[str | None, typer.Option(help="Another release of the same data, to be joined with.")] = None,
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
    with _progress(json_):
        verdict = api.audit(
            release,
            promise,
            original,
            population=population,
            other=other,
            corrupted=corrupted,
            attacks=attack or (),
        )
    page = None
    if output is not None:
        from ringfence.release.publish import save_audit
        from ringfence.spec.tables import shown_name

        page = save_audit(verdict, promise, output, shown_name(release))
    if json_:
        _print_json(verdict.as_dict())
    else:
        print(verdict)
        if page is not None:
            print(f"\nthe page:  {page}\nas data:   {page.with_suffix('.json')}")
    if not verdict.ok:
        raise typer.Exit(1 if verdict.findings else 2)


@app.command()
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
        _print_json(asdict(found))
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


@app.command()
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
            _print_json({"sql": statement})
        else:
            print(statement)
        return
    if data is None or output is None:
        raise SpecError("ringfence apply needs DATA and -o, the rows and where they go; with --sql, it needs neither")
    try:
        with _progress(json_):
            release = api.apply_to_file(plan, data, output, unknown=unknown)
    except Unsatisfiable as error:
        _print_error(type(error).__name__, str(error), json_)
        raise typer.Exit(1) from None
    if json_:
        _print_json(_release_json(release))
        return
    metrics = release.metrics
    lost = metrics["suppressed"] + metrics["unknown"]
    print(f"{metrics['rows']:,} rows in {metrics['classes']:,} classes written to {output}, {lost:,} suppressed\n")
    print(release.audit)


@app.command()
def methods(
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """List methods, schemes, models and metrics, each with a line."""
    from ringfence.methods.catalogue import catalogue

    if json_:
        _print_json(catalogue())
        return
    for title, entries in catalogue().items():
        print(f"{title}")
        for name, line in entries.items():
            print(f"  {name:<14} {line}")


@app.command()
def warm(
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Compile now what is compiled at first use, on all cores: for images of machines, and before tests."""
    from ringfence.warming import warm as warmed

    seconds, compiled = 0.0, 0.0
    for task, spent, seconds in warmed():
        compiled += spent
        if not json_:
            print(f"{seconds:6.1f} s  {task}: {spent:.1f} s of compiling" if spent else f"{seconds:6.1f} s  {task}")
    if json_:
        _print_json({"seconds": round(seconds, 1), "compiling": round(compiled, 1)})
    else:
        print(f"Everything is compiled, after {seconds:.1f} s. It is kept until Ringfence, numba or Python change.")


@app.command()
def studio(
    host: Annotated[
        str, typer.Option(help="The address to serve at. Any but this machine's own needs RINGFENCE_TOKEN.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to serve at; 0 for any that is free.")] = 8765,
    memory: Annotated[float, typer.Option(min=0.2, help="How much memory a project may take, in gigabytes.")] = 4.0,
    upload_limit: Annotated[int, typer.Option(min=1, help="How large a file may be, in megabytes.")] = 500,
    browser: Annotated[bool, typer.Option(help="Open a browser.")] = True,
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """Open the studio: a web application on this machine, from a table to a release that is proven."""
    try:
        from ringfence.studio.serve import serve
    except ModuleNotFoundError as error:
        raise EngineError(f"the studio needs the library {error.name!r}: pip install 'ringfence[studio]'") from None

    def ready(address: str) -> None:
        if json_:
            print(json.dumps({"address": address}), flush=True)
        else:
            print(f"The studio is at {address}\nCtrl-C ends it, and removes all that was loaded.", flush=True)

    serve(
        host,
        port,
        token=os.environ.get("RINGFENCE_TOKEN"),
        most_upload=upload_limit * 1_000_000,
        most_memory=int(memory * 1e9),
        browse=browser,
        ready=ready,
    )


def main() -> None:
    """Run the command line; turn errors into a sentence and an exit code."""
    as_json, debug = "--json" in sys.argv, "--debug" in sys.argv
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character shows its code instead
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(app(standalone_mode=False))
    except UsageError as error:
        if as_json:
            _print_error("Usage", error.format_message(), as_json)
        else:
            error.show()
        sys.exit(2)
    except _Interrupted as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is impatient is still told
        _print_error("Interrupted", str(error), as_json)
        sys.exit(130)
    except RingfenceError as error:
        if debug:
            traceback.print_exc()
        _print_error(type(error).__name__, str(error), as_json)
        sys.exit(3 if isinstance(error, Unsatisfiable) else 2)
    except Exception as error:
        if debug:
            raise
        message = f"a mistake in Ringfence, not in your input ({type(error).__name__}: {error}); --debug shows where"
        _print_error("Bug", message, as_json)
        sys.exit(4)


def _print_error(kind: str, message: str, as_json: bool) -> None:
    """Write an error to stderr: as a sentence, or in the one JSON shape that all errors have."""
    shown = (
        json.dumps({"error": {"kind": kind, "message": message}}, ensure_ascii=False)
        if as_json
        else f"error: {message}"
    )
    print(shown, file=sys.stderr)


def _print_json(content: Any) -> None:
    print(json.dumps(content, ensure_ascii=False, indent=2))


class _Interrupted(Exception):
    """Somebody pressed Ctrl-C; says what was kept. Typer would end the process without a word for a plain interrupt."""


@contextmanager
def _progress(quiet: bool, folder: Path | None = None) -> Iterator[Listener | None]:
    """Yield a listener that shows on a terminal what is going on, or tells a log of long searches; None where nobody is
    to be told.

    An interruption says what was kept: `folder` is where a release goes that takes its place in one step.
    """
    before = _version_in(folder)
    try:
        if quiet:
            yield None
        else:
            with api.progress() as listener:
                yield listener
    except KeyboardInterrupt:
        now = _version_in(folder)
        kept = "nothing was written" if folder is None else "no release was written"
        if now is not None:
            what = "the release that was there" if now == before else "the new release"
            kept = f"{what} is in {str(folder)!r}, whole" + (", as it was" if now == before else "")
        raise _Interrupted(f"interrupted; {kept}") from None


def _version_in(folder: Path | None) -> str | None:
    """Return which version of a release a folder shows; None where it has none."""
    public = None if folder is None else folder / "public"
    return str(public.readlink()) if public is not None and public.is_symlink() else None


def _release_json(release: Release) -> dict[str, Any]:
    from ringfence.release.manifest import search_figures

    return {
        "release": str(release.table),
        **({} if release.sensitive is None else {"sensitive": str(release.sensitive)}),
        "levels": release.plan.levels,
        "metrics": dict(release.metrics),
        "incomplete": release.incomplete,
        "search": search_figures(release.search),
        **({} if release.item_plan is None else {"items": [asdict(reason) for reason in release.item_plan.reasons]}),
        "verdict": release.audit.as_dict(),
    }


CERTIFICATES = {"row": "row bound: each row by itself", "dual": "dual bound: prices that no group of rows exceeds"}


def _found(search: "SearchResult", *, judged: bool) -> str:
    """Say how good the answer of a search is known to be, what a freer scheme bought, and what it took."""
    from ringfence.search.progress import MOST_COUNTED

    proof = "proven optimal"
    if not search.optimal and search.bound <= 0:
        proof = "the best that was found; what none can go below is not known"
    elif not search.optimal and search.certificate in CERTIFICATES:
        proof = (
            f"no release of this kind can lose less than {search.bound:,.6g} ({CERTIFICATES[search.certificate]}); this"
            f" one loses {search.cost:,.6g}"
        )
    elif not search.optimal:
        proof = f"not proven optimal: none costs less than {search.bound:,.6g}, at most {search.gap:.1%} can be saved"
    nodes = f"; {search.nodes:,} recodings judged" if judged else ""
    if judged and search.pruned < MOST_COUNTED:  # more are not counted
        nodes += f", {search.pruned:,} ruled out"
    bought = (
        "" if search.saved is None else f"; {search.saved:.1%} less than the best by levels, {search.by_levels:,.6g}"
    )
    compiled = f", and {search.compiled:.1f} s of compiling" if round(search.compiled, 1) > 0 else ""
    return f"{proof}{bought}{nodes}, {search.seconds:.2f} s{compiled}"


def _show_release(release: Release) -> None:
    """Print what was done to each attribute, what it cost, and the verdict."""
    from ringfence.release.card import card_of

    _show_columns(release)
    print(f"\n{card_of(release).summary}")
    for what, search, judged in _searches(release):
        print(f"{what}: {_found(search, judged=judged)}")
    print(f"\n{release.audit}")
    _show_places(Path(release.table).parent.parent)


def _show_columns(release: Release) -> None:
    """Print how each attribute was recoded, and some labels that it is published under."""
    spec, levels = release.spec, release.plan.levels
    columns = {**release.plan.columns}
    columns |= {} if release.item_plan is None else release.item_plan.columns
    rows = [("attribute", "recoding", "labels", "for example")]
    for name, column in columns.items():
        labels = list(dict.fromkeys(label for label in column.labels if label is not None))
        recoding = spec.scheme_of(name) if spec.method.traits.by_scheme else spec.method.name
        if name in levels:
            recoding = f"level {levels[name]}"
        if name == spec.items:
            recoding = "item cut"
        if column.changes_nothing:
            recoding = "as it is"
        rows.append((name, recoding, f"{len(labels):,} of {len(column.leaves):,}", ", ".join(map(clipped, labels[:3]))))
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    for row in rows if columns else []:
        print("  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[3]]))


def _searches(release: Release) -> Iterator[tuple[str, "SearchResult", bool]]:
    """Yield what was searched: its name, what was found out, and whether recodings were judged one by one."""
    if release.search is not None:
        yield "search", release.search, release.plan.together is None
    basket = release.decision.basket
    if basket is not None and basket.plan is not release.plan:
        yield "search of item cuts", basket.search, True


def _show_places(folder: Path) -> None:
    """Print where to find what is to be published, and what is not."""
    page = folder / "private" / "report.html"
    print(f"\nto publish:       {folder / 'public'}")
    print(f"to keep private:  {folder / 'private'}" + (f" (open {page} in a browser)" if page.exists() else ""))
