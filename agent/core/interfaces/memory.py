"""Interface of the memory of people and chats beyond a thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from langchain_core.messages import BaseMessage

from agent.core.run_context import RunContext


@dataclass(frozen=True, slots=True)
class MemoryScope:
    """The owner of a memory; nothing crosses from one scope to another.

    `kind` is `person` (used in private chats only) or `group`; `key` is the person's or the chat's id.
    """

    kind: str
    account: str
    key: str

    @classmethod
    def of(cls, context: RunContext) -> MemoryScope | None:
        """Return the group's scope in a group, else the person's; None if neither is known."""
        account = context.account or ""
        if context.chat_kind == "group":
            return cls("group", account, context.chat) if context.chat else None
        return cls("person", account, context.user_id) if context.user_id else None


class MemoryStore(Protocol):
    """Stores memories. The store decides how and when a queued update is applied."""

    async def queue(self, scope: MemoryScope, thread_id: str, messages: Sequence[BaseMessage]) -> None:
        """Queue an update with a thread's messages; a later one replaces it."""
        ...

    async def text(self, scope: MemoryScope) -> str:
        """Return the text for the system prompt, "" for none."""
        ...
