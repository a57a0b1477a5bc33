"""Every tool call gets a result before a model sees it; providers refuse a conversation where one lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.messages import AIMessage, AnyMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from agent.middleware.answers import Handler, Request, Response, updating

UNANSWERED = "Interrupted: this call has no result, and whether it had an effect is unknown."
UNREADABLE = "This call was not made: its arguments could not be read. Write them as JSON."


class DanglingToolCallMiddleware(AgentMiddleware[Any, Any]):
    """Gives unanswered tool calls an error as their result, right after the message that made them.

    A result that stands elsewhere is moved there, one that belongs to no call is left out. Hook:
    `wrap_model_call`, since nobody but the model needs it; the repaired messages are stored together with
    the answer, and only when something was repaired.
    """

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model with a conversation that is whole."""
        whole = repaired(request.messages)
        if whole == request.messages:
            return await handler(request)
        response = await handler(request.override(messages=whole))
        stored = {message.id: message for message in request.state["messages"] if message.id}
        kept = [stored.get(message.id or "", message) for message in whole]
        return updating(response, messages=[RemoveMessage(id=REMOVE_ALL_MESSAGES), *kept, *response.result])


def repaired(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """The messages with each call's result behind it; the same messages where nothing is wrong."""
    results = {m.tool_call_id: m for m in messages if isinstance(m, ToolMessage)}
    whole: list[AnyMessage] = []
    for message in messages:
        if isinstance(message, AIMessage):
            whole.append(message)
            whole += _results(message, results)
        elif not isinstance(message, ToolMessage):
            whole.append(message)
    return whole if _order(whole) != _order(messages) else list(messages)


def _results(message: AIMessage, results: dict[str, ToolMessage]) -> Iterator[ToolMessage]:
    """The results of the message's calls in the order in which they came, then what stands for the others."""
    calls = [(call, UNANSWERED) for call in message.tool_calls]
    calls += [(call, UNREADABLE) for call in message.invalid_tool_calls]  # type: ignore[misc]
    wanted = {call["id"] for call, _ in calls if call["id"]}
    for call_id in [found for found in results if found in wanted]:
        yield results.pop(call_id)
        wanted.discard(call_id)
    for call, text in calls:
        if call["id"] in wanted:
            wanted.discard(call["id"])
            yield ToolMessage(text, tool_call_id=call["id"], name=call["name"] or "unknown", status="error")


def _order(messages: Sequence[AnyMessage]) -> list[int]:
    return [id(message) for message in messages]
