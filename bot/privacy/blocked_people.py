"""Keep what blocked people wrote from the agent, also where others quote it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from bot.domain import HistoryMessage, Quotation, QuotationKind, Sender, TurnMessage
from bot.store.record import RecordedMessage

M = TypeVar("M", RecordedMessage, HistoryMessage, RecordedMessage | HistoryMessage)


@dataclass(frozen=True, slots=True)
class BlockedPeople:
    """The people whom `is_blocked` names; `text` stands in the place of their quoted messages."""

    is_blocked: Callable[[Sender], bool]
    text: str

    def filter_messages(self, messages: Iterable[M]) -> list[M]:
        """Return messages without those of blocked people and without their words in the others."""
        return [self._hide_quotations(one) for one in messages if not self.is_blocked(one.sender)]

    def hide_quoted(self, message: TurnMessage) -> TurnMessage:
        """Return a message without the words and files of blocked people that it quotes."""
        hidden = [one for one in message.quotations if self._is_theirs(one)]
        # A reply tells the names of files that stay with the message that it answers.
        files = {name for one in hidden if one.kind is not QuotationKind.REPLY for name in one.files}
        attachments = tuple(one for one in message.attachments if one.filename not in files)
        return replace(message, quotations=self._hide(message.quotations), attachments=attachments)

    def _hide_quotations(self, message: M) -> M:
        return replace(message, quotations=self._hide(message.quotations))

    def _hide(self, quotations: Sequence[Quotation]) -> tuple[Quotation, ...]:
        return tuple(Quotation(one.kind, self.text) if self._is_theirs(one) else one for one in quotations)

    def _is_theirs(self, quotation: Quotation) -> bool:
        """Return whether a blocked person wrote it; of some quotations the platform tells no author."""
        author = quotation.author_id
        return bool(author) and self.is_blocked(Sender(author, quotation.author))
