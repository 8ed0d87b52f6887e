"""`ringfence warm`: everything has its task, and tasks are done in processes of their own."""

import pytest
from typer.testing import CliRunner

from ringfence import warming
from ringfence.cli import app
from ringfence.declared import METHODS, SCHEMES
from ringfence.methods.checks import check_available


def test_every_method_and_every_scheme_is_compiled() -> None:
    methods = [task for task in warming.tasks() if task not in warming.OTHERS]
    asked = [spec for task in methods for spec in warming.specs(task)]
    assert len({*warming.tasks()}) == len(warming.tasks()) == len(methods) + len(warming.OTHERS)
    assert {spec.method.name for spec in asked} == {*METHODS}
    assert {spec.method.scheme for spec in asked if spec.method.name == "optimal"} == {*SCHEMES}
    for spec in asked:
        check_available(spec)


def test_what_is_compiled_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "tasks", lambda: ["level", "levels"])
    told = CliRunner().invoke(app, ["warm"])
    assert told.exit_code == 0, told.output
    lines = told.output.splitlines()
    assert {line.split("s  ")[1].split(":")[0] for line in lines[:-1]} == {"level", "levels"}
    assert lines[-1].startswith("Everything is compiled, after ")
