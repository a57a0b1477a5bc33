"""Reading what people wrote elsewhere is a deed: it is written down, once an hour for the same."""

from __future__ import annotations

from bot.api import views
from bot.api.access import OWNER
from bot.api.services import ApiServices
from bot.store.audit import Actor, Deed
from bot.store.views import ConversationView

READ = "read"
HOUR = 3600.0


async def note_read(services: ApiServices, of: ConversationView) -> None:
    """Write down that a conversation was read; those of page and terminal are the reader's own."""
    if views.local_adapter(services, of.key.account) is None:
        await _note(services, f"conversation {of.id}", f"{of.key.account} {of.key.chat}")


async def note_read_all(services: ApiServices) -> None:
    """Write down that the latest turns of all conversations were read."""
    await _note(services, "turns of all conversations", "")


async def _note(services: ApiServices, subject: str, detail: str) -> None:
    now = services.clock.now()
    reader = Actor(f"{READ}:{subject}:{now // HOUR:.0f}", OWNER, "", "web", "")
    await services.store.note(reader, Deed(READ, subject, detail), now)
