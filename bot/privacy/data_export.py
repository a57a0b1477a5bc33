"""Export the stored data of a person as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson

from bot.errors import RuntimeProblem
from bot.runtime.interface import AgentRuntime
from bot.store import Database
from bot.store.audit import AuditEntry, list_audit_entries
from bot.store.languages import list_languages
from bot.store.person_data import PersonKey
from bot.store.retention import iterate_written, list_recorded_of, list_roles_of, list_schedules_of
from bot.store.usage import load_person_usage

YEAR = 366 * 24 * 3600.0
PAGE = 500


async def export_person(
    db: Database, runtime: AgentRuntime, person: PersonKey, scopes: Sequence[str], now: float
) -> bytes:
    """Export messages and replies, chat record, memory (of the scopes), roles, language, schedules, token
    usage of the last year and audit events; times are ISO 8601 in UTC.
    """
    messages = [asdict(one) async for found in iterate_written(db, person) for one in found]
    usage = (await db.transact(load_person_usage, now - YEAR, str(person))).spending
    document: dict[str, Any] = {
        "person": str(person),
        "at": now,
        "messages": messages,
        "record": [row._asdict() for row in await db.transact(list_recorded_of, person)],
        "memory": {scope: await _export_memory(runtime, scope) for scope in scopes},
        "roles": [row._asdict() for row in await db.transact(list_roles_of, person)],
        "language": (await db.transact(list_languages)).get(str(person), ""),
        "schedules": [row._asdict() for row in await db.transact(list_schedules_of, person)],
        "tokens_of_the_last_year": asdict(usage),
        "audit": [_export_audit_event(one) for one in await _export_audit(db, person)],
    }
    return orjson.dumps(_with_readable_times(document), option=orjson.OPT_INDENT_2)


def memory_scopes(person: PersonKey, accounts: Sequence[str]) -> list[str]:
    """Return the scopes of the agent's memory of a person on these accounts."""
    return [f"person:{account}:{person}" for account in accounts]


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


TIMES = frozenset({"at", "sent_at", "given_at", "made_at"})


def _with_readable_times(value: Any, key: str = "") -> Any:
    """Return the value with times as ISO 8601."""
    if isinstance(value, dict):
        return {
            name: one if name == "memory" else _with_readable_times(one, name) for name, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_with_readable_times(one) for one in value]
    if key in TIMES and isinstance(value, float):
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    return value
