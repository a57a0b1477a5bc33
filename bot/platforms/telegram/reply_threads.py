"""Memory of messages in reply threads and topics, because the Bot API can't read earlier messages, and a
message only includes the one it replies to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from agent.shared.text import shorten
from bot import content
from bot.core.recent_values import RecentValues
from bot.domain import CONTEXT_KINDS, InboundMessage, Quotation, QuotationKind

MAX_EARLIER = 8
"""Maximum number of earlier messages of a thread that come with a message."""
MAX_THREADS, MAX_MESSAGES, MAX_CHARACTERS = 256, 16, 1000
"""Maximum numbers of threads, of messages of each, and of characters of a message that are remembered."""
MAX_AGE = 24 * 3600.0
"""Seconds for which a message is passed to the agent: no longer than the shortest retention."""


@dataclass(frozen=True, slots=True)
class _Remembered:
    id: int
    is_told: bool
    quotation: Quotation
    people: frozenset[str]
    """Keys and ids of those whose words it holds."""


class ReplyThreads:
    """The latest messages in an account's groups, by topic or by the message that started a thread. They are
    lost, and unavailable to the agent, after a restart of the service.
    """

    def __init__(self) -> None:
        self._roots: RecentValues[str] = RecentValues(MAX_THREADS * MAX_MESSAGES)
        self._threads: RecentValues[deque[_Remembered]] = RecentValues(MAX_THREADS)

    def remember(self, message: InboundMessage, *, is_told: bool) -> None:
        """Remember a message, or its new content after an edit, ignoring platform notices.

        `is_told`: the agent reads it, with what was said before it.
        """
        origin = message.origin
        said = message.text or message.attachments
        is_notice = not said and any(one.kind is QuotationKind.NOTICE for one in message.quotations)
        if is_notice or not origin.message_id:
            return
        own = f"{origin.chat}:{origin.message_id}"
        root = self._find_root(message) or own
        self._roots.put(own, root)
        passed_on = (one.author_id for one in message.quotations if one.kind not in CONTEXT_KINDS)
        people = frozenset([origin.sender.key, *passed_on])
        remembered = _Remembered(int(origin.message_id), is_told, _quote(message), people)
        kept = _drop_old(self._threads.get(root) or (), message.sent_at)
        others = [one for one in kept if one.id != remembered.id]
        thread = sorted([*others, remembered], key=lambda one: one.id)
        self._threads.put(root, deque(thread, maxlen=MAX_MESSAGES))

    def forget_person(self, person: str) -> None:
        """Delete the messages of a person, and those that quote them."""
        for root in list(self._threads):
            kept = [one for one in self._threads.get(root) or () if person not in one.people]
            self._threads.put(root, deque(kept, maxlen=MAX_MESSAGES))

    def find_earlier(self, message: InboundMessage) -> Sequence[Quotation]:
        """Return the messages in a message's topic or reply thread that the agent has not received, oldest
        first, without the replied-to message.
        """
        root = self._find_root(message)
        if not (root and message.origin.message_id):
            return ()
        number = int(message.origin.message_id)
        kept = _drop_old(self._threads.get(root) or (), message.sent_at)
        before = [one for one in kept if one.id < number]
        last = max((one.id for one in before if one.is_told), default=0)
        replied = int(message.origin.reply_to or 0)
        found = [one for one in before if one.id > last and one.id != replied]
        first = root.rpartition(":")[2]
        return [
            replace(one.quotation, kind=QuotationKind.THREAD_START) if str(one.id) == first else one.quotation
            for one in found[-MAX_EARLIER:]
        ]

    def _find_root(self, message: InboundMessage) -> str:
        """Return the key of a message's topic, or of the message that started its reply thread; "" if there
        is neither.
        """
        origin = message.origin
        if origin.topic:
            return f"{origin.chat}:topic:{origin.topic}"
        replied = f"{origin.chat}:{origin.reply_to}"
        return (self._roots.get(replied) or replied) if origin.reply_to else ""


def _drop_old(messages: Iterable[_Remembered], now: float) -> list[_Remembered]:
    return [one for one in messages if one.quotation.sent_at >= now - MAX_AGE]


def _quote(message: InboundMessage) -> Quotation:
    """Return a message as a quotation of bounded length."""
    own = [one for one in message.quotations if one.kind not in CONTEXT_KINDS]
    text = "\n".join(filter(None, [message.text, *map(content.inline_text, own)]))
    sender = message.origin.sender
    return Quotation(
        kind=QuotationKind.REPLY,
        text=shorten(text, MAX_CHARACTERS),
        author=sender.name,
        author_id=sender.id,
        files=tuple(one.filename for one in message.attachments),
        sent_at=message.sent_at,
    )
