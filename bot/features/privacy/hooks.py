"""What a run gets of a conversation whose agent thread was replaced, and whose words it must not get."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from bot.dispatch.run.hooks import RunHooks
from bot.dispatch.run.message_lines import format_messages
from bot.domain import HistoryMessage, Sender, person_of
from bot.features.privacy.erasures import list_open_erasures
from bot.features.privacy.leaving_threads import list_kept_messages
from bot.turn import TurnMessage

MAX_KEPT, MAX_KEPT_CHARACTERS = 100, 12_000
"""Messages of a replaced thread, and characters of all of them."""


class PrivacyHooks(RunHooks):
    """Hides people whose erasure is in progress, and adds what people wrote on a replaced thread."""

    async def hidden_people(self) -> Collection[str]:
        erasures = await self.scope.core.db.transact(list_open_erasures)
        return {str(one.person) for one in erasures}

    async def notes(self) -> Sequence[str]:
        """Return what people wrote in a conversation whose agent thread was replaced, for the first run on
        the new one. It contains nothing of blocked people, nor of those whose erasure is in progress, and
        none of the agent's answers: they may repeat the erased person in other words.
        """
        turn, core, blocked = self.scope.turn, self.scope.core, self.scope.blocked
        if turn.answers:
            return ()
        kept = await core.db.transact(list_kept_messages, turn, MAX_KEPT)
        if not kept:
            return ()
        erased = await self.hidden_people()

        def is_hidden(sender: Sender) -> bool:
            return blocked.is_blocked(sender) or person_of(turn.platform, sender) in erased

        readable = replace(blocked, is_blocked=is_hidden).filter_messages(map(_as_history, kept))
        zone = self.scope.zone
        lines, omitted = format_messages(readable, turn.platform, zone, MAX_KEPT_CHARACTERS)
        said = "\n".join(lines)
        return [self.scope.texts("note_renewed", said=said, left=omitted, zone=zone)] if lines else ()


def _as_history(message: TurnMessage) -> HistoryMessage:
    files = (f"[{one.filename}]" for one in message.attachments)
    text = "\n".join(filter(None, [message.text, *files]))
    return HistoryMessage(
        message.message_id, message.sender, text, message.sent_at, quotations=message.quotations
    )
