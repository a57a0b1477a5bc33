"""The OpenAPI document of everything behind the port: our own routes, and those that are passed on.

The runtime says itself what it serves; it is asked once for each of its starts, one that is elsewhere again
after some minutes.
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
AWAY = "Routes of the agent runtime are missing here: it does not answer now, or does not say what it serves."
_COMPONENTS = "#/components/"


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """Somebody else's document, None where there is none; `moved` says where a path of it is at our port.

    Its schemas get the name before their own, so that they are never mistaken for ours.
    """

    name: str
    document: Json | None
    moved: Callable[[str], str | None]


class RuntimeDocuments:
    """What the runtime says that it serves, as long as that holds."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[int, float, Json]] = {}

    async def parts(self, services: ApiServices, runtime: RuntimeClients) -> Sequence[DocumentPart]:
        """The LangGraph API and the management routes."""
        langgraph = await self._of("agent", runtime.langgraph, services)
        if runtime.management is runtime.langgraph:
            return (
                DocumentPart("agent", langgraph, _runtime_path),
                DocumentPart("agent", langgraph, _management_path),
            )
        managed = await self._of("management", runtime.management, services)
        return (
            DocumentPart("agent", langgraph, _runtime_path),
            DocumentPart("management", managed, _management_path),
        )

    async def _of(self, name: str, client: httpx.AsyncClient, services: ApiServices) -> Json | None:
        start, now = services.runtime_start(), services.clock.now()
        kept = self._kept.get(name)
        if kept is not None and kept[0] == start and (start or now - kept[1] < KEPT):
            return kept[2]
        found = await _fetch_document(client)
        if found is not None:
            self._kept[name] = (start, now, found)
        return found


@router.get("/openapi.json", include_in_schema=False)
@open_to(Role.MEMBER)
async def get_openapi(request: Request, services: Services) -> Response:
    """This document."""
    parts = await request.app.state.described.parts(services, request.app.state.runtime)
    return JSONResponse(merge_documents(request.app.openapi(), parts))


def merge_documents(own: Mapping[str, Any], parts: Sequence[DocumentPart]) -> Json:
    """Our own document with the others' paths and schemas."""
    whole: Json = copy.deepcopy(dict(own))
    if any(part.document is None for part in parts):
        whole["info"] = {**whole["info"], "description": AWAY}
    components = whole.setdefault("components", {})
    for part in parts:
        document = part.document or {}
        for path, operations in document.get("paths", {}).items():
            place = part.moved(path)
            if place is not None:
                whole["paths"].setdefault(place, _without_security(_rename_references(operations, part.name)))
        for kind, named in (document.get("components") or {}).items():
            if kind != "securitySchemes":
                own_kind = components.setdefault(kind, {})
                own_kind |= {
                    f"{part.name}.{key}": _rename_references(value, part.name) for key, value in named.items()
                }
    return whole


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
    """Where a route of the LangGraph API is."""
    return None if path.startswith("/api/") else f"{LANGGRAPH}{path}"


def _management_path(path: str) -> str | None:
    """Where a management route is."""
    _, _, rest = path.partition("/api/")
    return path if path.startswith("/api/") and rest.partition("/")[0] in AREAS else None


def _without_security(operations: Any) -> Any:
    """The operations without the runtime's own sign-in, which the service has already."""
    if not isinstance(operations, dict):
        return operations
    return {
        method: {key: value for key, value in told.items() if key != "security"}
        if isinstance(told, dict)
        else told
        for method, told in operations.items()
    }


def _rename_references(value: Any, name: str) -> Any:
    """The value with its references to components under their names here."""
    if isinstance(value, dict):
        return {key: _rename_references(item, name) for key, item in value.items()}
    if isinstance(value, list):
        return [_rename_references(item, name) for item in value]
    if isinstance(value, str) and value.startswith(_COMPONENTS):
        kind, _, rest = value.removeprefix(_COMPONENTS).partition("/")
        return f"{_COMPONENTS}{kind}/{name}.{rest}"
    return value
