"""`/audit`: read the audit log."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.commands.escaping import quoted, quoted_person
from bot.commands.registry import Invocation, Result
from bot.commands.targets import home_of
from bot.domain import ChatKind
from bot.store.audit import AuditEntry, list_audit_entries

SHOWN = 20
LONGEST_EVENT = 200


async def audit(call: Invocation) -> Result:
    """Show the newest audit events, of everybody or about one person."""
    if call.turn.address.chat_kind is not ChatKind.PRIVATE:
        return Result(call.texts("audit_private"))
    person = call.words[0] if call.words else ""
    if person and ":" not in person:
        person = f"{home_of(call)}:{person}"
    found = await call.core.db.run(list_audit_entries, limit=SHOWN, person=person)
    if not found:
        return Result(call.texts("audit_none"))
    return Result("\n".join([call.texts("audit_title"), "", *(f"- {_audit_line(one)}" for one in found)]))


def _audit_line(one: AuditEntry) -> str:
    """Format one audit event, with people named as they were written."""
    at = datetime.fromtimestamp(one.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    what = " ".join(filter(None, (one.deed.action, one.deed.subject, one.deed.detail)))
    return f"{at}: {quoted_person(one.person, one.name)} {quoted(what, LONGEST_EVENT)}"
