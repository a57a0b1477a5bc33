"""Calls whose result requires input: the call is repeated with the answers.

Specification 2026-07-28, basic/patterns/mrtr. The attempts are independent, so the server may restart between
them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent.errors import McpCallFailed
from agent.mcp.live_calls import CANCEL, Answer, ServerQuestion, read_question

MAX_ROUNDS = 20
"""Maximum number of attempts of a call."""
MAX_QUESTIONS = 20
"""Maximum number of questions of one attempt."""
PAUSE_SECONDS = 1.0
"""Seconds before an attempt that needs no answer."""
Result = Mapping[str, Any]
Ask = Callable[[ServerQuestion], Awaitable[Answer]]


async def call_in_rounds(server: str, attempt: Callable[[Result], Awaitable[Result]], ask: Ask) -> Result:
    """Repeat a call until its result is complete, and return that.

    `attempt` makes the call with the `inputResponses` and `requestState` of the round. Raises McpCallFailed.
    """
    retry: Result = {}
    for _ in range(MAX_ROUNDS):
        result = await attempt(retry)
        kind = result.get("resultType", "complete")
        if kind == "complete":
            return result
        if kind != "input_required":
            raise McpCallFailed(f"sent a result of an unknown kind ({str(kind)[:64]}).", server=server)
        answers = await answer_requests(server, result.get("inputRequests"), ask)
        retry = {"inputResponses": answers} if answers else {}
        if "requestState" in result:
            retry["requestState"] = result["requestState"]
        if not answers:
            await asyncio.sleep(PAUSE_SECONDS)
    raise McpCallFailed(f"asked for input {MAX_ROUNDS} times without a result.", server=server)


async def answer_requests(server: str, requests: object, ask: Ask) -> dict[str, Answer]:
    """Ask a person for a server's `inputRequests`; return the answers by key.

    Raises McpCallFailed if there are too many requests, or if one is not an elicitation.
    """
    entries = requests if isinstance(requests, Mapping) else {}
    if len(entries) > MAX_QUESTIONS:
        message = f"asks {len(entries)} questions at once, more than {MAX_QUESTIONS}; the call has no result."
        raise McpCallFailed(message, server=server)
    methods = [entry.get("method") if isinstance(entry, Mapping) else None for entry in entries.values()]
    for method in methods:
        if method != "elicitation/create":
            message = f"asks for {str(method)[:64]}, which Roebot does not support; the call has no result."
            raise McpCallFailed(message, server=server)
    answers: dict[str, Answer] = {}
    for key, entry in entries.items():
        params = entry.get("params")
        question = read_question(params if isinstance(params, Mapping) else {})
        answers[key] = CANCEL if question is None else await ask(question)
    return answers
