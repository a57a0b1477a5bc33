"""Halves of characters never get into a thread, since no later request of it could be sent."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from agent.core.valid_text import clean_strings, is_valid_text
from agent.middleware.repair import AnswerRepairMiddleware
from agent.middleware.tool_calls import ToolErrorHandlingMiddleware
from tests.harness.agents import calls, chain, say, says, scripted

HALF, PAIR = "a\ud83d", "\ud83d\ude00"


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        ("ok 你", "ok 你"),
        (HALF, "a\ufffd"),
        (PAIR, "😀"),
        ({HALF: [HALF, 1, None, {"x": HALF}]}, {"a\ufffd": ["a\ufffd", 1, None, {"x": "a\ufffd"}]}),
        (3, 3),
    ],
)
def test_what_is_replaced(value: Any, cleaned: Any) -> None:
    assert clean_strings(value) == cleaned
    assert is_valid_text(value) is (value == cleaned)
    json.dumps(clean_strings(value), ensure_ascii=False).encode()


@pytest.mark.guard(
    "halves of characters are not stored",
    "agent/middleware/answer_rules.py",
    "return message if is_valid_text(parts) else message.model_copy(update=clean_strings(parts))",
    "return message",
    against="broken threads",
)
async def test_an_answer_with_half_a_character_does_not_break_the_thread() -> None:
    @tool
    async def note(text: str) -> str:
        """Take a note."""
        raise ValueError(f"no room for {text}\udc80")

    model = scripted(calls("note", text=HALF), says(f"done {HALF}"))
    graph = chain(model, ToolErrorHandlingMiddleware(), AnswerRepairMiddleware(), tools=[note])
    values = await say(graph, "go")
    for message in values["messages"]:
        message.model_dump_json().encode()
        assert is_valid_text(message.content)
    [call] = [call for one in values["messages"] if isinstance(one, AIMessage) for call in one.tool_calls]
    assert call["args"] == {"text": "a\ufffd"}
    assert values["messages"][-1].text == "done a\ufffd"
