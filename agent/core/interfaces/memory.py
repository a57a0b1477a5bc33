"""The port of what an agent remembers of people and chats beyond a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.messages import BaseMessage

from agent.core.run_context import RunContext


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """Whose memory it is; nothing crosses from one to another.

    `kind` is `person` (only used in private chats) or `group`; `key` is the person's or the chat's id.
    """

    kind: str
    account: str
    key: str

    @classmethod
    def of(cls, context: RunContext) -> MemoryScope | None:
        """The group's own in a group, the person's elsewhere; None where nobody is known."""
        account = context.account or ""
        if context.chat_kind == "group":
            return cls("group", account, context.chat) if context.chat else None
        return cls("person", account, context.user_id) if context.user_id else None


class MemoryStore(Protocol):
    """Remembers. What becomes of a queued update, and when, is the store's business."""

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """Queue an update with what people and the agent said in a thread; a later one replaces it."""
        ...

    async def text(self, scope: MemoryScope) -> str:
        """What to put before the model, "" for nothing."""
        ...
