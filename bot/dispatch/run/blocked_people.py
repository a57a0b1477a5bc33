"""Exclusion of blocked people's messages from the agent's input, including quotations by others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from bot.domain import CONTEXT_KINDS, HistoryMessage, Quotation, Sender
from bot.turn import TurnMessage


@dataclass(frozen=True, slots=True)
class BlockedPeople:
    """The people for whom `is_blocked` is true; `text` replaces their quoted messages."""

    is_blocked: Callable[[Sender], bool]
    text: str

    def filter_messages(self, messages: Iterable[HistoryMessage]) -> list[HistoryMessage]:
        """Return messages without those by blocked people, and without quotations of them."""
        return [self._hide_quotations(one) for one in messages if not self.is_blocked(one.sender)]

    def hide_quoted(self, message: TurnMessage) -> TurnMessage:
        """Return a message without quoted texts and files of blocked people."""
        hidden = self._find_files(message)
        attachments = tuple(one for at, one in enumerate(message.attachments) if at not in hidden)
        return replace(message, quotations=self._hide(message.quotations), attachments=attachments)

    def _find_files(self, message: TurnMessage) -> set[int]:
        """Return the positions of attachments that may come from blocked people. The author's own attachments
        come first, possibly with the same names.
        """
        # A reply lists the names of files that belong to the replied-to message.
        passed_on = [one for one in message.quotations if one.kind not in CONTEXT_KINDS]
        quoted = [name for one in passed_on for name in one.files]
        found: set[int] = set()
        for name in {name for one in passed_on if self._is_theirs(one) for name in one.files}:
            positions = [at for at, one in enumerate(message.attachments) if one.filename == name]
            found |= {*positions[-quoted.count(name) :]}
        return found

    def _hide_quotations(self, message: HistoryMessage) -> HistoryMessage:
        return replace(message, quotations=self._hide(message.quotations))

    def _hide(self, quotations: Sequence[Quotation]) -> tuple[Quotation, ...]:
        return tuple(Quotation(one.kind, self.text) if self._is_theirs(one) else one for one in quotations)

    def _is_theirs(self, quotation: Quotation) -> bool:
        """Return whether a quotation is by a blocked person; some platforms report no author for some
        quotations.
        """
        author = quotation.author_id
        return bool(author) and self.is_blocked(Sender(author, quotation.author))
