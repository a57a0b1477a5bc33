"""Routes of store items."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import Body
from langgraph.store.base import Item, SearchItem
from starlette.responses import Response

from agent.errors import Invalid, Refused
from agent.runtime.domain import Json
from agent.runtime.http.base import OpenRuntime, Runtime, json_response
from agent.runtime.http.bodies import StoreDelete, StoreListNamespaces, StorePut, StoreSearch
from agent.runtime.http.trust import Trusted, check_namespace
from agent.runtime.store.item_filter import find_filter_problem
from agent.shared.json_routes import make_router

NO_FILTER = "The auth handler returned a filter, but only searches can be filtered; change the namespace"
router = make_router("store", prefix="/store")


def _check_namespace(labels: Any, *, is_prefix: bool) -> tuple[str, ...]:
    if isinstance(labels, str):
        raise TypeError("an auth handler has set value['namespace'] to a string instead of a tuple")
    if is_prefix:
        return tuple(labels or ())  # the store checks it
    if not labels:
        raise Invalid("namespace: must not be empty")
    for label in labels:
        if not label or "." in label:
            raise Invalid(f"namespace: {label!r} is empty or contains a period")
    return tuple(labels)


async def _authorize(runtime: OpenRuntime, action: str, namespace: list[str] | None, **facts: Any) -> Json:
    """Return the arguments of an operation as the caller may use it. Raises `Refused`, `Invalid`."""
    value: Json = {"namespace": namespace and tuple(namespace), **facts}
    wanted = await runtime.access.authorize("store", action, value)
    if wanted and action != "search":
        raise Refused(NO_FILTER, 403)
    if wanted:
        asked = value["filter"] or {}
        if taken := asked.keys() & wanted.keys():
            raise Invalid(f"filter.{min(taken)}: the server sets this field for you")
        value["filter"] = {**asked, **wanted}
    place = _check_namespace(value["namespace"], is_prefix=action in ("search", "list_namespaces"))
    return {"namespace": place, **{name: value[name] for name in facts}}


def _to_utc(time: datetime) -> str:
    """Return a time with its zone, which SQLite does not store."""
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()


def _item_view(item: Item) -> Json:
    view: Json = {
        "namespace": list(item.namespace),
        "key": item.key,
        "value": item.value,
        "created_at": _to_utc(item.created_at),
        "updated_at": _to_utc(item.updated_at),
    }
    return {**view, "score": item.score} if isinstance(item, SearchItem) else view


@router.put("/items", status_code=204)
async def put_item(runtime: Runtime, trusted: Trusted, body: StorePut) -> Response:
    """Store an item."""
    check_namespace(trusted, body.namespace)
    if body.ttl is not None:
        raise Invalid("ttl: not supported in this version")
    facts = body.model_dump(include={"key", "value", "index"})
    await runtime.items.aput(**await _authorize(runtime, "put", body.namespace, **facts))
    return Response(status_code=204)


@router.get("/items")
async def get_item(runtime: Runtime, key: str, namespace: str = "") -> Response:
    """Return an item, or null if it does not exist."""
    item = await runtime.items.aget(**await _authorize(runtime, "get", namespace.split("."), key=key))
    return json_response(None if item is None else _item_view(item))


@router.delete("/items", status_code=204)
async def delete_item(runtime: Runtime, trusted: Trusted, body: StoreDelete) -> Response:
    """Delete an item."""
    check_namespace(trusted, body.namespace)
    await runtime.items.adelete(**await _authorize(runtime, "delete", body.namespace, key=body.key))
    return Response(status_code=204)


@router.post("/items/search")
async def search_items(
    runtime: Runtime, body: Annotated[StoreSearch, Body(default_factory=StoreSearch)]
) -> Response:
    """Search items in a namespace."""
    facts = body.model_dump(include={"filter", "limit", "offset", "query"})
    value = await _authorize(runtime, "search", body.namespace_prefix, **facts)
    if problem := find_filter_problem(value["filter"] or {}):
        raise Invalid(problem)
    items = await runtime.items.asearch(value.pop("namespace"), **value)
    return json_response({"items": [_item_view(item) for item in items]})


@router.post("/namespaces")
async def list_namespaces(
    runtime: Runtime, body: Annotated[StoreListNamespaces, Body(default_factory=StoreListNamespaces)]
) -> Response:
    """List namespaces that contain items."""
    facts = body.model_dump(include={"suffix", "max_depth", "limit", "offset"})
    value = await _authorize(runtime, "list_namespaces", body.prefix, **facts)
    namespaces = await runtime.items.alist_namespaces(prefix=value.pop("namespace") or None, **value)
    return json_response({"namespaces": [list(labels) for labels in namespaces]})
