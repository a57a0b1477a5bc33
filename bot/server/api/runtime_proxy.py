"""The way through to the agent runtime: unbuffered, with the service's own token instead of the client's."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

import httpx
import orjson
import structlog
from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response, StreamingResponse

from bot.access import Role
from bot.server.api.audit_actor import audit_actor
from bot.server.api.auth import By, Principal, open_to
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.errors import UNREACHABLE, error_response
from bot.server.api.proxy_policy import ProxiedCall, may_pass, note_change
from bot.server.api.read_audit import record_read
from bot.server.api.sign_in_links import Links
from bot.store.audit import AuditEvent, record_event

log = structlog.get_logger(__name__)
router = APIRouter(tags=["agent runtime"])

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
CHANGING = frozenset({"PUT", "PATCH", "DELETE"})
# Hop by hop, or the client's own business with us.
NOT_PASSED = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "upgrade"}
    | {"transfer-encoding", "host", "authorization", "cookie", "x-api-key", "origin", "referer", "expect"}
    | {"forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"}
)
NOT_RETURNED = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "upgrade", "set-cookie", "server", "date"}
)
# A run may think for a long time without a word; its heartbeats come every few seconds.
TIMEOUT = httpx.Timeout(60.0, connect=5.0, read=300.0)
ERROR_LIMIT = 64 * 1024
LANGGRAPH = "/api/langgraph"
NO_ROUTE = "This agent runtime does not offer that route."
UNNAMED = frozenset({None, "", "Not Found", "Method Not Allowed"})
_DOTS = re.compile(r"(^|/)\.{1,2}(/|$)")


@dataclass(frozen=True, slots=True)
class RuntimeClients:
    """Clients of the runtime's LangGraph API and of its management routes."""

    langgraph: httpx.AsyncClient
    management: httpx.AsyncClient

    async def close(self) -> None:
        """Close the connections."""
        await self.langgraph.aclose()
        if self.management is not self.langgraph:
            await self.management.aclose()


@router.api_route(LANGGRAPH + "/{path:path}", methods=METHODS, operation_id=None, include_in_schema=False)
@open_to(Role.ADMIN)
async def proxy_langgraph(path: str, request: Request, services: Services, by: By) -> Response:
    """The LangGraph API of the runtime. That it was used is written down, and what is changed by it."""
    await record_read(services, by, "agent runtime", "")
    watch = AccessWatch(services, request.app.state.links, by) if by.session else None
    answer = await forward_request(request, request.app.state.runtime.langgraph, f"/{path}", watch)
    changes = request.method in CHANGING or (request.method == "POST" and path.endswith("/state"))
    if changes and answer.status_code < 400:
        deed = AuditEvent("agent runtime changed", f"/{path}", request.method)
        await services.db.run(record_event, audit_actor(services, by), deed, services.clock.now())
    return answer


@router.api_route("/api/{area}", methods=METHODS, include_in_schema=False)
@router.api_route("/api/{area}/{path:path}", methods=METHODS, include_in_schema=False)
@open_to(Role.MEMBER)
async def proxy_management(
    area: str, request: Request, services: Services, by: By, path: str = ""
) -> Response:
    """The management routes of the agent's half."""
    if area not in AREAS:
        raise HTTPException(404, "There is no such route.")
    wanted = ProxiedCall(request.method, area, path, request.query_params.getlist("scope"))
    await may_pass(services, by, wanted)
    if area == "memory" and "scope" not in request.query_params:
        given = request.scope["query_string"]
        own = f"scope={quote(by.memory_scope, safe=':')}".encode()
        request.scope["query_string"] = given + b"&" + own if given else own
    answer = await forward_request(request, request.app.state.runtime.management, request.url.path)
    if answer.status_code < 400:
        await note_change(services, by, wanted, answer.headers.get("location", ""))
    return answer


AREAS: Mapping[str, str] = {
    "models": "Models on offer",
    "threads": "Uploads, artifacts and local data of threads",
    "skills": "Skills",
    "mcp": "MCP servers",
    "memory": "Memory",
    "agents": "Custom agents",
    "config": "What of the configuration can't be used",
}


@dataclass(slots=True)
class AccessWatch:
    """Whether somebody who came by a link may still hear an answer that takes long."""

    services: ApiServices
    known: Links
    by: Principal
    seen: float = 0.0

    async def ends(self) -> bool:
        """Whether they have lost the session or the role with which they asked; looked up once a second."""
        now = self.services.clock.now()
        if now - self.seen < 1.0:
            return False
        self.seen = now
        found = await self.known.still(self.by)
        return found is None or found.role < self.by.role


async def forward_request(
    request: Request, client: httpx.AsyncClient, path: str, watch: AccessWatch | None = None
) -> Response:
    """The runtime's own answer to a request, as it comes. 503 where the runtime is away."""
    if _DOTS.search(path):
        raise HTTPException(404, "There is no such route.")
    raw = request.scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1")
    url = httpx.URL(path=_raw_path(raw, path) or path, query=request.scope["query_string"])
    headers = [(name, value) for name, value in request.headers.items() if name.lower() not in NOT_PASSED]
    outgoing = client.build_request(
        request.method, url, headers=headers, content=_request_body(request), timeout=TIMEOUT
    )
    try:
        answer = await client.send(outgoing, stream=True)
    except httpx.HTTPError as error:
        log.warning("runtime_unreachable", path=path, problem=type(error).__name__)
        return error_response(503, UNREACHABLE)
    if answer.is_error:
        return await _runtime_error(answer)
    return StreamingResponse(_stream_content(answer, watch), answer.status_code, _response_headers(answer))


def _raw_path(raw: str, path: str) -> str:
    """The path as the client wrote it (escapes kept), from where `path` begins."""
    return raw.removeprefix(LANGGRAPH) if raw.startswith(LANGGRAPH + "/") else raw


def _request_body(request: Request) -> AsyncIterator[bytes] | None:
    """The body as it arrives; None where there is none."""
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    return request.stream() if has_body else None


def _response_headers(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.lower() not in NOT_RETURNED}


async def _stream_content(answer: httpx.Response, watch: AccessWatch | None) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            if watch is not None and await watch.ends():
                raise ConnectionAbortedError("who asked may not hear it any more")
            yield chunk
    except httpx.HTTPError as error:
        log.warning("runtime_answer_cut", problem=type(error).__name__)
        raise ConnectionAbortedError("the runtime broke its answer off") from error
    finally:
        await answer.aclose()


async def _runtime_error(answer: httpx.Response) -> Response:
    """An error of the runtime: its own detail where it has one, else a clear one."""
    try:
        body = (await answer.aread())[:ERROR_LIMIT]
    except httpx.HTTPError:
        body = b""
    finally:
        await answer.aclose()
    return error_response(answer.status_code, _error_detail(body, answer.status_code))


def _error_detail(body: bytes, status: int) -> str:
    try:
        found = orjson.loads(body)
    except ValueError:
        found = None
    detail = found.get("detail") if isinstance(found, dict) else None
    detail = detail if isinstance(detail, str) else None
    if detail in UNNAMED:
        return NO_ROUTE if status in {404, 405} else f"The agent runtime answered {status}."
    return str(detail)
