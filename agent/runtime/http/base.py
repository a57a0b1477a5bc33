"""Building blocks for routes: the open runtime, parameters, responses and streams."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Final
from uuid import UUID

import orjson
from fastapi import Depends, Query, Request
from langgraph.store.base import BaseStore
from pydantic import AfterValidator, BeforeValidator
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from agent.errors import ApiError, Invalid, NotFound, Refused
from agent.runtime.access import ACCESS_KEY, FULL_ACCESS, REQUEST_USER, Authorizer, Filter, allows
from agent.runtime.crons import CronRunner
from agent.runtime.domain import Assistant, Clock, Json, assistant_uuid, require_uuid
from agent.runtime.encode import dumps
from agent.runtime.graphs import GraphRegistry
from agent.runtime.health import DatabaseProbe
from agent.runtime.manager import RunManager
from agent.runtime.run_saver import RunSaver
from agent.runtime.settings import RuntimeSettings
from agent.runtime.states import ThreadStates
from agent.runtime.store import threads
from agent.runtime.store.assistants import get_assistant
from agent.runtime.store.database import RuntimeDatabase
from agent.runtime.store.events import EventLog
from agent.runtime.webhooks import WebhookSender

JSON: Final = "application/json"


@dataclass(slots=True)
class OpenRuntime:
    """Databases, graphs and runs of a running runtime."""

    settings: RuntimeSettings
    database: RuntimeDatabase
    event_log: EventLog
    saver: RunSaver
    items: BaseStore
    graphs: GraphRegistry
    manager: RunManager
    states: ThreadStates
    clock: Clock
    probe: DatabaseProbe
    crons: CronRunner
    webhooks: WebhookSender
    system_assistants: dict[str, Assistant] = field(default_factory=dict)
    """System assistants by requested graph name or id."""
    access: Authorizer = FULL_ACCESS
    """What the caller of the current request may do."""

    async def find_assistant(self, name: str, *, otherwise: type[ApiError] = Invalid) -> Assistant:
        """Return an assistant by graph name or id. Raises `NotFound`, `otherwise` for an unknown name."""
        if (found := self.system_assistants.get(name)) is not None:
            return found
        if name in self.graphs.names:
            return self._add_system_assistant(name, graph_id=name)
        try:
            assistant_id = str(UUID(name))
        except ValueError:
            raise otherwise(f"No graph or assistant named {name!r}") from None
        for graph_id in self.graphs.names:
            if assistant_uuid(graph_id) == assistant_id:
                return self._add_system_assistant(assistant_id, graph_id=graph_id)
        stored = await self.database.read(get_assistant, assistant_id)
        if stored is None:
            raise NotFound(f"Assistant {assistant_id} not found")
        return stored

    async def authorize_assistant(self, assistant_id: str, action: str, value: Json) -> Assistant:
        """Return an assistant on which the caller may act. Raises `NotFound`, `Refused`."""
        assistant = await self.find_assistant(assistant_id)
        value["assistant_id"] = assistant.assistant_id
        wanted = await self.access.authorize("assistants", action, value)
        if not allows(wanted, assistant.metadata):
            raise NotFound(f"Assistant {assistant.assistant_id} not found")
        return assistant

    async def authorize_thread(self, thread_id: str, *actions: str, **facts: Any) -> Json:
        """Check that the caller may act on a thread, and return the facts as a handler has changed them.

        Raises `NotFound`, `Refused`.
        """
        for action in actions:
            facts["thread_id"] = thread_id
            wanted = await self.access.authorize("threads", action, facts)
            if not await self.may_reach(thread_id, wanted):
                raise NotFound(f"Thread {thread_id} not found")
        return facts

    async def may_reach(self, thread_id: str, wanted: Filter | None, *, if_missing: bool = False) -> bool:
        """Return whether a thread matches a filter."""
        metadata = await self.database.read(threads.find_metadata, thread_id) if wanted else None
        return not wanted or (if_missing if metadata is None else allows(wanted, metadata))

    def _add_system_assistant(self, name: str, *, graph_id: str) -> Assistant:
        self.system_assistants[name] = self.graphs.system_assistant(graph_id)
        return self.system_assistants[name]


async def runtime_of(request: Request) -> OpenRuntime:
    """Return the runtime that serves this request."""
    runtime: OpenRuntime = request.app.state.runtime
    access: Authorizer | None = request.scope.get(ACCESS_KEY)
    if access is None:
        if runtime.settings.project.auth is not None and request.url.path != "/ok":
            raise Refused("Unauthorized", 401)
    elif access.user is not None:
        REQUEST_USER.set(access.user)
        return replace(runtime, access=access)
    return runtime


Runtime = Annotated[OpenRuntime, Depends(runtime_of)]


def json_response(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(dumps(value), status, headers, JSON)


def error_response(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an error response with the body `{"detail": …}`."""
    return json_response({"detail": detail}, status=status, headers=headers)


def pagination_headers(total: int, *, offset: int, limit: int) -> dict[str, str]:
    """Return the `X-Pagination-*` headers of a list."""
    headers = {"X-Pagination-Total": str(total)}
    if offset + limit < total:
        headers["X-Pagination-Next"] = str(offset + limit)
    return headers


def _parse_list(values: Any) -> Any:
    """Parse a repeated query parameter, or a single JSON array or comma-separated text."""
    if not isinstance(values, list):
        return values
    found = [text for text in values if text]
    if len(found) == 1 and found[0].startswith("["):
        try:
            return [str(item) for item in orjson.loads(found[0])]
        except orjson.JSONDecodeError as error:
            raise Invalid("Expected a JSON array") from error
    if len(found) == 1 and "," in found[0]:
        return found[0].split(",")
    return found or None


def _parse_flag(value: Any) -> Any:
    return value.lower() in {"1", "true", "yes"} if isinstance(value, str) else value


ThreadId = Annotated[str, AfterValidator(lambda text: require_uuid(text, "thread id"))]
RunId = Annotated[str, AfterValidator(lambda text: require_uuid(text, "run id"))]


def _authorized_for(*actions: str) -> Any:
    async def check_thread(request: Request, runtime: Runtime, thread_id: ThreadId) -> str:
        facts = {name: request.path_params[name] for name in ("run_id",) if name in request.path_params}
        await runtime.authorize_thread(thread_id, *actions, **facts)
        return thread_id

    return Depends(check_thread)


ReadThread = Annotated[str, _authorized_for("read")]
ListedThread = Annotated[str, _authorized_for("read", "search")]
UpdateThread = Annotated[str, _authorized_for("read", "update")]
CancelThread = Annotated[str, _authorized_for("update")]
DeleteThread = Annotated[str, _authorized_for("delete")]
"""Ids of threads on which the caller may act."""
AssistantId = Annotated[str, AfterValidator(lambda text: require_uuid(text, "assistant id"))]
Flag = Annotated[bool, BeforeValidator(_parse_flag), Query()]
StringList = Annotated[list[str] | None, BeforeValidator(_parse_list), Query()]


class ClosingStream(StreamingResponse):
    """A long response from an async generator.

    `on_close(complete)` is called exactly once, even if the client disconnects before the first chunk.
    `complete` is false if the client disconnected or the generator raised. An exception truncates the
    response, so the client retries.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes],
        headers: Mapping[str, str],
        *,
        on_close: Callable[[bool], object],
    ) -> None:
        super().__init__(chunks, headers=headers)
        self._chunks = chunks
        self._on_close = on_close
        self._complete = False

    async def stream_response(self, send: Send) -> None:
        """Send all chunks, then close the generator even after an error."""
        async with aclosing(self._chunks):
            await super().stream_response(send)
        self._complete = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve as an ASGI application."""
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:
            # The process is stopping; the client has not disconnected.
            self._complete = True
            raise
        finally:
            self._on_close(self._complete)
