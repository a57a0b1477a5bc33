"""The agent uses the memory that `/memory` shows."""

from __future__ import annotations

import pytest

from agent.core.interfaces import MemoryScope
from agent.core.run_context import RunContext
from agent.memory.scopes import format_scope
from bot.domain import ChatKind
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_conversation_privacy import ANN, BEN, GROUP, chatting, hear

__all__ = ["chatting"]


@pytest.mark.parametrize(
    ("chat", "person", "scope"),
    [
        (ANN, "7", "person:rec:recording:7"),
        (BEN, "8", "person:rec:recording:8"),
        (GROUP, "7", "group:rec:c9"),
        (GROUP, "8", "group:rec:c9"),
    ],
)
async def test_the_agent_uses_the_memory_that_the_command_shows(
    chatting: Bench, chat: str, person: str, scope: str
) -> None:
    at = chatting
    at.runtime.remembered = {scope: {"fact_1": "Only here."}}
    async with at.running():
        run = await hear(at, "hello", chat=chat, person=person)
        kind = ChatKind.GROUP if chat == GROUP else ChatKind.PRIVATE
        await at.adapter.hears("/memory", chat=chat, person=person, kind=kind)
        await at.until(lambda: len(at.adapter.texts(chat)) == 2)
    used = MemoryScope.of(RunContext.of({"configurable": dict(run.request.configurable)}))
    assert used is not None
    assert format_scope(used) == scope
    assert "Only here." in at.adapter.texts(chat)[1]
