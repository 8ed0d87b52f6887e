"""How much a request may hold, other than a file that is uploaded."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute

from ringfence.errors import DataError

MOST_JSON = 16_000_000
"""Enough bytes for a tree of some hundred thousand values; what is larger is uploaded as a file."""


class TooLarge(DataError):
    """What was sent is larger than allowed."""


async def bounded(request: Request, most: int) -> bytes:
    """Return the body of a request; of one that is too long, no more is read than that takes."""
    chunks, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise TooLarge(f"the request holds more than {most:,} bytes; send what is that long as a file")
        chunks.append(chunk)
    return b"".join(chunks)


class _Bounded(Request):
    _whole: bytes | None = None

    async def body(self) -> bytes:
        if self._whole is None:
            self._whole = await bounded(self, MOST_JSON)
        return self._whole


class BoundedRoute(APIRoute):
    """A route whose JSON is read as long as it is not too long. Files are streams, and have a limit of their own."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Read the body before anything else does."""
        handle = super().get_route_handler()
        if self.body_field is None:
            return handle

        async def handler(request: Request) -> Response:
            limited = _Bounded(request.scope, request.receive)
            await limited.body()
            return await handle(limited)

        return handler
