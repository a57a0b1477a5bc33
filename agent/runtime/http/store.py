"""Routes of store items."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body
from langgraph.store.base import Item, SearchItem
from starlette.responses import Response

from agent.errors import Invalid
from agent.runtime.domain import Json
from agent.runtime.http.base import Runtime, json_response
from agent.runtime.http.bodies import StoreDelete, StoreListNamespaces, StorePut, StoreSearch
from agent.runtime.http.trust import Trusted, check_namespace
from agent.runtime.store.item_filter import find_filter_problem
from agent.shared.json_routes import make_router

router = make_router("store", prefix="/store")


def _check_namespace(labels: list[str]) -> tuple[str, ...]:
    if not labels:
        raise Invalid("namespace: must not be empty")
    for label in labels:
        if not label or "." in label:
            raise Invalid(f"namespace: {label!r} is empty or contains a period")
    return tuple(labels)


def _item_view(item: Item) -> Json:
    view: Json = {
        "namespace": list(item.namespace),
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
    }
    return {**view, "score": item.score} if isinstance(item, SearchItem) else view


@router.put("/items", status_code=204)
async def put_item(runtime: Runtime, trusted: Trusted, body: StorePut) -> Response:
    """Store an item."""
    check_namespace(trusted, body.namespace)
    if body.ttl is not None:
        raise Invalid("ttl: not supported in this version")
    await runtime.items.aput(_check_namespace(body.namespace), body.key, body.value, body.index)
    return Response(status_code=204)


@router.get("/items")
async def get_item(runtime: Runtime, key: str, namespace: str = "") -> Response:
    """Return an item, or null if it does not exist."""
    item = await runtime.items.aget(_check_namespace(namespace.split(".")), key)
    return json_response(None if item is None else _item_view(item))


@router.delete("/items", status_code=204)
async def delete_item(runtime: Runtime, trusted: Trusted, body: StoreDelete) -> Response:
    """Delete an item."""
    check_namespace(trusted, body.namespace)
    await runtime.items.adelete(_check_namespace(body.namespace), body.key)
    return Response(status_code=204)


@router.post("/items/search")
async def search_items(
    runtime: Runtime, body: Annotated[StoreSearch, Body(default_factory=StoreSearch)]
) -> Response:
    """Search items in a namespace."""
    if problem := find_filter_problem(body.filter or {}):
        raise Invalid(problem)
    items = await runtime.items.asearch(
        tuple(body.namespace_prefix),
        query=body.query,
        filter=body.filter,
        limit=body.limit,
        offset=body.offset,
    )
    return json_response({"items": [_item_view(item) for item in items]})


@router.post("/namespaces")
async def list_namespaces(
    runtime: Runtime, body: Annotated[StoreListNamespaces, Body(default_factory=StoreListNamespaces)]
) -> Response:
    """List namespaces that contain items."""
    namespaces = await runtime.items.alist_namespaces(
        prefix=None if body.prefix is None else tuple(body.prefix),
        suffix=None if body.suffix is None else tuple(body.suffix),
        max_depth=body.max_depth,
        limit=body.limit,
        offset=body.offset,
    )
    return json_response({"namespaces": [list(labels) for labels in namespaces]})
