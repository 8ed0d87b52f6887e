"""Starting the studio: a server on this machine, a token, a private folder, and a browser that is led there."""

import contextlib
import signal
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable
from ipaddress import ip_address
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import uvicorn

from ringfence.errors import EngineError, SpecError
from ringfence.rows.staging import staging
from ringfence.studio.app import make_app
from ringfence.studio.guard import Guard
from ringfence.studio.pages import add_pages
from ringfence.studio.projects import Projects
from ringfence.studio.worker import warm_up

FOLDER = "ringfence-studio"
"""What the private folder is called in the system's temporary folder; those of dead studios are swept."""

ENDS = {"SIGTERM", "SIGHUP"}
"""Signals that end the studio as Ctrl-C does, so that nothing is left: a closed terminal sends one, too."""

LOOPBACK = ("127.0.0.1", "localhost", "::1")
SHORTEST_TOKEN = 16


def serve(
    host: str,
    port: int,
    *,
    token: str | None,
    most_upload: int,
    most_memory: int,
    browse: bool,
    ready: Callable[[str], None],
) -> None:
    """Serve the studio until it is interrupted. `ready` is told the address to open, with the token in it.

    On another host than this machine's own, a `token` must be given: whoever has it sees every project.
    """
    if host not in LOOPBACK:
        _check_open(host, token)
    secret = token or token_urlsafe(24)
    with staging(Path(tempfile.gettempdir()), FOLDER) as folder, _listening(host, port) as listening:
        projects = Projects(folder, most_memory)
        port = listening.getsockname()[1]
        names = LOOPBACK if host in LOOPBACK else (host,)
        hosts = [f"[{name}]:{port}" if ":" in name else f"{name}:{port}" for name in names]
        app = make_app(projects, most_upload)
        guard = Guard(app, hosts, secret, cookie=f"ringfence-{port}")
        add_pages(app, guard)
        served = hosts[1] if host == "localhost" else hosts[0]
        address = f"http://{served}/?token={secret}"
        warm_up()
        server = _Server(uvicorn.Config(guard, log_level="warning", access_log=False, timeout_graceful_shutdown=2))

        def begun() -> None:
            ready(address)
            if browse:
                webbrowser.open(f"http://{served}/?token={guard.ticket()}")

        server.begun = begun
        for name in ENDS & {*dir(signal)}:
            # Told, not raised: an exception in the middle of an answer would be taken for that answer's.
            signal.signal(getattr(signal, name), server.handle_exit)
        try:
            with contextlib.suppress(KeyboardInterrupt):  # that is how it ends
                server.run(sockets=[listening])
        finally:
            projects.close_all()


class _Server(uvicorn.Server):
    """A server that says when it can be asked."""

    begun: Callable[[], None]

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        threading.Thread(target=self.begun, daemon=True).start()


def _check_open(host: str, token: str | None) -> None:
    if token is None or len(token) < SHORTEST_TOKEN:
        raise SpecError(
            f"--host {host!r} lets others on the network in, and demands a token: set RINGFENCE_TOKEN to"
            f" {SHORTEST_TOKEN} characters or more that nobody can guess"
        )
    try:
        anywhere = ip_address(host).is_unspecified
    except ValueError:
        return  # a name
    if anywhere:
        raise SpecError(
            f"--host {host!r} is every address at once; name the one that people will type, since requests under any"
            " other are refused"
        )


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise EngineError(f"cannot serve at {host}:{port}: {error.strerror or error}; try another --port") from None
    return found
