"""Routes of assistants."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Annotated, Any

from fastapi import Body
from langchain_core.runnables import RunnableConfig
from pydantic import BaseModel, create_model
from pydantic.errors import PydanticUserError
from starlette.responses import Response

from agent.errors import BadRequest, Conflict, Invalid, NotFound, Refused
from agent.runtime.access import allows
from agent.runtime.domain import Assistant, Json, new_id, require_uuid
from agent.runtime.graphs import DESCRIBE, AnyGraph
from agent.runtime.http.base import AssistantId, Flag, OpenRuntime, Runtime, json_response, pagination_headers
from agent.runtime.http.bodies import (
    AssistantCreate,
    AssistantPatch,
    AssistantSearch,
    VersionChange,
    VersionSearch,
)
from agent.runtime.http.trust import Trusted, check_identity
from agent.runtime.serializers import assistant_view, select_keys
from agent.runtime.store import assistants, threads
from agent.runtime.thread_removal import PAGE, remove_thread
from agent.shared.json_routes import make_router

router = make_router("assistants", prefix="/assistants")


@router.post("")
async def create_assistant(runtime: Runtime, trusted: Trusted, body: AssistantCreate) -> Response:
    """Create an assistant."""
    check_identity(trusted, (body.config.get("configurable"), body.context))
    if body.graph_id not in runtime.graphs.names:
        raise NotFound(f"No graph named {body.graph_id!r}")
    config, context = mirror_settings(body.config, body.context)
    assistant_id, present = new_id(), None
    if body.assistant_id is not None:
        assistant_id = require_uuid(body.assistant_id, "assistant id")
        with suppress(NotFound):
            present = await runtime.find_assistant(assistant_id)
    value = {**body.model_dump(include={"graph_id", "metadata", "name", "if_exists"})}
    value |= {"assistant_id": assistant_id, "config": config, "context": context}
    wanted = await runtime.access.authorize("assistants", "create", value)
    if present is not None:
        if body.if_exists == "do_nothing" and allows(wanted, present.metadata):
            return json_response(assistant_view(present))
        raise Conflict(f"Assistant {assistant_id} already exists")
    now = runtime.clock()
    assistant = Assistant(
        assistant_id=assistant_id,
        graph_id=body.graph_id,
        name=body.name or "Untitled",
        created_at=now,
        updated_at=now,
        description=body.description,
        config=value["config"],
        context=value["context"],
        metadata=value["metadata"],
    )
    await runtime.database.write(assistants.put_assistant, assistant)
    return json_response(assistant_view(assistant))


def mirror_settings(config: Json, context: Json, known: Json | None = None) -> tuple[Json, Json]:
    """Return config and context with the same settings, which older graphs read from `configurable`.

    `known` is used if neither has any. Raises `BadRequest` if both have some.
    """
    configurable = config.get("configurable") or {}
    if configurable and context:
        raise BadRequest("Give either context or config.configurable, not both")
    settings = context or configurable or known or {}
    return ({**config, "configurable": settings} if settings else config), settings


@router.post("/search")
async def search_assistants(
    runtime: Runtime, body: Annotated[AssistantSearch, Body(default_factory=AssistantSearch)]
) -> Response:
    """Search assistants."""
    found = await find_assistants(runtime, body)
    page = found[body.offset : body.offset + body.limit]
    views = [select_keys(assistant_view(item), body.select) for item in page]
    headers = pagination_headers(len(found), offset=body.offset, limit=body.limit)
    return json_response(views, headers=headers)


@router.post("/count")
async def count_assistants(
    runtime: Runtime, body: Annotated[AssistantSearch, Body(default_factory=AssistantSearch)]
) -> Response:
    """Count matching assistants."""
    return json_response(len(await find_assistants(runtime, body)))


async def find_assistants(runtime: OpenRuntime, body: AssistantSearch) -> list[Assistant]:
    """Return all matching assistants. Raises `NotFound` for the graph."""
    if body.graph_id is not None and body.graph_id not in runtime.graphs.names:
        raise NotFound(f"No graph named {body.graph_id!r}")
    value = {**body.model_dump(include={"graph_id", "limit", "offset"}), "metadata": body.metadata or {}}
    wanted = await runtime.access.authorize("assistants", "search", value)
    body = body.model_copy(update={"metadata": value["metadata"]})
    stored = await runtime.database.read(assistants.list_assistants)
    system = [runtime.graphs.system_assistant(name) for name in runtime.graphs.names]
    found = [item for item in [*stored, *system] if _matches(item, body) and allows(wanted, item.metadata)]
    return sorted(found, key=lambda item: getattr(item, body.sort_by), reverse=body.sort_order == "desc")


def _matches(assistant: Assistant, body: AssistantSearch) -> bool:
    if body.graph_id is not None and assistant.graph_id != body.graph_id:
        return False
    if body.name is not None and body.name.lower() not in assistant.name.lower():
        return False
    return _has_metadata(assistant, body.metadata)


def _has_metadata(assistant: Assistant, wanted: Json | None) -> bool:
    return all(assistant.metadata.get(key) == value for key, value in (wanted or {}).items())


@router.get("/{assistant_id}/graph")
async def get_assistant_graph(runtime: Runtime, assistant_id: str, xray: str = "") -> Response:
    """Return the nodes and edges of an assistant's graph; with `xray`, also those of its subgraphs."""
    depth: bool | int = xray.lower() in {"true", "yes"}
    if re.fullmatch(r"-?[0-9]{1,9}", xray) and not (depth := int(xray)) > 0:
        raise Invalid("xray: must be true, false or a positive depth")
    async with _open_graph(runtime, await runtime.authorize_assistant(assistant_id, "read", {})) as graph:
        view = (await graph.aget_graph(xray=depth)).to_json()
    for node in view["nodes"]:
        if isinstance(node.get("data"), dict):
            node["data"].pop("id", None)  # the path of a class in langgraph
    return json_response(view)


@router.get("/{assistant_id}/schemas")
async def get_assistant_schemas(runtime: Runtime, assistant_id: AssistantId) -> Response:
    """Return the JSON schemas of an assistant's input, output, state, config and context."""
    assistant = await runtime.authorize_assistant(assistant_id, "read", {})
    async with _open_graph(runtime, assistant) as graph:
        title = f"{assistant.graph_id}_state"
        return json_response({"graph_id": assistant.graph_id, **_describe_graph(graph, title)})


async def read_input_schema(runtime: OpenRuntime, assistant: Assistant) -> Json | None:
    """Return the JSON schema of an assistant's input, or None if it has none."""
    async with _open_graph(runtime, assistant) as graph:
        return _try_schema(graph.get_input_jsonschema)


@router.get("/{assistant_id}/subgraphs")
async def list_assistant_subgraphs(
    runtime: Runtime, assistant_id: AssistantId, recurse: Flag = False
) -> Response:
    """Return the JSON schemas of the subgraphs of an assistant's graph, by namespace."""
    return await _list_subgraphs(runtime, assistant_id, None, recurse)


@router.get("/{assistant_id}/subgraphs/{namespace}")
async def get_assistant_subgraph(
    runtime: Runtime, assistant_id: AssistantId, namespace: str, recurse: Flag = False
) -> Response:
    """Return the JSON schemas of the subgraph in this namespace."""
    return await _list_subgraphs(runtime, assistant_id, namespace, recurse)


async def _list_subgraphs(
    runtime: OpenRuntime, assistant_id: str, namespace: str | None, recurse: bool
) -> Response:
    async with _open_graph(runtime, await runtime.authorize_assistant(assistant_id, "read", {})) as graph:
        found = graph.aget_subgraphs(namespace=namespace, recurse=recurse)
        return json_response({name: _describe_graph(one, one.get_name("State")) async for name, one in found})


def _describe_graph(graph: Any, title: str) -> Json:
    return {
        "input_schema": _try_schema(graph.get_input_jsonschema),
        "output_schema": _try_schema(graph.get_output_jsonschema),
        "state_schema": _try_schema(partial(_make_state_schema, graph, title)),
        "config_schema": _try_schema(graph.get_context_jsonschema) or {},
        "context_schema": _try_schema(graph.get_context_jsonschema),
    }


def _make_state_schema(graph: Any, title: str) -> Json:
    """Return the schema of a graph's state, in which every channel may be missing."""
    fields: Any = {name: (graph.channels[name].UpdateType, None) for name in graph.stream_channels_list}
    state: type[BaseModel] = create_model(title, **fields)
    return state.model_json_schema()


@asynccontextmanager
async def _open_graph(runtime: OpenRuntime, assistant: Assistant) -> AsyncIterator[AnyGraph]:
    config: RunnableConfig = {"configurable": dict(assistant.config.get("configurable", {}))}
    async with runtime.graphs.open_graph(assistant.graph_id, config, access=DESCRIBE) as graph:
        yield graph


def _try_schema(make: Callable[[], Any]) -> Json | None:
    """Return a schema, or None if there is none because a graph uses types that pydantic can't describe."""
    try:
        schema: Json | None = make()
    except (TypeError, ValueError, AttributeError, PydanticUserError):
        return None
    return schema


@router.get("/{assistant_id}")
async def get_assistant(runtime: Runtime, assistant_id: AssistantId) -> Response:
    """Return an assistant."""
    return json_response(assistant_view(await runtime.authorize_assistant(assistant_id, "read", {})))


@router.patch("/{assistant_id}")
async def patch_assistant(
    runtime: Runtime,
    trusted: Trusted,
    assistant_id: AssistantId,
    body: Annotated[AssistantPatch, Body(default_factory=AssistantPatch)],
) -> Response:
    """Change an assistant and increment its version."""
    check_identity(trusted, ((body.config or {}).get("configurable"), body.context))
    value = {**body.model_dump(), "metadata": body.metadata or {}}
    assistant = await _find_changeable(runtime, assistant_id, "update", value)
    body = body.model_copy(update={**value, "metadata": value["metadata"] or body.metadata})
    changes = {name: value for name, value in body.model_dump().items() if value is not None}
    if body.config or body.context:
        config = body.config or {**assistant.config, "configurable": {}}
        config, context = mirror_settings(config, body.context or {}, assistant.context)
        changes |= {"config": config, "context": context}
    else:
        changes = {name: value for name, value in changes.items() if name not in ("config", "context")}
    if changes.get("graph_id", runtime.graphs.names[0]) not in runtime.graphs.names:
        raise NotFound(f"No graph named {changes['graph_id']!r}")
    change = assistants.change_assistant
    changed = await runtime.database.write(change, assistant_id, changes, now=runtime.clock())
    return json_response(assistant_view(changed))


@router.post("/{assistant_id}/versions")
async def list_assistant_versions(
    runtime: Runtime,
    assistant_id: AssistantId,
    body: Annotated[VersionSearch, Body(default_factory=VersionSearch)],
) -> Response:
    """List the versions of an assistant, newest first."""
    assistant = await runtime.authorize_assistant(assistant_id, "read", {})
    stored = await runtime.database.read(assistants.list_versions, assistant_id)
    found = [item for item in stored or [assistant] if _has_metadata(item, body.metadata)]
    views = [assistant_view(item) for item in found[body.offset : body.offset + body.limit]]
    for view in views:
        del view["updated_at"]  # a version does not change
    return json_response(views)


@router.post("/{assistant_id}/latest")
async def set_latest_assistant_version(
    runtime: Runtime, assistant_id: AssistantId, body: VersionChange
) -> Response:
    """Make a version of an assistant the current one again."""
    await _find_changeable(runtime, assistant_id, "update", {"version": body.version})
    set_latest = assistants.set_latest
    changed = await runtime.database.write(set_latest, assistant_id, body.version, now=runtime.clock())
    return json_response(assistant_view(changed))


@router.delete("/{assistant_id}", status_code=204)
async def delete_assistant(
    runtime: Runtime, assistant_id: AssistantId, delete_threads: Flag = False
) -> Response:
    """Delete an assistant and, if `delete_threads` is true, the threads of its runs."""
    assistant = await _find_changeable(runtime, assistant_id, "delete", {})
    if delete_threads:
        query = threads.ThreadQuery(metadata={"assistant_id": assistant.assistant_id}, limit=PAGE)
        while rows := (await runtime.database.read(threads.search_threads, query)).rows:
            for thread in rows:
                try:
                    await runtime.authorize_thread(thread.thread_id, "delete")
                except (NotFound, Refused):
                    query = replace(query, offset=query.offset + 1)
                    continue
                with suppress(NotFound):  # deleted meanwhile
                    await remove_thread(runtime, thread.thread_id)
    await runtime.database.write(assistants.delete_assistant, assistant.assistant_id)
    return Response(status_code=204)


async def _find_changeable(runtime: OpenRuntime, assistant_id: str, action: str, value: Json) -> Assistant:
    assistant = await runtime.authorize_assistant(assistant_id, action, value)
    if assistant.metadata.get("created_by") == "system":
        raise BadRequest("The system assistant of a graph can't be changed")
    return assistant
