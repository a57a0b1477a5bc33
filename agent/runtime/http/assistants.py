"""Routes of assistants."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from langchain_core.runnables import RunnableConfig
from pydantic.errors import PydanticUserError
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import BadRequest, Conflict, NotFound
from agent.runtime.domain import Assistant, Json
from agent.runtime.graphs import DESCRIBE, AnyGraph
from agent.runtime.http.bodies import AssistantBody, AssistantPatch, AssistantSearch
from agent.runtime.http.context import Parts, parts_of, path_id
from agent.runtime.http.responses import answer, pages, read_body, truth
from agent.runtime.ids import new_id, require_uuid
from agent.runtime.serializers import assistant_view, selected


async def get(request: Request) -> Response:
    """One assistant."""
    return answer(assistant_view(await parts_of(request).assistant(path_id(request, "assistant_id"))))


async def create(request: Request) -> Response:
    """Create an assistant."""
    parts = parts_of(request)
    body = await read_body(request, AssistantBody)
    if body.graph_id not in parts.graphs.names:
        raise NotFound(f"No graph named {body.graph_id!r}")
    wanted = body.assistant_id
    assistant_id = require_uuid(wanted, "assistant id") if wanted is not None else new_id()
    if wanted is not None:
        try:
            present = await parts.assistant(assistant_id)
        except NotFound:
            pass
        else:
            if body.if_exists == "do_nothing":
                return answer(assistant_view(present))
            raise Conflict(f"Assistant {assistant_id} already exists")
    now = parts.clock()
    made = Assistant(
        assistant_id=assistant_id,
        graph_id=body.graph_id,
        name=body.name or "Untitled",
        created_at=now,
        updated_at=now,
        description=body.description,
        config=body.config,
        context=body.context,
        metadata=body.metadata,
    )
    await parts.store.put_assistant(made)
    return answer(assistant_view(made))


async def patch(request: Request) -> Response:
    """Change an assistant; its version rises."""
    parts = parts_of(request)
    body = await read_body(request, AssistantPatch)
    assistant = await _own(parts, path_id(request, "assistant_id"))
    changes = {name: value for name, value in body.model_dump().items() if value is not None}
    if "metadata" in changes:
        changes["metadata"] = {**assistant.metadata, **changes["metadata"]}
    if changes.get("graph_id", assistant.graph_id) not in parts.graphs.names:
        raise NotFound(f"No graph named {changes['graph_id']!r}")
    made = replace(assistant, **changes, version=assistant.version + 1, updated_at=parts.clock())
    await parts.store.put_assistant(made)
    return answer(assistant_view(made))


async def delete(request: Request) -> Response:
    """Drop an assistant."""
    parts = parts_of(request)
    assistant = await _own(parts, path_id(request, "assistant_id"))
    await parts.store.delete_assistant(assistant.assistant_id)
    return Response(status_code=204)


async def _own(parts: Parts, assistant_id: str) -> Assistant:
    assistant = await parts.assistant(assistant_id)
    if assistant.metadata.get("created_by") == "system":
        raise BadRequest("A graph's own assistant can't be changed")
    return assistant


async def _found(request: Request) -> tuple[AssistantSearch, list[Assistant]]:
    parts = parts_of(request)
    body = await read_body(request, AssistantSearch)
    system = [parts.graphs.system_assistant(name) for name in parts.graphs.names]
    found = [item for item in [*await parts.store.list_assistants(), *system] if _fits(item, body)]
    found.sort(key=lambda item: getattr(item, body.sort_by), reverse=body.sort_order == "desc")
    return body, found


def _fits(assistant: Assistant, body: AssistantSearch) -> bool:
    if body.graph_id is not None and assistant.graph_id != body.graph_id:
        return False
    if body.name is not None and body.name.lower() not in assistant.name.lower():
        return False
    return all(assistant.metadata.get(key) == value for key, value in (body.metadata or {}).items())


async def search(request: Request) -> Response:
    """A page of assistants."""
    body, found = await _found(request)
    page = found[body.offset : body.offset + body.limit]
    views = [selected(assistant_view(item), body.select) for item in page]
    return answer(views, headers=pages(len(found), offset=body.offset, limit=body.limit))


async def count(request: Request) -> Response:
    """How many assistants fit."""
    return answer(len((await _found(request))[1]))


async def graph(request: Request) -> Response:
    """The graph's drawing: nodes and edges."""
    text = request.query_params.get("xray", "")
    xray: bool | int = int(text) if text.isdigit() else truth(request, "xray")
    async with _described(request) as found:
        return answer((await found.aget_graph(xray=xray)).to_json())


async def schemas(request: Request) -> Response:
    """JSON schemas of input, output, state, config and context."""
    parts = parts_of(request)
    assistant = await parts.assistant(path_id(request, "assistant_id"))
    async with _described(request) as found:
        view = {
            "graph_id": assistant.graph_id,
            "input_schema": _schema(found.get_input_jsonschema),
            "output_schema": _schema(found.get_output_jsonschema),
            "state_schema": _schema(found.get_output_jsonschema),
            "config_schema": _schema(found.get_context_jsonschema),
            "context_schema": _schema(found.get_context_jsonschema),
        }
    return answer(view)


def _schema(make: Any) -> Json | None:
    """A schema, or None where a type has none (a graph may hold types that pydantic can't describe)."""
    try:
        found: Json | None = make()
    except (TypeError, ValueError, AttributeError, PydanticUserError):
        return None
    return found


class _described:
    """The graph of the request's assistant, for reading its structure."""

    def __init__(self, request: Request) -> None:
        self._request = request

    async def __aenter__(self) -> AnyGraph:
        parts = parts_of(self._request)
        assistant = await parts.assistant(path_id(self._request, "assistant_id"))
        config: RunnableConfig = {"configurable": dict(assistant.config.get("configurable", {}))}
        self._context = parts.graphs.graph(assistant.graph_id, config, access=DESCRIBE)
        return await self._context.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        await self._context.__aexit__(*error)


_ONE = "/assistants/{assistant_id}"
ROUTES = [
    Route("/assistants", create, methods=["POST"]),
    Route("/assistants/search", search, methods=["POST"]),
    Route("/assistants/count", count, methods=["POST"]),
    Route(f"{_ONE}/graph", graph, methods=["GET"]),
    Route(f"{_ONE}/schemas", schemas, methods=["GET"]),
    Route(_ONE, get, methods=["GET"]),
    Route(_ONE, patch, methods=["PATCH"]),
    Route(_ONE, delete, methods=["DELETE"]),
]
