"""Answers that take their time. They end with who asked for them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, aclosing, suppress
from dataclasses import asdict
from typing import Any

import structlog
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from agent.core.interfaces import CommandResult, SandboxError, SandboxUnavailable
from agent.sandbox.provisioner.ports import Station

log = structlog.get_logger(__name__)
BEAT = 2.0
"""Seconds between two signs of life."""


class CommandResponse(Response):
    """Signs of life while `work` runs, then its result: a line of JSON each.

    When the other side goes away, the work is cancelled.
    """

    def __init__(self, work: Callable[[], Awaitable[CommandResult]]) -> None:
        super().__init__(media_type="application/x-ndjson")
        # Its length is not known before its end.
        self.raw_headers = [header for header in self.raw_headers if header[0] != b"content-length"]
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send lines until there is a result."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        work = asyncio.ensure_future(self._worked())
        listening = asyncio.create_task(_gone(receive))
        try:
            while not work.done():
                await asyncio.wait({work, listening}, timeout=BEAT, return_when=asyncio.FIRST_COMPLETED)
                if listening.done():
                    return
                if not work.done():
                    await send(_part({"running": True}))
            await send(_part(work.result(), more=False))
        finally:
            listening.cancel()
            work.cancel()
            await asyncio.wait({work, listening})

    async def _worked(self) -> dict[str, Any]:
        try:
            return asdict(await self._work())
        except SandboxError as error:
            return {"error": str(error), "unavailable": isinstance(error, SandboxUnavailable)}


class FilesResponse(Response):
    """The files at `paths`, from a station that is lent as long as this takes."""

    def __init__(self, lent: AbstractAsyncContextManager[Station], paths: Sequence[str]) -> None:
        super().__init__(media_type="application/octet-stream")
        self.raw_headers = [header for header in self.raw_headers if header[0] != b"content-length"]
        self._lent, self._paths = lent, paths

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them, until nobody listens any more."""
        listening = asyncio.create_task(_gone(receive))
        started = False
        try:
            async with self._lent as station, aclosing(station.pull(self._paths)) as pieces:
                await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
                started = True
                async for piece in pieces:
                    if listening.done():
                        return
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except SandboxError as error:
            # Where something was sent, an end without the last piece says it.
            log.warning("files_not_sent", detail=str(error))
            if not started:
                await JSONResponse({"detail": str(error)}, 503)(scope, receive, send)
        finally:
            listening.cancel()
            await asyncio.wait({listening})


async def _gone(receive: Receive) -> None:
    with suppress(asyncio.CancelledError):
        while (await receive())["type"] != "http.disconnect":
            pass


def _part(line: dict[str, Any], *, more: bool = True) -> dict[str, Any]:
    return {"type": "http.response.body", "body": json.dumps(line).encode() + b"\n", "more_body": more}
