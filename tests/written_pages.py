"""Pages that the code writes: `python tests/written_pages.py` makes them anew, and a test fails when they drift.

docs/commands.md has every command with its arguments and options; docs/plan.schema.json says what a saved plan of any
kind looks like.
"""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from typer.main import get_command

from ringfence import plans
from ringfence.cli import app
from ringfence.plans.base import Plan

DOCS = Path(__file__).parents[1] / "docs"

HEAD = """\
# The commands

Every command has `--json` for machines, and `--debug`, which shows where an error comes from. Errors are one sentence
on stderr ([errors.md](errors.md)). Exit codes: 0 done, or the promise holds; 1 the promise does not hold; 2 bad input,
or it could not be judged; 3 no release can satisfy the specification; 4 a mistake in Ringfence; 130 interrupted.
"""


def commands() -> dict[str, Any]:
    """Return the commands by name, as the command line has them."""
    found: dict[str, Any] = dict(get_command(app).commands)  # type: ignore[attr-defined]
    return found


def commands_page() -> str:
    """Return the page of commands."""
    parts = [HEAD]
    for name, command in commands().items():
        arguments = [part for part in command.params if part.param_type_name == "argument"]
        options = [part for part in command.params if part.param_type_name == "option"]
        usage = " ".join(["ringfence", name, *(part.name.upper() for part in arguments)])
        rows = [f"| `{part.name.upper()}` | | {part.help} |\n" for part in arguments]
        rows += [_row(part) for part in options if part.name not in ("json_", "debug", "help")]
        parts.append(f"\n## `{usage}`\n\n{command.help}\n")
        parts += ["\n| argument or option | default | meaning |\n|---|---|---|\n", *rows] if rows else []
    return "".join(parts)


def _row(option: Any) -> str:
    """Return the row of an option: its names, what it is unless given, and what it means."""
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    default = "" if option.default is None or option.is_flag else f"`{option.default}` "
    default = "*needed* " if option.required else "yes " if option.default is True else default
    return f"| {names} | {default}| {option.help} |\n"


def plan_kinds() -> list[type[Plan]]:
    """Return every kind of plan that there is a module of, by name."""
    modules = [importlib.import_module(f"ringfence.plans.{found.name}") for found in iter_modules(plans.__path__)]
    kinds = {part for module in modules for part in vars(module).values() if isinstance(part, type)}
    return sorted((kind for kind in kinds if issubclass(kind, Plan) and hasattr(kind, "kind")), key=lambda k: k.kind)


def plan_schema() -> str:
    """Return the JSON schema of saved plans, one for every kind."""
    kinds: list[dict[str, Any]] = []
    shared: dict[str, Any] = {}
    for kind in plan_kinds():
        schema = kind.schema()
        for name, part in schema.pop("$defs", {}).items():
            assert shared.setdefault(name, part) == part, f"two parts of plans are called {name}"
        kinds.append(schema)
    whole = {"$schema": "https://json-schema.org/draft/2020-12/schema", "oneOf": kinds, "$defs": shared}
    return json.dumps(whole, ensure_ascii=False, indent=2) + "\n"


PAGES: dict[str, Callable[[], str]] = {"commands.md": commands_page, "plan.schema.json": plan_schema}

if __name__ == "__main__":
    for name, write in PAGES.items():
        (DOCS / name).write_text(write(), encoding="utf-8")
