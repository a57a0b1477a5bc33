"""Proxy for calls to the agent runtime, unbuffered, with the service's token instead of the client's.

Each call needs a permission (`permission_for`), on the accounts whose memory or threads it concerns; calls
that concern others are audited. Members may read the lists, manage the agent's memory about themselves, and
use the files in the threads of their own conversations.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from urllib.parse import quote

import httpx
import orjson
import structlog
from fastapi import APIRouter, HTTPException, Request
from starlette.responses import Response, StreamingResponse

from agent.shared.request_signature import SIGNATURE_HEADER
from bot.access import Permission, Role, Target
from bot.access.permissions import RULES, owner_scope
from bot.config import AccessEntry
from bot.domain import ChatKind, Origin
from bot.features.agent_management.raw_runtime import RawCalls, read_call
from bot.server.api.auth import (
    WEB,
    By,
    Principal,
    audit_actor,
    check,
    may,
    open_to,
    record_read,
    requires,
)
from bot.server.api.dependencies import RUNTIME_TIMEOUT, ApiServices, Services
from bot.server.api.errors import UNREACHABLE, error_response, not_found
from bot.server.api.sessions import LinkSessions
from bot.store.audit import AuditEvent, record_event
from bot.store.usage_limits import count_or_refuse
from bot.store.web_sessions import find_owned_conversations, find_thread_conversations

log = structlog.get_logger(__name__)
router = APIRouter(tags=["agent runtime"])

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
CHANGING = frozenset({"PUT", "PATCH", "DELETE"})
# Hop-by-hop headers, and those between the client and this service.
NOT_PASSED = frozenset(
    {"connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "te", "trailer", "upgrade"}
    | {"transfer-encoding", "host", "authorization", "cookie", "x-api-key", "origin", "referer", "expect"}
    | {SIGNATURE_HEADER, "forwarded", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip"}
)
NOT_RETURNED = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "upgrade", "set-cookie", "server", "date"}
)
ERROR_LIMIT = 64 * 1024
LANGGRAPH = "/api/langgraph"
NO_ROUTE = "The agent runtime does not have this route."
UNNAMED = frozenset({None, "", "Not Found", "Method Not Allowed"})
_DOTS = re.compile(r"(^|/)\.{1,2}(/|$)")


AREAS = ("models", "threads", "skills", "mcp", "memory", "agents", "config")
PROGRAMS = re.compile(r"PUT mcp/config/*|(?:POST|PATCH|DELETE) mcp/servers.*|(?:POST|DELETE) skills/.*")
MANAGED = frozenset({"agents", "skills", "mcp"})
LISTS = frozenset({"models", "skills", "agents"})
OWN_MEMORY = re.compile(r"|reload|status|facts|facts/[^/]+")
_OTHERS = frozenset({Permission.READ, Permission.CHANGE})
# No account has this name, so that only owners administer it.
UNKNOWN_ACCOUNT = "?"
OWN_FILES = re.compile(r"[^/]+/(?:uploads|uploads/[^/]+(?:/transcript)?|artifacts/.+|suggestions)")


@router.api_route(LANGGRAPH + "/{path:path}", methods=METHODS, operation_id=None, include_in_schema=False)
@requires(Permission.RAW_RUNS)
async def proxy_langgraph(path: str, request: Request, services: Services, by: By) -> Response:
    """Proxy the runtime's LangGraph API, for owners and on their threads. Its use, runs and changes are
    recorded in the audit log.
    """
    await record_read(services, by, "agent runtime", "")
    watch = AccessWatch(services, request.app.state.links, by)
    runtime = request.app.state.runtime.langgraph
    call = await read_call(request, f"/{path}")
    body = await RawCalls(services, by, runtime).authorize(call)
    answer = await forward_request(request, runtime, call.path, watch, RawBody(body))
    changes = request.method in CHANGING or (request.method == "POST" and path.endswith("/state"))
    if changes and answer.status_code < 400:
        deed = AuditEvent("agent runtime changed", f"/{path}", request.method)
        await services.db.transact(record_event, audit_actor(services, by), deed, services.clock.now())
    return answer


@open_to(Role.MEMBER)
async def proxy_management(request: Request, services: Services, by: By, path: str = "") -> Response:
    """Proxy the agent runtime's management routes."""
    area = request.scope["path"].split("/")[2]
    call = ProxiedCall(request.method, area, path, request.query_params.getlist("scope"))
    await check_call(services, by, call)
    if area == "memory" and "scope" not in request.query_params:
        query = request.scope["query_string"]
        own = f"scope={quote(by.memory_scope, safe=':')}".encode()
        request.scope["query_string"] = query + b"&" + own if query else own
    answer = await forward_request(request, request.app.state.runtime.management, request.url.path)
    if answer.status_code < 400:
        await record_change(services, by, call, answer.headers.get("location", ""))
    return answer


for _path in (f"/api/{area}{rest}" for area in AREAS for rest in ("", "/{path:path}")):
    router.add_api_route(_path, proxy_management, methods=METHODS, include_in_schema=False)


@dataclass(slots=True)
class AccessWatch:
    """Checks a caller's access during a long response."""

    services: ApiServices
    known: LinkSessions
    by: Principal
    seen: float = 0.0

    async def has_ended(self) -> bool:
        """Return whether the caller has lost their session or role. The check runs at most once per
        second.
        """
        now = self.services.clock.now()
        if now - self.seen < 1.0:
            return False
        self.seen = now
        found = await self.known.refresh_caller(self.by)
        return found is None or found.role < self.by.role


@dataclass(frozen=True, slots=True)
class RawBody:
    """A body that replaces the client's; None: no body."""

    content: bytes | None


async def forward_request(
    request: Request,
    client: httpx.AsyncClient,
    path: str,
    watch: AccessWatch | None = None,
    body: RawBody | None = None,
) -> Response:
    """Stream the runtime's response to a request; 503 if the runtime is unavailable."""
    if _DOTS.search(path):
        raise HTTPException(404, "Route not found.")
    raw = request.scope.get("raw_path", b"").partition(b"?")[0].decode("latin-1")
    url = httpx.URL(path=_raw_path(raw, path) or path, query=request.scope["query_string"])
    dropped = NOT_PASSED if body is None else NOT_PASSED | {"content-length"}
    headers = [(name, value) for name, value in request.headers.items() if name.lower() not in dropped]
    content = _request_body(request) if body is None else body.content
    outgoing = client.build_request(
        request.method, url, headers=headers, content=content, timeout=RUNTIME_TIMEOUT
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
    """Return the path as sent by the client (including escapes), starting where `path` starts."""
    return raw.removeprefix(LANGGRAPH) if raw.startswith(LANGGRAPH + "/") else raw


def _request_body(request: Request) -> AsyncIterator[bytes] | None:
    """Return the body as it arrives, or None if there is none."""
    has_body = request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers
    return request.stream() if has_body else None


def _response_headers(answer: httpx.Response) -> dict[str, str]:
    return {name: value for name, value in answer.headers.items() if name.lower() not in NOT_RETURNED}


async def _stream_content(answer: httpx.Response, watch: AccessWatch | None) -> AsyncIterator[bytes]:
    try:
        async for chunk in answer.aiter_raw():
            if watch is not None and await watch.has_ended():
                raise ConnectionAbortedError("the caller lost access")
            yield chunk
    except httpx.HTTPError as error:
        log.warning("runtime_answer_cut", problem=type(error).__name__)
        raise ConnectionAbortedError("the runtime closed the response early") from error
    finally:
        await answer.aclose()


async def _runtime_error(answer: httpx.Response) -> Response:
    """Return an error of the runtime with its own detail, or with a generic one."""
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
        return NO_ROUTE if status in {404, 405} else f"The agent runtime returned status {status}."
    return str(detail)


@dataclass(frozen=True, slots=True)
class ProxiedCall:
    """A call to the agent runtime. `path` is the part after the area; `scopes` are the memory scopes in the
    query.
    """

    method: str
    area: str
    path: str
    scopes: Sequence[str] = ()


async def check_call(services: ApiServices, by: Principal, call: ProxiedCall) -> None:
    """Check that the caller may make a call.

    Raises 403, 404 for someone else's data, and 429 for a model call if a limit is used up.
    """
    permission = permission_for(call)
    if permission not in _OTHERS or not _is_for_members(call):
        check(services, by, permission)
    for target in await _targets(services, by, call):
        if permission in _OTHERS and not may(services, by, permission, target):
            raise not_found("memory" if call.area == "memory" else "thread")
    await _audit_read(services, by, call)
    if call.area == "threads" and call.path.endswith("/suggestions"):
        await _count_model_call(services, by)


async def _targets(services: ApiServices, by: Principal, call: ProxiedCall) -> list[Target]:
    """Return the owners of the memory or thread in a call; a target without a known account belongs to the
    owners.
    """
    if call.area == "memory":
        ranks = (_rank_of(services, call, _scope_person(scope)) for scope in call.scopes)
        return [
            Target(_scope_account(scope), own=scope == by.memory_scope, rank=rank)
            for scope, rank in zip(call.scopes, ranks, strict=True)
        ]
    if call.area != "threads":
        return []
    thread = call.path.partition("/")[0]
    owns = await _owns_thread(services, by, thread)
    own = owns and _is_for_members(call)
    found = await services.db.transact(find_thread_conversations, thread)
    scopes = {owner_scope(*one) for one in found} or {UNKNOWN_ACCOUNT}
    people = () if owns else {owner for _, _, owner in found if owner}
    rank = max((_rank_of(services, call, owner) for owner in people), default=Role.STRANGER)
    return [Target(scope, own=own, rank=rank) for scope in sorted(scopes)]


def _scope_account(scope: str) -> str:
    """Return the account in a memory scope, `person:account:…` or `group:account:…`."""
    kind, _, rest = scope.partition(":")
    return rest.partition(":")[0] if kind in {"person", "group"} and rest else UNKNOWN_ACCOUNT


def _rank_of(services: ApiServices, call: ProxiedCall, person: str) -> Role:
    """Return the highest role of the person (`platform:id`) whose memory or files a call changes, since these
    are part of their prompts; STRANGER for a call that changes nothing.
    """
    if permission_for(call) is not Permission.CHANGE:
        return Role.STRANGER
    platform, _, id_ = person.partition(":")
    return services.core.highest_role(AccessEntry(platform, id_))


def _scope_person(scope: str) -> str:
    """Return the person in a memory scope, or "" for a group."""
    kind, _, rest = scope.partition(":")
    return rest.partition(":")[2] if kind == "person" else ""


async def _count_model_call(services: ApiServices, by: Principal) -> None:
    """Count a model call without a message as one message in the web console. Raises 429."""
    origin = Origin(WEB, WEB, "", ChatKind.PRIVATE, "", by.sender_on(WEB))
    limits = services.core.account(WEB).limits_for(origin, by.role)
    if refused := await services.db.transact(count_or_refuse, limits, services.clock.now()):
        raise HTTPException(429, refused)


def permission_for(call: ProxiedCall) -> Permission:
    """Return the permission that a call requires; calls that affect everyone require a higher one."""
    reads = call.method == "GET"
    if PROGRAMS.fullmatch(f"{call.method} {call.area}/{call.path}"):
        return Permission.PROGRAMS
    if call.area == "threads" or (call.area == "memory" and OWN_MEMORY.fullmatch(call.path)):
        return Permission.READ if reads or call.path.endswith("/suggestions") else Permission.CHANGE
    if call.area in {"memory", "config"}:
        return Permission.CONFIGURE
    if reads and call.area in LISTS and not call.path:
        return Permission.USE
    # The configuration of MCP servers contains commands and may contain secrets.
    return Permission.INSPECT if reads and call.path != "config" else Permission.EXTEND


def _is_for_members(call: ProxiedCall) -> bool:
    """Return whether members may make a call about their own memory or threads."""
    return call.area == "memory" or OWN_FILES.fullmatch(call.path) is not None


def least_for(call: ProxiedCall) -> Role:
    """Return the minimum role for a call. Members are limited to their own data."""
    permission = permission_for(call)
    rule = RULES[permission]
    own = permission in _OTHERS and rule.own is not None and _is_for_members(call)
    return rule.own if own and rule.own is not None else rule.least


async def record_change(services: ApiServices, by: Principal, call: ProxiedCall, location: str = "") -> None:
    """Record a change to agents, skills, MCP servers, memory or files in the audit log. `location` is the
    address of a created resource ("" if none).
    """
    subject = None if call.method == "GET" else _changed_subject(by, call, location)
    if subject is not None:
        detail = f"{call.method} {call.path}".strip()
        # A check changes nothing, but it starts the server's program.
        action = "checked" if (call.area, call.path) == ("mcp", "servers/check") else "changed"
        deed = AuditEvent(f"{call.area} {action}", subject, detail)
        await services.db.transact(record_event, audit_actor(services, by), deed, services.clock.now())


def _changed_subject(by: Principal, call: ProxiedCall, location: str) -> str | None:
    """Return the subject that a call changed, or None if it changed nothing."""
    if (call.area, call.path) == ("skills", "check"):
        return None
    if call.area in MANAGED:
        return location.rpartition("/")[2] or call.path
    if call.area == "memory":
        return None if call.path == "reload" else " ".join(call.scopes) or by.memory_scope
    thread, _, rest = call.path.partition("/")
    return thread if call.area == "threads" and rest != "suggestions" else None


async def _audit_read(services: ApiServices, by: Principal, call: ProxiedCall) -> None:
    """Record access to other people's data in the audit log."""
    for scope in call.scopes if call.area == "memory" else ():
        if scope != by.memory_scope:
            await record_read(services, by, f"memory {scope}", "")
    thread = call.path.partition("/")[0]
    if call.area == "threads" and thread and not await _owns_thread(services, by, thread):
        await record_read(services, by, f"thread {thread}", "")


async def _owns_thread(services: ApiServices, by: Principal, thread: str) -> bool:
    found = await services.db.transact(find_owned_conversations, thread, by.owner_ids)
    return any(by.can_reach(account, platform) for account, platform in found)
