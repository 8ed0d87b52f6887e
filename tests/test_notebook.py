"""Ringfence in a notebook, with a real kernel and nothing besides: no widgets."""

from typing import Any

import nbclient
import nbformat
import pytest

CELL = """
import ringfence as rf
from ringfence import display, samples
display.QUIET = 0.0
spec = samples.people_spec()
with rf.progress() as listener:
    release = rf.anonymize(samples.people(2_000), spec, listener=listener)
release
"""


class Listening(nbclient.NotebookClient):  # type: ignore[misc]  # whose types are not followed
    """A client that keeps what the kernel sends: the kinds of messages, and what they show."""

    def __init__(self, cell: str) -> None:
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
        super().__init__(notebook, timeout=300, kernel_name="python3")
        self.seen: list[tuple[str, str]] = []

    def process_message(self, msg: dict[str, Any], *rest: Any) -> Any:
        content = msg["content"]
        self.seen.append((msg["msg_type"], str(content.get("data", {}).get("text/html", content.get("text", "")))))
        return super().process_message(msg, *rest)


@pytest.fixture(scope="module")
def messages() -> list[tuple[str, str]]:
    """What the kernel sent while a release was made."""
    client = Listening(CELL)
    client.execute()
    return client.seen


def test_what_a_run_is_busy_with_is_shown_and_goes_away(messages: list[tuple[str, str]]) -> None:
    shown = [text for kind, text in messages if kind == "update_display_data"]
    assert any("counting the rows" in text for text in shown)
    assert shown[-1] == ""


def test_nothing_else_is_written(messages: list[tuple[str, str]]) -> None:
    assert [text for kind, text in messages if kind == "stream"] == []


def test_a_release_shows_its_card(messages: list[tuple[str, str]]) -> None:
    (card,) = (text for kind, text in messages if kind == "execute_result")
    assert "The promise holds" in card
