"""The application that the commands belong to, and the way in."""

import io
import signal
import sys
import traceback
from typing import Annotated, Any

import typer

from ringfence.cli.beside import methods, studio, warm
from ringfence.cli.judging import audit, check, compare, frontier
from ringfence.cli.making import apply, demo, init, run
from ringfence.cli.told import Interrupted, print_error
from ringfence.errors import RingfenceError, Unsatisfiable
from ringfence.version import __version__

app = typer.Typer(
    name="ringfence",
    help="Make personal data publishable: the least harmful release that keeps a stated promise, and proof of it.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

UsageError: Any = typer.BadParameter.__mro__[1]
"""What Typer raises for a mistyped command. It may bring a Click of its own, so the class is taken from there."""


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


for command in (demo, init, run, frontier, compare, audit, check, apply, methods, warm, studio):  # as help lists them
    app.command()(command)


def main() -> None:
    """Run the command line; turn errors into a sentence and an exit code."""
    as_json, debug = "--json" in sys.argv, "--debug" in sys.argv
    for stream in (sys.stdout, sys.stderr):  # a terminal that lacks a character shows its code instead
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = app(standalone_mode=False)
    except SystemExit:  # who reads what is printed has gone; 1 would say that a promise does not hold
        sys.exit(141)
    except UsageError as error:
        if as_json:
            print_error("Usage", error.format_message(), as_json)
        else:
            error.show()
        sys.exit(2)
    except Interrupted as error:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever is impatient is still told
        print_error("Interrupted", str(error), as_json)
        sys.exit(130)
    except RingfenceError as error:
        if debug:
            traceback.print_exc()
        print_error(type(error).__name__, str(error), as_json)
        sys.exit(3 if isinstance(error, Unsatisfiable) else 2)
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and error.filename is not None:
            print_error("OSError", f"cannot read or write {str(error.filename)!r}: {error.strerror}", as_json)
            sys.exit(2)
        message = f"a mistake in Ringfence, not in your input ({type(error).__name__}: {error}); --debug shows where"
        print_error("Bug", message, as_json)
        sys.exit(4)
    sys.exit(code)
