"""What is kept about a person, as one JSON document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

import orjson

from bot.errors import RuntimeProblem
from bot.runtime.interface import RuntimePort
from bot.store import BotStore
from bot.store.audit import AuditEntry
from bot.store.retention import Person

YEAR = 366 * 24 * 3600.0
PAGE = 500


async def exported(
    store: BotStore, runtime: RuntimePort, person: Person, scopes: Sequence[str], now: float
) -> bytes:
    """Messages and answers, chat record, memory (of the scopes), roles, schedules, tokens of the last year,
    audit; times as ISO 8601 in UTC.
    """
    forgetting = store.forgetting
    messages = [asdict(one) async for found in forgetting.written(person) for one in found]
    spent = (await store.spender(now - YEAR, str(person))).spending
    document: dict[str, Any] = {
        "person": str(person),
        "at": now,
        "messages": messages,
        "record": [row._asdict() for row in await forgetting.recorded(person)],
        "memory": {scope: await _remembered(runtime, scope) for scope in scopes},
        "roles": [row._asdict() for row in await forgetting.role_of(person)],
        "schedules": [row._asdict() for row in await forgetting.schedules_of(person)],
        "tokens_of_the_last_year": asdict(spent),
        "audit": [_deed(one) for one in await _deeds(store, person)],
    }
    return orjson.dumps(_dated(document), option=orjson.OPT_INDENT_2)


def scopes_of(person: Person, accounts: Sequence[str]) -> list[str]:
    """Where the agent remembers somebody, who is known on these accounts."""
    return [f"person:{account}:{person}" for account in accounts]


async def _remembered(runtime: RuntimePort, scope: str) -> Any:
    try:
        return dict((await runtime.memory(scope)).document)
    except RuntimeProblem as problem:
        return {"missing": str(problem)}


async def _deeds(store: BotStore, person: Person) -> list[AuditEntry]:
    found: list[AuditEntry] = []
    page = await store.audit(limit=PAGE, person=str(person))
    while page:
        found += page
        page = await store.audit(before=page[-1].id, limit=PAGE, person=str(person))
    return found


def _deed(one: AuditEntry) -> dict[str, Any]:
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


def _dated(value: Any, key: str = "") -> Any:
    """The same with times that people can read."""
    if isinstance(value, dict):
        return {name: one if name == "memory" else _dated(one, name) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_dated(one) for one in value]
    if key in TIMES and isinstance(value, float):
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="seconds")
    return value
