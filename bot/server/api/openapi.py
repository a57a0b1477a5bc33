"""Build the OpenAPI document of the service's own routes and of the proxied ones.

The bundled runtime's document is fetched once per start, that of an external runtime again after a few
minutes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx
import structlog
from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from bot.access import Role
from bot.server.api.auth import open_to
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.runtime_proxy import AREAS, LANGGRAPH, RuntimeClients

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/api", tags=["documentation"])
Json = dict[str, Any]

PLACE = "/openapi.json"
SECONDS = 10.0
KEPT = 300.0
AWAY = "Routes of the agent runtime are missing: it is not responding, or does not serve an OpenAPI document."
_COMPONENTS = "#/components/"


@dataclass(frozen=True, slots=True)
class OpenApiPart:
    """Another service's document (None: unavailable); `moved` maps its paths to paths of this port, None for
    a path that is not served.

    `name` prefixes its schemas, so that they never collide with the service's own.
    """

    name: str
    document: Json | None
    moved: Callable[[str], str | None]


class RuntimeDocuments:
    """Cache of the agent runtime's OpenAPI documents."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, float, Json]] = {}

    async def load_parts(self, services: ApiServices, runtime: RuntimeClients) -> Sequence[OpenApiPart]:
        """Return the documents of the LangGraph API and of the management routes."""
        langgraph = await self._load_document("agent", runtime.langgraph, services)
        if runtime.management is runtime.langgraph:
            return (
                OpenApiPart("agent", langgraph, _runtime_path),
                OpenApiPart("agent", langgraph, _management_path),
            )
        managed = await self._load_document("management", runtime.management, services)
        return (
            OpenApiPart("agent", langgraph, _runtime_path),
            OpenApiPart("management", managed, _management_path),
        )

    async def _load_document(
        self, name: str, client: httpx.AsyncClient, services: ApiServices
    ) -> Json | None:
        start, now = services.runtime_start(), services.clock.now()
        cached = self._kept.get(name)
        if cached is not None and cached[0] == start and (start or now - cached[1] < KEPT):
            return cached[2]
        found = await _fetch_document(client)
        if found is not None:
            self._kept[name] = (start, now, found)
        return found


@router.get("/openapi.json", include_in_schema=False)
@open_to(Role.MEMBER)
async def get_openapi(request: Request, services: Services) -> Response:
    """Return the OpenAPI document."""
    documents: RuntimeDocuments = request.app.state.described
    parts = await documents.load_parts(services, request.app.state.runtime)
    return JSONResponse(merge_documents(request.app.openapi(), parts))


def merge_documents(own: Mapping[str, Any], parts: Sequence[OpenApiPart]) -> Json:
    """Merge the paths and schemas of other documents into the service's own."""
    merged: Json = copy.deepcopy(dict(own))
    if any(part.document is None for part in parts):
        merged["info"] = {**merged["info"], "description": AWAY}
    components = merged.setdefault("components", {})
    for part in parts:
        document = part.document or {}
        for path, operations in document.get("paths", {}).items():
            place = part.moved(path)
            if place is not None:
                merged["paths"].setdefault(
                    place, _without_security(_rename_references(operations, part.name))
                )
        for kind, items in (document.get("components") or {}).items():
            if kind != "securitySchemes":
                own_kind = components.setdefault(kind, {})
                own_kind |= {
                    f"{part.name}.{key}": _rename_references(value, part.name) for key, value in items.items()
                }
    return merged


async def _fetch_document(client: httpx.AsyncClient) -> Json | None:
    try:
        answer = await client.get(PLACE, timeout=SECONDS)
        found = answer.json() if answer.is_success else None
    except (httpx.HTTPError, ValueError) as error:
        log.warning("runtime_not_described", problem=type(error).__name__)
        return None
    is_document = isinstance(found, dict) and isinstance(found.get("paths"), dict)
    return found if is_document else None


def _runtime_path(path: str) -> str | None:
    """Return the path under which a route of the LangGraph API is served."""
    return None if path.startswith("/api/") else f"{LANGGRAPH}{path}"


def _management_path(path: str) -> str | None:
    """Return the path under which a management route is served."""
    _, _, rest = path.partition("/api/")
    return path if path.startswith("/api/") and rest.partition("/")[0] in AREAS else None


def _without_security(operations: Any) -> Any:
    """Return the operations without the runtime's authentication, which the service handles."""
    if not isinstance(operations, dict):
        return operations
    return {
        method: {key: value for key, value in operation.items() if key != "security"}
        if isinstance(operation, dict)
        else operation
        for method, operation in operations.items()
    }


def _rename_references(value: Any, name: str) -> Any:
    """Return the value with prefixed references to components."""
    if isinstance(value, dict):
        return {key: _rename_references(item, name) for key, item in value.items()}
    if isinstance(value, list):
        return [_rename_references(item, name) for item in value]
    if isinstance(value, str) and value.startswith(_COMPONENTS):
        kind, _, rest = value.removeprefix(_COMPONENTS).partition("/")
        return f"{_COMPONENTS}{kind}/{name}.{rest}"
    return value
