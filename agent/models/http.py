"""HTTP clients for models, whose connections belong to the event loop that uses them.

An open connection works only in the loop that opened it. The packages of OpenAI and Anthropic use one client
in the whole process, so a program's second loop would get connections of its first ("Event loop is closed").
Their models therefore get a client that opens connections for each loop.

In a server, models that accept a client get one that uses aiohttp: httpx's own transport scans its whole
connection pool whenever a request starts or ends; with a hundred parallel answers that was an eighth of the
agent's CPU time. Elsewhere httpx is the better choice: before it reuses a connection, it checks whether the
provider has closed it in the meantime, even if the loop did not run all that time.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import cache, partial
from importlib import import_module
from typing import Any, Self, TypeVar

import aiohttp
import httpx
from httpx_aiohttp import HttpxAiohttpClient

from agent.models.errors import stop_long_retries

CONNECTIONS, IDLE_CONNECTIONS = 1000, 100
"""What the packages of OpenAI and Anthropic allow their own clients (`_constants`)."""
_SHARED_BY = {
    "langchain_openai.chat_models._client_utils": "openai",
    "langchain_anthropic._client_utils": "anthropic",
}
"""Modules that create the process-wide client of a package, and the provider's own package beneath."""
ModelT = TypeVar("ModelT")


class PerLoopTransport:
    """A transport of httpx with separate connections for each event loop, closed together with the loop.

    `make` creates the transport of one loop. asyncio closes asynchronous generators before it closes a loop
    (`loop.shutdown_asyncgens`, part of `asyncio.run`), so a generator for each loop closes the connections.
    Connections of a loop that was closed without that are dropped.
    """

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make
        self._open: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[None]]] = {}

    async def handle_async_request(self, request: Any) -> Any:
        """Send the request over a connection of the running loop."""
        return await (await self._get_transport()).handle_async_request(request)

    async def aclose(self) -> None:
        """Close the connections of the running loop."""
        found = self._open.get(asyncio.get_running_loop())
        if found is not None:
            await found[1].aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *details: object) -> None:
        await self.aclose()

    async def _get_transport(self) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in self._open:
            # Reads the certificates.
            transport = await asyncio.to_thread(self._make)
            if loop not in self._open:
                self._drop_closed_loops()
                closer = self._close_with_loop(loop, transport)
                self._open[loop] = transport, closer
                await anext(closer)
        return self._open[loop][0]

    def _drop_closed_loops(self) -> None:
        for loop in [loop for loop in list(self._open) if loop.is_closed()]:
            self._open.pop(loop, None)

    async def _close_with_loop(self, loop: asyncio.AbstractEventLoop, transport: Any) -> AsyncGenerator[None]:
        try:
            yield
        finally:
            self._open.pop(loop, None)
            await transport.aclose()


class _OpensPerLoop:
    """Makes an httpx client use a PerLoopTransport, also for each proxy in the environment."""

    def _init_transport(self, *args: Any, **options: Any) -> Any:
        make = partial(super()._init_transport, *args, **options)  # type: ignore[misc]
        return PerLoopTransport(make)

    def _init_proxy_transport(self, *args: Any, **options: Any) -> Any:
        make = partial(super()._init_proxy_transport, *args, **options)  # type: ignore[misc]
        return PerLoopTransport(make)


class _AiohttpClient(_OpensPerLoop, HttpxAiohttpClient):
    """Maps failures to httpx's classes; httpx-aiohttp 0.2 reports a lost connection as a time-out."""

    async def send(self, request: httpx.Request, **options: Any) -> httpx.Response:
        try:
            return await super().send(request, **options)
        except httpx.ConnectTimeout as error:
            cause = error.__cause__
            if isinstance(cause, TimeoutError):
                raise
            kind = httpx.ConnectError if isinstance(cause, aiohttp.ClientConnectorError) else httpx.ReadError
            raise kind(str(error), request=request) from cause


_open: list[httpx.AsyncClient] = []


@asynccontextmanager
async def shared_client() -> AsyncIterator[None]:
    """Build models on top of aiohttp in this context, if they accept an HTTP client."""
    async with _AiohttpClient(**_client_options(httpx)) as client:
        _open.append(client)
        try:
            yield
        finally:
            _open.remove(client)


def open_client() -> httpx.AsyncClient | None:
    """Return the shared client, if one is open."""
    return _open[-1] if _open else None


@cache
def per_loop_client(package: str, proxy: str | None = None) -> Any:
    """Return the client for all models of the package `openai` or `anthropic` that use this proxy."""
    # The packages' own subclasses create their transports themselves.
    base = import_module(package).DefaultAsyncHttpxClient.__base__
    library = import_module(base.__module__.partition(".")[0])
    made = type("PerLoopClient", (_OpensPerLoop, base), {})
    return made(proxy=proxy, **_client_options(library))


def _client_options(library: Any) -> dict[str, Any]:
    """Return the options of a client of `library`, which is httpx or its successor."""
    return {
        "limits": library.Limits(max_connections=CONNECTIONS, max_keepalive_connections=IDLE_CONNECTIONS),
        "follow_redirects": True,
        "event_hooks": {"response": [stop_long_retries]},
    }


def use_per_loop_client(model: ModelT) -> ModelT:
    """Return the model with a client that works in all event loops.

    It is a copy if the model has its package's process-wide client, else the model itself: a client or
    socket options that somebody chose stay.
    """
    if getattr(model, "http_socket_options", None) is not None:
        return model
    changed: dict[str, Any] = {}
    for name in ("root_async_client", "_async_client"):
        sdk = getattr(model, name, None)
        package = _SHARED_BY.get(type(getattr(sdk, "_client", None)).__module__)
        if sdk is not None and package is not None:
            proxy = getattr(model, f"{package}_proxy", None)
            changed[name] = sdk.with_options(http_client=per_loop_client(package, proxy))
    if "root_async_client" in changed:
        changed["async_client"] = changed["root_async_client"].chat.completions
    if not changed:
        return model
    bound: Any = model.model_copy()  # type: ignore[attr-defined]
    # The fields are not validated, and Anthropic's client is a cached property, which the instance stores.
    bound.__dict__.update(changed)
    return bound  # type: ignore[no-any-return]
