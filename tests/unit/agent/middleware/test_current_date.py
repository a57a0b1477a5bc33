"""The date: in the prompt on the first day, in a note on later ones."""

from __future__ import annotations

from datetime import date
from typing import Any

from agent.middleware.current_date import CurrentDateMiddleware
from agent.middleware.summarization import SummarizationMiddleware
from roebot_testing.agent import ScriptedChatModel
from tests.harness.agents import calls, chain, say, says, scripted


class Day:
    today = date(2026, 11, 23)

    def __call__(self) -> date:
        return self.today


def shown(model: ScriptedChatModel, call: int = -1) -> list[str]:
    return model.calls[call].texts


async def test_a_later_day_is_told_before_its_first_message() -> None:
    day, model = Day(), scripted(says("ok"))
    graph = chain(model, CurrentDateMiddleware(today=day))
    await say(graph, "one")
    assert "Today is Monday, 23 November 2026." in shown(model)[0]
    day.today = date(2026, 11, 25)
    await say(graph, "two")
    await say(graph, "three")
    system, *rest = shown(model)
    assert "Monday, 23 November" in system
    note = "(Note from the service: today is Wednesday, 25 November 2026.)"
    assert rest == ["one", "ok", note, "two", "ok", "three"]


async def test_midnight_within_a_turn_changes_nothing_before_its_end() -> None:
    day = Day()

    async def work() -> str:
        """Work until the next day."""
        day.today = date(2026, 11, 24)
        return "done"

    model = scripted(calls("work"), says("ok"))
    graph = chain(model, CurrentDateMiddleware(today=day), tools=[work])
    await say(graph, "one")
    assert "Note" not in str(shown(model))
    await say(graph, "two")
    assert "Tuesday, 24 November" in shown(model)[-2]


async def test_a_note_that_was_summarized_is_told_again() -> None:
    day, model = Day(), scripted(says("ok " * 300))
    writer: Any = scripted(says("They talked."))
    summarizing = SummarizationMiddleware(model=writer, trigger=("tokens", 700), keep=("messages", 2))
    graph = chain(model, summarizing, CurrentDateMiddleware(today=day))
    await say(graph, "one")
    day.today = date(2026, 11, 24)
    for text in ("two", "three", "four", "five"):
        await say(graph, text)
        told = [text for text in shown(model) if "today is Tuesday, 24 November" in text]
        assert len(told) == 1, text
    assert writer.calls
