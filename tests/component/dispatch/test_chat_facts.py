"""What a run is told about the chat that it answers in."""

from __future__ import annotations

from typing import Any

from agent.core.chat_facts import ChatFacts
from agent.shared.run_identity import CHAT_FACTS
from bot.domain import ChatKind, Origin, Sender
from bot.testing.runtime import answer_with
from tests.component.dispatch.bench import Bench
from tests.component.dispatch.test_dispatcher import closed


def told(at: Bench) -> dict[str, Any]:
    facts: dict[str, Any] = list(at.runtime.runs.values())[-1].request.configurable[CHAT_FACTS]
    return facts


async def test_a_private_chat(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi")
        await closed(at)
    assert told(at) == {
        "app": "Recording",
        "kind": "private",
        "zone": "UTC",
        "today": "1970-01-12",
        "thread": False,
        "recorded": False,
        "formatting": "",
        "command": "/help",
        "services": [],
    }
    assert ChatFacts.parse(told(at)) is not None


async def test_a_recorded_thread_in_its_time_zone(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    origin = Origin("rec", "recording", "c1", ChatKind.GROUP, "u9", Sender("7", "P7"), topic="t1")
    async with at.running():
        await at.adapter.hears("/record on", kind=ChatKind.GROUP)
        await at.adapter.hears("/digest zone Pacific/Auckland", kind=ChatKind.GROUP)
        await closed(at, 2)
        await at.adapter.hears("hi", origin=origin)
        await at.until(lambda: at.runtime.runs)
    facts = told(at)
    assert (facts["kind"], facts["thread"], facts["recorded"]) == ("group", True, True)
    assert facts["services"] == ["read_chat"]
    assert (facts["zone"], facts["today"]) == ("Pacific/Auckland", "1970-01-13")
