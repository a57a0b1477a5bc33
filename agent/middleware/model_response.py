"""Access to a model's answer inside `wrap_model_call`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import ToolCall
from langgraph.types import Command

from agent.core.model_request import AnyResponse, Handler, Request, Response, change_request
from agent.core.state import ThreadState, sum_usage
from agent.core.system_message import add_own, add_shared
from agent.middleware.answer_calls import list_calls


def get_answer(response: Response) -> AIMessage | None:
    """Return the model's message."""
    return next((message for message in response.result if isinstance(message, AIMessage)), None)


def with_answer(response: Response, answer: AIMessage) -> Response:
    """Return the response with the model's message replaced, and without results of calls that it lacks."""
    calls = {call["id"] for call in list_calls(answer)}
    result = [
        answer if isinstance(message, AIMessage) else message
        for message in response.result
        if not isinstance(message, ToolMessage) or message.tool_call_id in calls
    ]
    return replace(response, result=result)


def open_calls(response: Response) -> list[ToolCall]:
    """Return the answer's calls without a result in the response, which will therefore run."""
    answer = get_answer(response)
    answered = {message.tool_call_id for message in response.result if isinstance(message, ToolMessage)}
    return [call for call in answer.tool_calls if call["id"] not in answered] if answer else []


def refuse_calls(response: Response, calls: Iterable[ToolCall], text: str) -> Response:
    """Return the response with this text as the result of each call, so that they do not run."""
    refused = [
        ToolMessage(text, tool_call_id=call["id"], name=call["name"], status="error", id=str(uuid4()))
        for call in calls
    ]
    return replace(response, result=[*response.result, *refused])


def with_text(message: AIMessage, text: str) -> AIMessage:
    if isinstance(message.content, list):
        return message.model_copy(update={"content": [*message.content, {"type": "text", "text": text}]})
    return message.model_copy(update={"content": "\n\n".join(filter(None, [message.content, text]))})


def with_system(request: Request, text: str) -> Request:
    """Return the request with a paragraph added to the part of its system message that all conversations
    share.
    """
    return change_request(request, system_message=add_shared(request.system_message, text))


def with_conversation(request: Request, text: str) -> Request:
    """Return the request with a paragraph about this conversation, after the shared content."""
    return change_request(request, system_message=add_own(request.system_message, text))


def messages_since_user(messages: Sequence[AnyMessage]) -> Sequence[AnyMessage]:
    """Return the messages after the last human one."""
    last = max((at for at, m in enumerate(messages) if isinstance(m, HumanMessage)), default=-1)
    return messages[last + 1 :]


def with_update(response: Response, **update: Any) -> ExtendedModelResponse[Any]:
    """Return the response with a state update in the same step."""
    return ExtendedModelResponse(model_response=response, command=Command(update=update))


class TokenUsageMiddleware(AgentMiddleware[Any, Any]):
    """Adds each answer's usage to the thread's `usage`.

    Middleware that calls a model itself (title, summary) adds its usage to the same channel. A run's usage is
    the difference between its last and first values: `agent.core.state.usage_between`. Hook:
    `wrap_model_call`; the usage is stored with the answer.
    """

    state_schema = ThreadState

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        response = await handler(request)
        usage = sum_usage(response.result)
        return response if usage is None else with_update(response, usage=usage)
