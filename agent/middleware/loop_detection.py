"""Detect a model that repeats the same tool calls: warn it, then stop it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage

from agent.middleware.model_response import (
    Handler,
    Request,
    Response,
    get_answer,
    messages_since_user,
    with_answer,
    with_text,
    without_calls,
)

_Calls = tuple[tuple[str, str], ...]
WARN_AT = 3
STOP_AT = 5
WINDOW = 20
WARNING = (
    "[System notice] You have made the same tool call {count} times in this turn, and nothing changed. "
    "Do not repeat it: use the results that you have, try something else, or say what is missing."
)
STOPPED = "I stopped because I was making the same call again and again ({tools}) without any progress."


class LoopDetectionMiddleware(AgentMiddleware[Any, Any]):
    """Warns after the same calls were made `warn_at` times in a turn, stops at `stop_at`.

    Calls are the same if tools and arguments match, in any order, among the last `window` answers since a
    person wrote. An answer that repeats those calls and adds more of the same tools counts too, since other
    middleware may have cut the earlier ones. Only the model sees the warning. Stopping removes the calls and
    appends a note, which ends the run. Everything is read from the messages, so counting survives a restart,
    separately for each thread. Hook: `wrap_model_call`, so that stopped calls never get into the state.
    """

    def __init__(self, *, warn_at: int = WARN_AT, stop_at: int = STOP_AT, window: int = WINDOW) -> None:
        """Raises ValueError unless 2 <= warn_at < stop_at <= window."""
        super().__init__()
        if not 2 <= warn_at < stop_at <= window:
            raise ValueError("Loop detection needs 2 <= warn_at < stop_at <= window.")
        self._warn_at, self._stop_at, self._window = warn_at, stop_at, window

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        """Call the model with a warning if it is due, and remove calls that continue the loop."""
        made = self._recent_calls(request.state["messages"])
        count = made.count(made[-1]) if made else 0
        if count >= self._warn_at:
            notice = HumanMessage(
                WARNING.format(count=count), additional_kwargs={"lc_source": "loop_detection"}
            )
            request = request.override(messages=[*request.messages, notice])
        response = await handler(request)
        answer = get_answer(response)
        if answer is None or not answer.tool_calls or _count_repeats(answer, made) + 1 < self._stop_at:
            return response
        names = ", ".join(dict.fromkeys(call["name"] for call in answer.tool_calls))
        bare = without_calls(answer, [call["id"] for call in answer.tool_calls])
        return with_answer(response, with_text(bare, STOPPED.format(tools=names)))

    def _recent_calls(self, messages: Sequence[AnyMessage]) -> list[_Calls]:
        calling = [m for m in messages_since_user(messages) if isinstance(m, AIMessage) and m.tool_calls]
        return [_call_signature(message) for message in calling[-self._window :]]


def _call_signature(message: AIMessage) -> _Calls:
    """Return tool and arguments of each call, sorted."""
    return tuple(
        sorted(
            (call["name"], json.dumps(call["args"], sort_keys=True, default=str))
            for call in message.tool_calls
        )
    )


def _count_repeats(answer: AIMessage, made: Sequence[_Calls]) -> int:
    """Return the number of times that the answer's calls were made before."""
    new = Counter(_call_signature(answer))
    tools = {name for name, _ in new}
    return max(
        (made.count(one) for one in set(made) if Counter(one) <= new and tools == {name for name, _ in one}),
        default=0,
    )
