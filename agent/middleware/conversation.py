"""Chat facts for the model, added without changing the prompt of an ongoing conversation."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from langchain.agents.middleware import AgentMiddleware

from agent.core.chat_facts import ChatFacts, read_chat_facts
from agent.core.model_request import AnyResponse, Handler, Request
from agent.core.state import ShownChat, ThreadState
from agent.middleware.model_response import with_conversation, with_update

SECONDS = 3600.0
"""Seconds after which a new title or number of people is shown."""


class ConversationMiddleware(AgentMiddleware[Any, Any]):
    """Adds a section about the chat to the system prompt, after the content shared by all chats.

    Providers cache the beginning of a request, so the channel `shown_chat` keeps the section's text. Another
    one takes its place when somebody changed a setting of the chat, or after SECONDS when its title or its
    people changed. A run without facts about its chat shows the stored ones. Hook: `wrap_model_call`; the
    text is stored with the answer. `now` returns seconds since the epoch; not `enabled`, it adds nothing.
    """

    state_schema = ThreadState

    def __init__(self, *, enabled: bool = True, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self._enabled = enabled
        self._now = now

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        state: Mapping[str, Any] = request.state
        stored: ShownChat | None = state.get("shown_chat")
        shown = self._choose(stored, read_chat_facts(request.runtime)) if self._enabled else None
        if shown is None:
            return await handler(request)
        response = await handler(with_conversation(request, shown["text"]))
        return response if shown is stored else with_update(response, shown_chat=shown)

    def _choose(self, stored: ShownChat | None, facts: ChatFacts | None) -> ShownChat | None:
        """Return the section to show: the stored one, or a new one."""
        known = ChatFacts.parse(stored["facts"]) if stored else None
        if facts is not None and known is not None:
            # The platform may just not have answered.
            facts = facts.filled_from(known)
        if facts is None or facts == known:
            return stored
        now = self._now()
        is_due = stored is None or not 0 <= now - stored["since"] < SECONDS
        if is_due or known is None or facts.differs_in_settings(known):
            return ShownChat(text=facts.render(), facts=asdict(facts), since=now)
        return stored
