"""A process that draws charts beside a command: what draws them takes .4 s to start, and everything stands still
meanwhile if it does so in the process of the command. Started with the command, it is ready when charts are.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

PROGRAM = """
import json, signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)
import vl_convert
text = {"mark": "text", "data": {"values": [{"a": 1}]}, "encoding": {"x": {"field": "a", "type": "quantitative"}}}
vl_convert.vegalite_to_svg(text)
for line in sys.stdin.buffer:
    kind, chart = json.loads(line)
    drawn = vl_convert.vegalite_to_svg(chart).encode() if kind == "svg" else vl_convert.vegalite_to_png(chart, scale=2)
    sys.stdout.buffer.write(len(drawn).to_bytes(8, "big") + drawn)
    sys.stdout.buffer.flush()
"""
"""It draws something at once, with letters, and is ready then. It ends with its input, and so with the command,
whatever becomes of that. A keyboard's Ctrl-C is not for it."""

_AT_WORK: list["subprocess.Popen[bytes]"] = []


@contextmanager
def artist(wanted: bool = True) -> Iterator[None]:
    """Have charts drawn by a process of their own as long as this lasts, if any are wanted and that is quicker."""
    if not wanted or not _is_quicker():
        yield
        return
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
    )
    _AT_WORK.append(process)
    try:
        yield
    finally:
        _AT_WORK.remove(process)
        process.kill()
        with suppress(OSError), process:  # what it did not read any more is lost
            pass


def _is_quicker() -> bool:
    """Whether two processes can work at the same time."""
    return (os.cpu_count() or 1) > 1


def drawn(kind: str, chart: dict[str, Any]) -> bytes | None:
    """Return a chart as "svg" or "png" if there is a process that draws it; None else, and where it failed."""
    for process in _AT_WORK:
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(OSError):
            process.stdin.write(json.dumps([kind, chart]).encode() + b"\n")
            process.stdin.flush()
            size = int.from_bytes(process.stdout.read(8), "big")
            found = process.stdout.read(size)
            if found and len(found) == size:
                return found
    return None
