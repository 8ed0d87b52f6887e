"""Commands beside the work itself: what there is to choose from, compiling ahead, the studio."""

import json
import os
from typing import Annotated

import typer

from ringfence.cli.options import Debug, Json
from ringfence.cli.told import print_json
from ringfence.errors import EngineError


def methods(
    json_: Json = False,
    debug: Debug = False,  # noqa: ARG001
) -> None:
    """List methods, schemes, models and metrics, each with a line."""
    from ringfence.methods.catalogue import catalogue

    if json_:
        print_json(catalogue())
        return
    for title, entries in catalogue().items():
        print(f"{title}")
        for name, line in entries.items():
            print(f"  {name:<14} {line}")


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
        print_json({"seconds": round(seconds, 1), "compiling": round(compiled, 1)})
    else:
        print(f"Everything is compiled, after {seconds:.1f} s. It is kept until Ringfence, numba or Python change.")


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
