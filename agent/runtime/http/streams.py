"""Long answers: server-sent events, and a wait that keeps its connection alive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import aclosing
from typing import Any, Final

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

EVENT_STREAM: Final = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
}


class _Cut(Exception):
    """The answer must end as a broken one, so that the client asks again."""


class Pushed(Response):
    """Sends batches of bytes as they come; `gone` is called once, with whether the client left early."""

    def __init__(
        self,
        batches: Callable[[], AsyncIterator[bytes]],
        headers: Mapping[str, str],
        *,
        gone: Callable[[bool], Any],
    ) -> None:
        """`batches` is iterated after the headers are out."""
        self.status_code = 200
        self.background = None
        self.raw_headers = [
            (name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()
        ]
        self._batches = batches
        self._gone = gone

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve as an ASGI application."""
        left = True
        sender = asyncio.current_task()
        assert sender is not None
        watcher = asyncio.create_task(self._watch(receive, sender))
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            async with aclosing(self._batches()) as batches:  # type: ignore[type-var]
                async for batch in batches:
                    await send({"type": "http.response.body", "body": batch, "more_body": True})
            left = False
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except asyncio.CancelledError:
            if not watcher.done():
                left = False
                raise
            sender.uncancel()
        finally:
            watcher.cancel()
            self._gone(left)

    @staticmethod
    async def _watch(receive: Receive, sender: asyncio.Task[Any]) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        sender.cancel()


async def waited(
    done: asyncio.Future[Any], result: Callable[[Any], Any], *, heartbeat: float
) -> AsyncIterator[bytes]:
    """White space every `heartbeat` seconds until `done`, then `await result(outcome)`.

    Raises `ConnectionAbortedError` when the process stops first: the answer then ends broken.
    """
    while not done.done():
        await asyncio.wait([done], timeout=heartbeat)
        if not done.done():
            yield b"\n"
    outcome = done.result()
    if outcome is None:
        raise ConnectionAbortedError("the process stops")
    yield await result(outcome)
