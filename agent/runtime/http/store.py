"""Routes of store items."""

from __future__ import annotations

from typing import Any

from langgraph.store.base import Item
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from agent.errors import Invalid
from agent.runtime.domain import Json
from agent.runtime.http.bodies import Item as ItemBody
from agent.runtime.http.bodies import ItemKey, ItemSearch, Namespaces
from agent.runtime.http.context import parts_of
from agent.runtime.http.responses import answer, read_body


def _namespace(labels: list[str]) -> tuple[str, ...]:
    if not labels:
        raise Invalid("namespace: must not be empty")
    for label in labels:
        if not label or "." in label:
            raise Invalid(f"namespace: {label!r} is empty or has a period")
    return tuple(labels)


def _view(item: Item) -> Json:
    view: Json = {
        "namespace": list(item.namespace),
        "key": item.key,
        "value": item.value,
        "created_at": item.created_at.isoformat(),
        "updated_at": item.updated_at.isoformat(),
    }
    score: Any = getattr(item, "score", None)
    return view if score is None else {**view, "score": score}


async def put(request: Request) -> Response:
    """Keep an item."""
    body = await read_body(request, ItemBody)
    if body.ttl is not None:
        raise Invalid("ttl: not in this version")
    await parts_of(request).items.aput(_namespace(body.namespace), body.key, body.value, body.index)
    return Response(status_code=204)


async def get(request: Request) -> Response:
    """One item, or null."""
    key = request.query_params.get("key")
    if key is None:
        raise Invalid("key is required")
    labels = request.query_params.get("namespace", "").split(".")
    item = await parts_of(request).items.aget(_namespace(labels), key)
    return answer(None if item is None else _view(item))


async def delete(request: Request) -> Response:
    """Drop an item."""
    body = await read_body(request, ItemKey)
    await parts_of(request).items.adelete(_namespace(body.namespace), body.key)
    return Response(status_code=204)


async def search(request: Request) -> Response:
    """Items below a namespace."""
    body = await read_body(request, ItemSearch)
    found = await parts_of(request).items.asearch(
        tuple(body.namespace_prefix),
        query=body.query,
        filter=body.filter,
        limit=body.limit,
        offset=body.offset,
    )
    return answer({"items": [_view(item) for item in found]})


async def namespaces(request: Request) -> Response:
    """Namespaces in use."""
    body = await read_body(request, Namespaces)
    found = await parts_of(request).items.alist_namespaces(
        prefix=None if body.prefix is None else tuple(body.prefix),
        suffix=None if body.suffix is None else tuple(body.suffix),
        max_depth=body.max_depth,
        limit=body.limit,
        offset=body.offset,
    )
    return answer({"namespaces": [list(labels) for labels in found]})


ROUTES = [
    Route("/store/items", put, methods=["PUT"]),
    Route("/store/items", get, methods=["GET"]),
    Route("/store/items", delete, methods=["DELETE"]),
    Route("/store/items/search", search, methods=["POST"]),
    Route("/store/namespaces", namespaces, methods=["POST"]),
]
