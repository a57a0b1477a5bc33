"""A provider of chat completions that waits for each answer, and checks requests as the real one does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from aiohttp import web

from tests.harness.strict_providers import Reply
from tests.harness.strict_providers.openai import StrictOpenAI
from tests.harness.strict_providers.server import Body, Call, RejectedRequest
from tests.played.requests import ModelRequest, find_before

Choose = Callable[[ModelRequest], Awaitable[Reply]]
ALIVE_SECONDS = 5.0
"""Between two signs of life; clients give up after a minute of silence (`agent.models.resolve`)."""


class NoAnswer(Exception):
    """Nobody answers the request; the text is what the agent is told."""


class PlayedModel(StrictOpenAI):
    """Answers each request with what `choose` returns, however long that takes.

    A NoAnswer from it becomes an error of the provider. A stream that waits gets empty pieces, any other
    answer white space, so that nobody takes the connection for dead.
    """

    def __init__(self, choose: Choose, *, alive_seconds: float = ALIVE_SECONDS) -> None:
        super().__init__()
        self.played: list[ModelRequest] = []
        self._ask, self._alive_seconds = choose, alive_seconds

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        body: Body = await request.json()
        try:
            self.check_headers(request.headers)
            self.check(body)
        except RejectedRequest as error:
            self.rejections.append(str(error))
            status, told = self.render_error(str(error))
            return web.json_response(told, status=error.status or status)
        self.calls.append(Call(request.path, body, 0, None))
        asked = ModelRequest(len(self.played) + 1, body, find_before(body, self.played))
        self.played.append(asked)
        streams = bool(body.get("stream"))
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream" if streams else "application/json"}
        )
        await response.prepare(request)
        waits = self.render_event(self.chunk(body, {"content": ""})) if streams else b" "
        for piece in await self._wait(asked, response, waits):
            await response.write(piece)
        return response

    async def _wait(self, asked: ModelRequest, response: web.StreamResponse, waits: bytes) -> list[bytes]:
        """Return the answer in pieces; `waits` is written until it is there."""
        choosing = asyncio.ensure_future(self._ask(asked))
        try:
            while not (await asyncio.wait({choosing}, timeout=self._alive_seconds))[0]:
                await response.write(waits)
            reply = choosing.result()
        except NoAnswer as error:
            told = {"error": {"message": str(error), "type": "server_error", "param": None, "code": None}}
            return [self.render_event(told) if asked.body.get("stream") else json.dumps(told).encode()]
        finally:
            choosing.cancel()
            with suppress(asyncio.CancelledError, NoAnswer):
                await choosing
        return self._encode(reply, asked.body)

    def _encode(self, reply: Reply, body: dict[str, Any]) -> list[bytes]:
        if not body.get("stream"):
            return [json.dumps(self.whole(reply, body)).encode()]
        return [*(self.render_event(event) for event in self.stream(reply, body)), b"data: [DONE]\n\n"]
