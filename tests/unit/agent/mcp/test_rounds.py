"""Limits of calls whose results require input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from agent.errors import McpCallFailed
from agent.mcp.live_calls import CANCEL, Answer, ServerQuestion
from agent.mcp.rounds import MAX_QUESTIONS, MAX_ROUNDS, call_in_rounds

ASK = {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object"}}}


async def call(*results: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """Return the result of a call with these results of attempts, and the number of its questions."""
    attempts = questions = 0

    async def attempt(retry: Mapping[str, Any]) -> Mapping[str, Any]:
        nonlocal attempts
        attempts += 1
        return results[min(attempts, len(results)) - 1]

    async def ask(question: ServerQuestion) -> Answer:
        nonlocal questions
        questions += 1
        return CANCEL

    return await call_in_rounds("deploys", attempt, ask), questions


def require(count: int) -> Mapping[str, Any]:
    return {"resultType": "input_required", "inputRequests": {str(number): ASK for number in range(count)}}


async def test_each_question_of_a_round_is_asked() -> None:
    done = {"content": []}
    assert await call(require(MAX_QUESTIONS), require(1), done) == (done, MAX_QUESTIONS + 1)


async def test_a_round_with_too_many_questions_fails_before_the_first() -> None:
    with pytest.raises(McpCallFailed, match=f"asks {MAX_QUESTIONS + 1} questions at once"):
        await call(require(MAX_QUESTIONS + 1))


async def test_a_server_that_asks_forever_is_ended() -> None:
    with pytest.raises(McpCallFailed, match=f"asked for input {MAX_ROUNDS} times"):
        await call(require(1))
