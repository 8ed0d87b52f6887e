"""Who may ask, and what pages may do: checked before anything else, for every request.

A studio holds data of people, and any page that is open in the same browser can send requests to it. So the Host must
be one that the studio is served under (else a name that an attacker points to this machine would do), the Origin, where
a browser tells one, must be the studio itself, and so must be the site that a browser says the request comes from.
Whoever passes that needs the session, which a browser has as a cookie that no script can read, or the token.

Cookies go to every port of a host, so also to whatever else is served on this machine. Therefore the pages are under a
path that nobody can guess, and the cookie is for that path alone.
"""

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self';"
    " form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
"""What our own pages may do: nothing inline, nothing from elsewhere."""

REPORT_POLICY = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'"
"""What a report may do, which brings its own style and no script."""

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

OPEN = ("/login", "/api/session", "/static/studio.css", "/static/theme.js", "/favicon.svg")
"""What is there without a session: the page that asks for the token, and how it looks."""

OURSELVES = ("same-origin", "none")
"""What a browser says of the site that a request comes from, if it comes from us or from the address bar. Programs say
nothing."""


class Guard:
    """Lets requests through to the application that may go there, and tells browsers what pages may do."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], token: str, cookie: str) -> None:
        self._app, self._hosts = app, {host.lower() for host in hosts}
        self._token, self._cookie = token, cookie
        self._session = secrets.token_urlsafe(32)
        self.root = f"/{secrets.token_urlsafe(18)}"
        """Where the pages are."""
        self._tickets: set[str] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request, and pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return  # no other way of talking is spoken here

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        inside = scope["path"].startswith(f"{self.root}/")
        if inside:
            path = scope["path"].removeprefix(self.root)
            scope = {**scope, "path": path, "raw_path": path.encode()}
        answer = self._refusal(scope, inside)
        await (self._app if answer is None else answer)(scope, receive, sent)

    def _refusal(self, scope: Scope, inside: bool) -> Response | None:  # noqa: PLR0911  one rule after the other
        headers, path = Headers(scope=scope), scope["path"]
        host = headers.get("host", "").lower()
        if host not in self._hosts:
            return _refused(421, "Host", f"the studio is not served under {host!r}")
        origins = headers.getlist("origin")
        if any(origin.lower() != f"http://{host}" for origin in origins):
            return _refused(403, "Origin", "requests of other origins are not answered")
        if any(site not in OURSELVES for site in headers.getlist("sec-fetch-site")):
            return _refused(403, "Origin", "requests of other sites are not answered")
        asked = parse_qs(scope["query_string"].decode("latin-1")).get("token")
        if path == "/" and asked and (self.is_token(asked[0]) or self._is_ticket(asked[0])):
            return self.welcome()
        if path in OPEN:
            return None
        if self.is_token(headers.get("authorization", "").removeprefix("Bearer ")):
            return None
        if not (inside and self._has_session(headers)):
            if path.startswith("/api/"):
                return _refused(401, "Session", "the studio asks for its token: Authorization: Bearer ...")
            return RedirectResponse("/login", 303)
        if scope["method"] not in ("GET", "HEAD") and not origins:
            return _refused(403, "Origin", "a browser that changes something says where it does so from")
        return None

    def is_token(self, word: str) -> bool:
        """Whether a word is the token."""
        return _same(word, self._token)

    def ticket(self) -> str:
        """Return a word that lets in once: the command line that opens a browser can be read by others."""
        made = secrets.token_urlsafe(24)
        self._tickets.add(made)
        return made

    def welcome(self) -> Response:
        """Lead a browser to the first page, with the session."""
        response = RedirectResponse(f"{self.root}/", 303)
        response.set_cookie(self._cookie, self._session, httponly=True, samesite="strict", path=self.root)
        return response

    def _is_ticket(self, word: str) -> bool:
        found = next((ticket for ticket in self._tickets if _same(word, ticket)), None)
        self._tickets.discard(found or "")
        return found is not None

    def _has_session(self, headers: Mapping[str, str]) -> bool:
        try:
            cookies: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        found: Any = cookies.get(self._cookie)
        return found is not None and _same(found.value, self._session)


def _same(one: str, other: str) -> bool:
    """Compare in a time that tells nothing."""
    return secrets.compare_digest(*(hashlib.sha256(word.encode("utf-8", "replace")).digest() for word in (one, other)))


def _refused(status: int, kind: str, message: str) -> Response:
    return JSONResponse({"error": {"kind": kind, "message": message}}, status)
