"""Authorize calls to the agent runtime by the rules of the service's own routes.

Admins may make every call except those that install programs on the machine, which take an owner; calls that
concern others are audited. Members read the lists, manage the agent's memory of them, and use the files of
threads of their own conversations.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import HTTPException

from bot.access import Permission, Role
from bot.domain import ChatKind, Origin
from bot.server.api.audit_actor import audit_actor
from bot.server.api.auth import NOT_YOURS, WEB, Principal
from bot.server.api.dependencies import ApiServices
from bot.server.api.errors import not_found
from bot.server.api.read_audit import record_read
from bot.store.audit import AuditEvent, record_event
from bot.store.budgets import count_or_refuse
from bot.store.web_sessions import find_owned_conversations

PROGRAMS = frozenset({("PUT", "mcp", "config"), ("POST", "skills", "install")})
MANAGED = frozenset({"agents", "skills", "mcp"})
LISTS = frozenset({"models", "skills", "agents"})
FOR_OWNERS = "This installs programs on the machine; only owners can do that."
OWN_MEMORY = re.compile(r"|reload|status|facts|facts/[^/]+")
OWN_FILES = re.compile(r"[^/]+/(?:uploads|uploads/[^/]+|artifacts/.+|suggestions)")


@dataclass(frozen=True, slots=True)
class ProxiedCall:
    """A call to the agent runtime; `path` is the part after the area, `scopes` are the memory scopes that
    it names.
    """

    method: str
    area: str
    path: str
    scopes: Sequence[str] = ()


async def check_call(services: ApiServices, by: Principal, call: ProxiedCall) -> None:
    """Check that the caller may make a call.

    Raises 403, 404 for data of someone else, and 429 for a model call if a limit is used up.
    """
    least = least_for(call)
    if by.role < least:
        raise HTTPException(403, FOR_OWNERS if least is Role.OWNER else NOT_YOURS)
    if by.has_permission(Permission.READ):
        await _audit_read(services, by, call)
    elif call.area == "memory" and any(scope != by.memory_scope for scope in call.scopes):
        raise not_found("memory")
    elif call.area == "threads" and not await _owns_thread(services, by, call.path.partition("/")[0]):
        raise not_found("thread")
    if call.area == "threads" and call.path.endswith("/suggestions"):
        await _count_model_call(services, by)


async def _count_model_call(services: ApiServices, by: Principal) -> None:
    """Count a model call that is not a message as a message on the web console. Raises 429."""
    origin = Origin(WEB, WEB, "", ChatKind.PRIVATE, "", by.sender_on(WEB))
    limits = services.core.budgets.limits_for(origin, by.role, services.core.account(WEB).texts)
    if refused := await services.db.run(count_or_refuse, limits, services.clock.now()):
        raise HTTPException(429, refused)


def least_for(call: ProxiedCall) -> Role:
    """Return the least role that may make a call; members are limited to their own data."""
    if (call.method, call.area, call.path.strip("/")) in PROGRAMS:
        return Role.OWNER
    is_list = call.area in LISTS and call.method == "GET" and not call.path
    is_memory = call.area == "memory" and OWN_MEMORY.fullmatch(call.path)
    is_file = call.area == "threads" and OWN_FILES.fullmatch(call.path)
    return Role.MEMBER if is_list or is_memory or is_file else Role.ADMIN


async def record_change(services: ApiServices, by: Principal, call: ProxiedCall, location: str = "") -> None:
    """Record a change to agents, skills, MCP servers or the data of others in the audit log; `location` is
    the address of a created resource ("" if none).
    """
    if call.method == "GET":
        return
    subject = await _audit_change(services, by, call, location)
    if subject is not None:
        detail = f"{call.method} {call.path}".strip()
        deed = AuditEvent(f"{call.area} changed", subject, detail)
        await services.db.run(record_event, audit_actor(services, by), deed, services.clock.now())


async def _audit_change(services: ApiServices, by: Principal, call: ProxiedCall, location: str) -> str | None:
    """Return the subject of a change, None if it concerns the caller's own data only."""
    if call.area in MANAGED:
        return location.rpartition("/")[2] or call.path
    if call.area == "memory":
        return " ".join(scope for scope in call.scopes if scope != by.memory_scope) or None
    thread = call.path.partition("/")[0]
    is_theirs = call.area == "threads" and thread and not await _owns_thread(services, by, thread)
    return thread if is_theirs and not call.path.endswith("/suggestions") else None


async def _audit_read(services: ApiServices, by: Principal, call: ProxiedCall) -> None:
    """Record access to the data of others in the audit log."""
    for scope in call.scopes if call.area == "memory" else ():
        if scope != by.memory_scope:
            await record_read(services, by, f"memory {scope}", "")
    thread = call.path.partition("/")[0]
    if call.area == "threads" and thread and not await _owns_thread(services, by, thread):
        await record_read(services, by, f"thread {thread}", "")


async def _owns_thread(services: ApiServices, by: Principal, thread: str) -> bool:
    found = await services.db.run(find_owned_conversations, thread, by.owner_ids)
    return any(by.can_reach(account, platform) for account, platform in found)
