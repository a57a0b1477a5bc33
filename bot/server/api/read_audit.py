"""Record reads of other people's conversations in the audit log, once an hour per subject."""

from __future__ import annotations

from bot.server.api.audit_actor import audit_actor
from bot.server.api.auth import Principal
from bot.server.api.dependencies import ApiServices
from bot.store.audit import AuditEvent, record_event
from bot.store.conversations import ConversationView

READ = "read"
HOUR = 3600.0


async def record_conversation_read(services: ApiServices, by: Principal, of: ConversationView) -> None:
    """Record that the caller read a conversation of someone else."""
    if not by.owns_conversation(of):
        whose = f"{of.key.account} {of.key.chat}" + (f" of {of.owner}" if of.owner else "")
        await record_read(services, by, f"conversation {of.id}", whose)


async def record_turns_read(services: ApiServices, by: Principal) -> None:
    """Record that the caller read the latest turns of all conversations."""
    await record_read(services, by, "turns of all conversations", "")


async def record_read(services: ApiServices, by: Principal, subject: str, detail: str) -> None:
    """Record that the caller read data of someone else."""
    now = services.clock.now()
    reader = audit_actor(services, by, f"{READ}:{by.person}:{subject}:{now // HOUR:.0f}")
    await services.db.run(record_event, reader, AuditEvent(READ, subject, detail), now)
