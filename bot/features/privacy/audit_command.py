"""`/audit`: show the audit log."""

from __future__ import annotations

from datetime import UTC, datetime

from bot.access import Permission
from bot.commands.escaping import quoted
from bot.commands.registry import Command, Invocation, Result
from bot.commands.targets import home_of
from bot.domain import ChatKind
from bot.features.privacy.audit_sentences import describe_event
from bot.store.audit import AuditEntry, list_audit_entries
from bot.texts import Texts

AUDIT_SHOWN = 20
LONGEST_EVENT = 200


async def audit(call: Invocation) -> Result:
    """Show the newest audit events, of everybody or about one person."""
    if call.turn.address.chat_kind is not ChatKind.PRIVATE:
        return Result(call.texts("audit_private"))
    person = call.words[0] if call.words else ""
    if person and ":" not in person:
        person = f"{home_of(call)}:{person}"
    accounts = call.core.permissions.accounts_with(call.caller, Permission.AUDIT)
    found = await call.core.db.transact(
        list_audit_entries, limit=AUDIT_SHOWN, person=person, accounts=accounts
    )
    if not found:
        return Result(call.texts("audit_none"))
    lines = [f"- {_audit_line(call.texts, one)}" for one in found]
    return Result("\n".join([call.texts("audit_title"), "", *lines]))


def _audit_line(texts: Texts, one: AuditEntry) -> str:
    """Format one audit event, with people named as they were written."""
    at = datetime.fromtimestamp(one.at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    who = f"{one.person} ({one.name})" if one.name else one.person
    return f"{at}: {quoted(describe_event(texts, one.deed, who), LONGEST_EVENT)}"


AUDIT = Command(
    "audit",
    audit,
    argument="[WHO]",
    most_words=1,
    permission=Permission.AUDIT,
    private=True,
    takes_person=True,
)
