"""A provider of chat completions that waits for each answer, and checks requests as the real one does."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress

from aiohttp import web

from tests.harness.strict_providers import Reply
from tests.harness.strict_providers.caching import CacheUse, SteppedCache
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
        self.cache = SteppedCache()

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
        use = self.cache.count(body)
        asked = ModelRequest(len(self.played) + 1, body, find_before(body, self.played))
        self.played.append(asked)
        streams = bool(body.get("stream"))
        kind = "text/event-stream" if streams else "application/json"
        response = web.StreamResponse(headers={"Content-Type": kind})
        await response.prepare(request)
        with suppress(ConnectionResetError):  # the agent hung up
            reply = await self._wait(asked, response)
            for piece in self._encode(reply, body, use):
                await response.write(piece)
            if isinstance(reply, Reply) and reply.endless:
                await self._hold(request)
        return response

    async def _wait(self, asked: ModelRequest, response: web.StreamResponse) -> Reply | NoAnswer:
        """Wait for the answer; meanwhile the agent gets signs of life."""
        alive = (
            self.render_event(self.chunk(asked.body, {"content": ""})) if asked.body.get("stream") else b" "
        )
        choosing = asyncio.ensure_future(self._ask(asked))
        try:
            while not (await asyncio.wait({choosing}, timeout=self._alive_seconds))[0]:
                await response.write(alive)
            return choosing.result()
        except NoAnswer as error:
            return error
        finally:
            choosing.cancel()
            await asyncio.gather(choosing, return_exceptions=True)

    async def _hold(self, request: web.Request) -> None:
        """Wait until the agent hangs up."""
        while request.transport is not None and not request.transport.is_closing():
            await asyncio.sleep(0.005)
        self.stopped += 1

    def _encode(self, reply: Reply | NoAnswer, body: Body, use: CacheUse) -> list[bytes]:
        self.use = use
        streams = bool(body.get("stream"))
        if isinstance(reply, NoAnswer):
            told = {"error": {"message": str(reply), "type": "server_error", "param": None, "code": None}}
            return [self.render_event(told) if streams else json.dumps(told).encode()]
        if not streams:
            return [json.dumps(self.whole(reply, body)).encode()]
        end = () if reply.endless else (b"data: [DONE]\n\n",)
        return [*(self.render_event(event) for event in self.stream(reply, body)), *end]
