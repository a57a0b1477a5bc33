"""Streamable HTTP of the protocol version 2026-07-28, as streams for the mcp package's session.

The package's own transport supports only versions with sessions. Here each request is a separate POST;
canceling it closes its response, which cancels it on the server (basic/patterns/cancellation).
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
import httpx
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from httpx_sse import EventSource
from mcp import types as protocol
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from agent.errors import McpError
from agent.mcp.http_client import read_message
from agent.mcp.stateless import LISTEN, HeaderParameters, build_headers

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


@asynccontextmanager
async def open_stateless_http(
    url: str, client: httpx.AsyncClient, parameters: HeaderParameters
) -> AsyncIterator[tuple[Any, Any]]:
    """Open the transport; return its streams of incoming and outgoing messages."""
    incoming, reading = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    writing, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    posts = _Posts(url, client, parameters, incoming)
    async with incoming, outgoing, reading, writing, anyio.create_task_group() as group:
        group.start_soon(posts.send_all, outgoing, group)
        try:
            yield reading, writing
        finally:
            group.cancel_scope.cancel()


class _Posts:
    """Sends requests, and passes their responses on."""

    def __init__(
        self, url: str, client: httpx.AsyncClient, parameters: HeaderParameters, incoming: Incoming
    ) -> None:
        self._url, self._client, self._parameters, self._incoming = url, client, parameters, incoming
        self._running: dict[str | int, anyio.CancelScope] = {}
        """Running requests by id."""

    async def send_all(self, outgoing: Outgoing, group: anyio.abc.TaskGroup) -> None:
        async for message in outgoing:
            root = message.message.root
            if isinstance(root, protocol.JSONRPCRequest):
                group.start_soon(self._run, root)
            elif isinstance(root, protocol.JSONRPCNotification) and root.method == "notifications/cancelled":
                scope = self._running.get((root.params or {}).get("requestId", ""))
                if scope is not None:
                    scope.cancel()

    async def _run(self, request: protocol.JSONRPCRequest) -> None:
        with anyio.CancelScope() as scope, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            self._running[request.id] = scope
            try:
                is_answered = await self._post(request)
            except (httpx.TransportError, McpError):
                # The client has reported the failure, which ends the session. Only LISTEN is repeated.
                is_answered = request.method != LISTEN
            except httpx.HTTPError:
                is_answered = False
            finally:
                del self._running[request.id]
            if not is_answered:
                await self._fail(request, protocol.CONNECTION_CLOSED, "Connection closed")

    async def _post(self, request: protocol.JSONRPCRequest) -> bool:
        """Send a request; return whether it was answered."""
        message = request.model_dump(by_alias=True, mode="json", exclude_none=True)
        headers, content = build_headers(message, self._parameters), json.dumps(message).encode()
        async with self._client.stream("POST", self._url, content=content, headers=headers) as response:
            kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "text/event-stream" and response.is_success:
                async for event in EventSource(response).aiter_sse():
                    if await self._deliver(event.data, request):
                        return True
                return False
            if not await self._deliver(await response.aread(), request):
                await self._fail(request, protocol.INVALID_REQUEST, f"status {response.status_code}")
            return True

    async def _deliver(self, text: str | bytes, request: protocol.JSONRPCRequest) -> bool:
        """Pass on a message of the response; return whether it answers the request."""
        data = read_message(text)
        try:
            if "method" in data:
                if "id" not in data:
                    await self._send(protocol.JSONRPCNotification.model_validate(data))
                return False
            if "error" in data:
                error = protocol.ErrorData.model_validate(data["error"])
                await self._send(protocol.JSONRPCError(jsonrpc="2.0", id=request.id, error=error))
                return True
            if str(data.get("id")) != str(request.id):
                return False
            await self._send(protocol.JSONRPCResponse.model_validate({**data, "id": request.id}))
        except ValidationError:
            return False
        return True

    async def _fail(self, request: protocol.JSONRPCRequest, code: int, message: str) -> None:
        error = protocol.ErrorData(code=code, message=message)
        await self._send(protocol.JSONRPCError(jsonrpc="2.0", id=request.id, error=error))

    async def _send(
        self, root: protocol.JSONRPCNotification | protocol.JSONRPCResponse | protocol.JSONRPCError
    ) -> None:
        await self._incoming.send(SessionMessage(protocol.JSONRPCMessage(root)))
