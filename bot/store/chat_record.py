"""The record of a chat as transactions keep it. A feature stores it, for as long as admins have chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.domain import HistoryMessage, InboundChange, InboundMessage, Quotation
from bot.store.connection import Connection

ChangeQuotations = Callable[[tuple[Quotation, ...]], tuple[Quotation, ...]]


class ChatRecord:
    """A part that records the messages of some chats. Each method does nothing unless it is overridden."""

    def is_recorded(self, account: str, chat: str) -> bool:
        """Return whether a chat is recorded."""
        return False

    def record_message(self, connection: Connection, message: InboundMessage, now: float) -> None:
        """Record a message that arrived `now`; an already recorded one is not changed."""

    def apply_change(self, connection: Connection, happened: InboundChange) -> None:
        """Apply an edit or a deletion to a recorded message, and to the recorded replies that quote it."""

    def change_quotations(
        self, connection: Connection, account: str, chat: str, message_id: str, change: ChangeQuotations
    ) -> None:
        """Replace the quotations of a message, if it is recorded, by what `change` returns for them."""

    def has_recorded_start(self, connection: Connection, account: str, chat: str, topic: str) -> bool:
        """Return whether a recorded message of a topic quotes the message that the topic grew from."""
        return False

    def list_arrived(
        self,
        connection: Connection,
        account: str,
        chat: str,
        since: float,
        until: float,
        limit: int,
        topic: str,
    ) -> Sequence[HistoryMessage]:
        """Return the newest messages that arrived after `since` up to `until`, oldest first; `topic` "": of
        all topics that everybody in the chat can read.
        """
        return ()


NO_RECORD = ChatRecord()
