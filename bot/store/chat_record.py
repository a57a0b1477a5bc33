"""Chat record, as used within transactions. A feature stores it for the retention period set by admins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.domain import HistoryMessage, InboundChange, InboundMessage, Quotation
from bot.store.connection import Connection

ChangeQuotations = Callable[[tuple[Quotation, ...]], tuple[Quotation, ...]]


class ChatRecord:
    """Recorder of messages in selected chats. Every method does nothing unless overridden."""

    def is_recorded(self, account: str, chat: str) -> bool:
        """Return whether a chat is recorded."""
        return False

    def record_message(self, connection: Connection, message: InboundMessage, now: float) -> None:
        """Record a message that arrived at `now`. An already recorded message stays unchanged."""

    def apply_change(self, connection: Connection, happened: InboundChange) -> None:
        """Apply an edit or deletion to a recorded message, and to recorded replies that quote it."""

    def change_quotations(
        self, connection: Connection, account: str, chat: str, message_id: str, change: ChangeQuotations
    ) -> None:
        """Replace the quotations of a recorded message by the result of `change`; ignore unrecorded
        messages.
        """

    def has_recorded_start(self, connection: Connection, account: str, chat: str, topic: str) -> bool:
        """Return whether a recorded message of a topic quotes the topic's first message."""
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
        """Return the newest messages that arrived after `since` and no later than `until`, oldest first;
        `topic` "" includes every topic that all chat members can read.
        """
        return ()


NO_RECORD = ChatRecord()
