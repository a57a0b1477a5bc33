"""Calls whose result asks for input: the same call is made again with the answers.

Specification 2026-07-28, basic/patterns/mrtr. The tries are independent of each other, so the server may have
been restarted in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from agent.errors import McpCallFailed
from agent.mcp.live_calls import CANCEL, Answer, ServerQuestion, read_question

MAX_ROUNDS = 20
PAUSE_SECONDS = 1.0
"""Pause before a try that needs no answer of a person."""
Result = Mapping[str, Any]
Ask = Callable[[ServerQuestion], Awaitable[Answer]]


async def call_in_rounds(server: str, attempt: Callable[[Result], Awaitable[Result]], ask: Ask) -> Result:
    """Return the final result. `attempt` makes the call with further parameters. Raises McpCallFailed."""
    more: Result = {}
    for _ in range(MAX_ROUNDS):
        result = await attempt(more)
        kind = result.get("resultType", "complete")
        if kind == "complete":
            return result
        if kind != "input_required":
            raise McpCallFailed(f"sent a result of an unknown kind ({str(kind)[:64]}).", server=server)
        answers = await answer_requests(server, result.get("inputRequests"), ask)
        more = {"inputResponses": answers} if answers else {}
        if "requestState" in result:
            more["requestState"] = result["requestState"]
        if not answers:
            await asyncio.sleep(PAUSE_SECONDS)
    raise McpCallFailed(f"asked for input {MAX_ROUNDS} times without a result.", server=server)


async def answer_requests(server: str, requests: object, ask: Ask) -> dict[str, Answer]:
    """Let a person answer a server's requests. Raises McpCallFailed for what only a program could answer."""
    entries = requests if isinstance(requests, Mapping) else {}
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
