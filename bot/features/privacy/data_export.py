"""Export the stored data of a person as one JSON document."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson

from bot.errors import RuntimeProblem
from bot.features.privacy.written_messages import iterate_written
from bot.runtime.interface import AgentRuntime
from bot.store import Database
from bot.store.audit import Actor, AuditEntry, AuditEvent, list_audit_entries, record_event
from bot.store.person_data import PersonKey
from bot.wiring import Core

PAGE = 500


async def export_person(core: Core, person: PersonKey, actor: Actor) -> bytes:
    """Export messages and replies, memory, language and audit events, and what features store about the
    person, and record it in the audit log; times are ISO 8601 in UTC.
    """
    db, now = core.db, core.clock.now()
    messages = [asdict(one) async for batch in iterate_written(db, person) for one in batch]
    document: dict[str, Any] = {"person": str(person), "at": now, "messages": messages}
    for one in core.person_data:
        document |= await db.transact(one.export, person, now)
    document |= {
        "memory": {scope: await _export_memory(core.runtime, scope) for scope in memory_scopes(core, person)},
        "language": core.languages.find(str(person), ""),
        "audit": [_export_audit_event(one) for one in await _export_audit(db, person)],
    }
    await db.transact(record_event, actor, AuditEvent("data exported", str(person)), now)
    return orjson.dumps(_with_readable_times(document), option=orjson.OPT_INDENT_2)


def memory_scopes(core: Core, person: PersonKey) -> list[str]:
    """Return the scopes of the agent's memory of a person, on each account of their platform."""
    states = core.accounts.states().items()
    return [f"person:{account}:{person}" for account, (platform, _) in states if platform == person.platform]


async def _export_memory(runtime: AgentRuntime, scope: str) -> Any:
    try:
        return (await runtime.management.get_memory(scope)).model_dump()
    except RuntimeProblem as problem:
        return {"missing": str(problem)}


async def _export_audit(db: Database, person: PersonKey) -> list[AuditEntry]:
    found: list[AuditEntry] = []
    page = await db.transact(list_audit_entries, limit=PAGE, person=str(person))
    while page:
        found += page
        page = await db.transact(list_audit_entries, before=page[-1].id, limit=PAGE, person=str(person))
    return found


def _export_audit_event(one: AuditEntry) -> dict[str, Any]:
    deed = one.deed
    where = {"account": one.account, "chat": one.chat}
    return {
        "at": one.at,
        "by": one.person,
        "action": deed.action,
        "subject": deed.subject,
        "detail": deed.detail,
        **where,
    }


def _with_readable_times(value: Any, key: str = "") -> Any:
    """Return the value with times as ISO 8601."""
    if isinstance(value, dict):
        return {
            name: one if name == "memory" else _with_readable_times(one, name) for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_with_readable_times(one) for one in value]
    if (key == "at" or key.endswith("_at")) and isinstance(value, float):
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    return value
