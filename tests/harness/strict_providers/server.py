"""A provider that answers from a script and rejects what the real one rejects.

The request has to fit the published schema, with no unknown field, and the rules between messages that the
provider documents. Each module names its sources; nothing is accepted because a client happens to send it.
"""

from __future__ import annotations

import asyncio
import json
import re
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, ClassVar

from aiohttp import web
from pydantic import BaseModel, ConfigDict, ValidationError

from tests.harness.strict_providers.caching import CacheUse, PromptCache, tokens_of
from tests.harness.strict_providers.images import find_bad_image

Body = dict[str, Any]


class Strict(BaseModel):
    """A part of a request without unknown fields and without coercion."""

    model_config = ConfigDict(extra="forbid", strict=True)


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of the model; `endless` never ends after its text, until the client hangs up."""

    text: str = ""
    calls: tuple[tuple[str, Body], ...] = ()
    finish: str = ""
    endless: bool = False

    def count_tokens(self) -> int:
        """Return the tokens of the answer."""
        return tokens_of(self.text) + sum(tokens_of(name + json.dumps(given)) for name, given in self.calls)


@dataclass(frozen=True, slots=True)
class RawReply:
    """An answer that the provider should never give, byte for byte; `breaks_off` closes the connection."""

    pieces: tuple[bytes, ...] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    breaks_off: bool = False


class RejectedRequest(Exception):
    """The request breaks a rule of the provider, which answers with its own status unless one is given."""

    def __init__(self, text: str, status: int | None = None) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Call:
    """A request with the number of attempts before it, and the connection that it came over."""

    path: str
    body: Body
    attempt: int
    connection: Any


class StrictProvider(ABC):
    """Checks each request and answers with the next reply."""

    name: ClassVar[str]
    base: ClassVar[str] = "/v1"
    route: ClassVar[str] = "/chat/completions"
    schema: ClassVar[type[BaseModel]]
    ends_with_done: ClassVar[bool] = True

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.rejections: list[str] = []
        self.stopped = 0
        self.cache: PromptCache | None = None
        """Counts the tokens of requests, if there is one; otherwise the usage is always the same."""
        self.use: CacheUse | None = None
        """What the current request uses."""
        self._replies: deque[Reply] = deque()
        self._choose: Callable[[Body], Reply | RawReply] = lambda _: self._replies.popleft()
        self._made = 0

    def reply(self, *replies: Reply) -> None:
        """Add answers to the script."""
        self._replies.extend(replies)

    @property
    def requests(self) -> list[Body]:
        """The bodies of the requests."""
        return [call.body for call in self.calls]

    def answer_with(self, choose: Callable[[Body], Reply | RawReply]) -> None:
        """Answer each request with what `choose` makes of it, in place of the script."""
        self._choose = choose

    @property
    def is_done(self) -> bool:
        """Whether every answer was given and no request was rejected."""
        return not self._replies and not self.rejections

    def number(self) -> int:
        """Return the next number, for ids."""
        self._made += 1
        return self._made

    def check(self, body: Body) -> None:
        """Raise RejectedRequest with the provider's kind of text."""
        try:
            self.schema.model_validate_json(json.dumps(body))
        except ValidationError as error:
            # Of the errors of a union, the innermost belongs to the kind that was meant.
            found = max(error.errors(include_url=False), key=lambda one: len(one["loc"]))
            raise RejectedRequest(self.describe(list(found["loc"]), found["msg"], body)) from None
        if problem := find_bad_image(body):
            raise RejectedRequest(problem)
        self.check_rules(body)

    def describe(self, place: list[int | str], problem: str, body: Body) -> str:
        """Return the text for a field that does not fit the schema."""
        return f"{'.'.join(map(str, place))}: {problem}"

    def check_headers(self, headers: Mapping[str, str]) -> None:
        """Raise RejectedRequest without a key."""
        if not re.fullmatch(r"Bearer \S+", headers.get("Authorization", "")):
            raise RejectedRequest("You didn't provide an API key.", 401)

    @abstractmethod
    def check_rules(self, body: Body) -> None:
        """Raise RejectedRequest if messages do not fit together."""

    @abstractmethod
    def render_error(self, text: str) -> tuple[int, Any]:
        """Return the status and the body of a rejection."""

    @abstractmethod
    def stream(self, reply: Reply, body: Body) -> Iterator[Body]:
        """Return the events of an answer."""

    @abstractmethod
    def whole(self, reply: Reply, body: Body) -> Body:
        """Return the answer as one body."""

    def add_routes(self, app: web.Application) -> None:
        """Add the routes of the provider."""
        app.router.add_post(self.base + self.route, self.answer)

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Serve one request."""
        body = await request.json()
        attempt = int(request.headers.get("x-stainless-retry-count", "0"))
        peer = request.transport.get_extra_info("peername") if request.transport else None
        self.calls.append(Call(request.path, body, attempt, peer))
        try:
            self.check_headers(request.headers)
            self.check(body)
        except RejectedRequest as error:
            self.rejections.append(str(error))
            status, told = self.render_error(str(error))
            return web.json_response(told, status=error.status or status)
        self.use = self.cache.count(body) if self.cache is not None else None
        reply = self._choose(body)
        if isinstance(reply, RawReply):
            return await _send_raw(request, reply)
        if not body.get("stream"):
            return web.json_response(self.whole(reply, body))
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        for event in self.stream(reply, body):
            await response.write(self.render_event(event))
        if reply.endless:
            while request.transport is not None and not request.transport.is_closing():
                await asyncio.sleep(0.005)
            self.stopped += 1
        elif self.ends_with_done:
            await response.write(b"data: [DONE]\n\n")
        return response

    def render_event(self, event: Body) -> bytes:
        """Return an event as it is sent."""
        return b"data: " + json.dumps(event).encode() + b"\n\n"

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Listen on a free port of this machine and return the base URL of the API."""
        async with listen(self) as address:
            yield address + self.base


@asynccontextmanager
async def listen(*providers: StrictProvider) -> AsyncIterator[str]:
    """Serve providers with different routes on a free port of this machine and return its address."""
    app = web.Application(client_max_size=1 << 24)
    for provider in providers:
        provider.add_routes(app)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


async def _send_raw(request: web.Request, reply: RawReply) -> web.StreamResponse:
    headers = {"Content-Type": "text/event-stream", **reply.headers}
    response = web.StreamResponse(status=reply.status, headers=headers)
    await response.prepare(request)
    for piece in reply.pieces:
        await response.write(piece)
    if reply.breaks_off and request.transport is not None:
        request.transport.abort()
    return response
