"""Which calls are passed on to the agent runtime for whom: the same rules as for the bot's own routes.

Admins may make every call but those by which programs get onto the machine, which take an owner; what
concerns others is written down. Members read the lists, look after what is remembered of them, and reach
files of their own conversations' threads.
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
FOR_OWNERS = "That brings programs onto the machine, which is for owners."
OWN_MEMORY = re.compile(r"|reload|status|facts|facts/[^/]+")
OWN_FILES = re.compile(r"[^/]+/(?:uploads|uploads/[^/]+|artifacts/.+|suggestions)")


@dataclass(frozen=True, slots=True)
class ProxiedCall:
    """A call: `path` is what follows the area, `scopes` whose memory it names."""

    method: str
    area: str
    path: str
    scopes: Sequence[str] = ()


async def may_pass(services: ApiServices, by: Principal, wanted: ProxiedCall) -> None:
    """Refuse what the caller may not do. Raises 403, 404 for what is somebody else's, and 429 for a call of
    the model where their budget is used up.
    """
    least = least_for(wanted)
    if by.role < least:
        raise HTTPException(403, FOR_OWNERS if least is Role.OWNER else NOT_YOURS)
    if by.has_permission(Permission.READ):
        await _audit_read(services, by, wanted)
    elif wanted.area == "memory" and any(scope != by.memory_scope for scope in wanted.scopes):
        raise not_found("memory")
    elif wanted.area == "threads" and not await _owns_thread(services, by, wanted.path.partition("/")[0]):
        raise not_found("thread")
    if wanted.area == "threads" and wanted.path.endswith("/suggestions"):
        await _count_model_call(services, by)


async def _count_model_call(services: ApiServices, by: Principal) -> None:
    """A call of the model that is no message counts as one at the page."""
    origin = Origin(WEB, WEB, "", ChatKind.PRIVATE, "", by.writing_on(WEB))
    limits = services.budgets.limits_for(origin, by.role, services.texts(WEB))
    if refused := await services.db.run(count_or_refuse, limits, services.clock.now()):
        raise HTTPException(429, refused)


def least_for(wanted: ProxiedCall) -> Role:
    """The least role that may make a call; members make theirs for what is their own."""
    if (wanted.method, wanted.area, wanted.path.strip("/")) in PROGRAMS:
        return Role.OWNER
    is_list = wanted.area in LISTS and wanted.method == "GET" and not wanted.path
    is_memory = wanted.area == "memory" and OWN_MEMORY.fullmatch(wanted.path)
    is_file = wanted.area == "threads" and OWN_FILES.fullmatch(wanted.path)
    return Role.MEMBER if is_list or is_memory or is_file else Role.ADMIN


async def note_change(services: ApiServices, by: Principal, wanted: ProxiedCall, made: str = "") -> None:
    """Write down that agents, skills or MCP servers have been changed, or what is kept of others; `made` is
    the address of what is new.
    """
    if wanted.method == "GET":
        return
    subject = await _audit_change(services, by, wanted, made)
    if subject is not None:
        how = f"{wanted.method} {wanted.path}".strip()
        deed = AuditEvent(f"{wanted.area} changed", subject, how)
        await services.db.run(record_event, audit_actor(services, by), deed, services.clock.now())


async def _audit_change(services: ApiServices, by: Principal, wanted: ProxiedCall, made: str) -> str | None:
    """What a call has changed that is not the caller's own alone."""
    if wanted.area in MANAGED:
        return made.rpartition("/")[2] or wanted.path
    if wanted.area == "memory":
        return " ".join(scope for scope in wanted.scopes if scope != by.memory_scope) or None
    thread = wanted.path.partition("/")[0]
    is_theirs = wanted.area == "threads" and thread and not await _owns_thread(services, by, thread)
    return thread if is_theirs and not wanted.path.endswith("/suggestions") else None


async def _audit_read(services: ApiServices, by: Principal, wanted: ProxiedCall) -> None:
    """Write down what is seen of others."""
    for scope in wanted.scopes if wanted.area == "memory" else ():
        if scope != by.memory_scope:
            await record_read(services, by, f"memory {scope}", "")
    thread = wanted.path.partition("/")[0]
    if wanted.area == "threads" and thread and not await _owns_thread(services, by, thread):
        await record_read(services, by, f"thread {thread}", "")


async def _owns_thread(services: ApiServices, by: Principal, thread: str) -> bool:
    found = await services.db.run(find_owned_conversations, thread, by.owner_ids)
    return any(by.can_reach(account, platform) for account, platform in found)
